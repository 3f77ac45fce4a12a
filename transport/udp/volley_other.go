//go:build !linux || (!amd64 && !arm64)

package udp

import "github.com/arche-netcode/netcode/transport"

// mmsgBatch is of no use where several runs cannot go in one call.
type mmsgBatch struct{}

// sendVolley tells that nothing went.
func (c *Conn) sendVolley([]transport.Addr, [][]byte, []int) (n int, alone uint64) { return 0, 0 }

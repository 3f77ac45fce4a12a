//go:build !linux || (!amd64 && !arm64)

package udp

import "github.com/arche-netcode/netcode/transport"

// mmsgBatch is empty on systems without sendmmsg.
type mmsgBatch struct{}

// sendVolley returns 0: nothing was sent.
func (c *Conn) sendVolley([]transport.Addr, [][]byte, []int) (n int, alone uint64) { return 0, 0 }

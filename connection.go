package netcode

import (
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// connection is a link and what messages of the game need beside it.
type connection struct {
	link.Link
	near   *endpointCore // The other end, where it is in this process; nil else. Then no packets are sent.
	held   *held.Queue   // Messages that wait for their entity; nil for one in this process.
	older  *older        // The protocol of the session, if it is that of an older build.
	handed uint64        // Sections that were handed to an end in this process.
	config *Config
	stats  *Stats
}

// newConnection makes a connection that was not started. The arguments are those of its end.
func newConnection(frame *tick.Frame, config *Config, out *outbox.Buffer, stats *Stats, counters *link.Counters) connection {
	return connection{Link: link.Link{Frame: frame, Out: out, Counters: counters}, config: config, stats: stats}
}

// start begins a fresh connection.
func (l *connection) start(address transport.Addr, conn *peer.Conn, remote wire.ClientID, pool *peer.Pool, seed peer.SkipSeed) {
	l.near, l.held, l.older = nil, nil, nil
	l.Start(l.config.link(), address, conn, remote, pool, seed)
}

// setPacketSize is SetPacketSize of an end.
func (l *connection) setPacketSize(n int) error {
	switch {
	case l.near != nil:
		return nil
	case n < MinPacketSize || n > l.config.PacketSize:
		return &PacketSizeError{Size: n, Min: MinPacketSize, Max: l.config.PacketSize}
	case !l.SetPacketSize(n):
		return ErrMessagesWait
	}
	return nil
}

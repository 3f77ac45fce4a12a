package netcode

import (
	"fmt"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// origin says which end a packet comes from: not every message may go both ways.
type origin uint8

const (
	fromClient origin = iota
	fromServer
)

// inbound judges and reads the messages of received packets.
type inbound struct {
	protocol *Protocol
	lanes    []uint32 // One row while it is judged.
	handle   func(ctx *message.Context, payload []byte)
}

// newInbound reads messages of a frozen protocol.
func newInbound(p *Protocol) inbound {
	most := 0
	for _, m := range p.handled {
		most = max(most, m.Plan.Lanes())
	}
	in := inbound{protocol: p, lanes: make([]uint32, most)}
	in.handle = func(ctx *message.Context, payload []byte) {
		if m, ok := p.messages.Lookup(ctx.Type); ok {
			m.Handle(ctx, payload)
		}
	}
	return in
}

// content is what the messages of one packet amount to. Its slices lie in the packet.
type content struct {
	messages    int         // Messages for the game.
	snapshot    []byte      // Nil without one.
	closed      *peer.Error // Nil without a close message.
	resync      bool
	resyncEpoch uint16
}

// check judges every message of a batch before any of them takes effect. An error means that no honest peer sent this.
func (in *inbound) check(batch []byte, from origin) (content, error) {
	var c content
	for len(batch) > 0 {
		h, payload, rest, err := peer.NextMessage(batch)
		if err != nil {
			return content{}, err
		}
		batch = rest
		if h.Type >= wire.FirstUserMessage {
			err = in.checkUser(h, payload)
			c.messages++
		} else {
			err = c.take(h, payload, from)
		}
		if err != nil {
			return content{}, err
		}
	}
	return c, nil
}

// take judges one of netcode's own messages.
func (c *content) take(h wire.MessageHeader, payload []byte, from origin) error {
	if h.Stage != tick.Initialization {
		return fmt.Errorf("message type %d in stage %s", h.Type, h.Stage)
	}
	switch {
	case h.Type == wire.MessageKeepAlive && len(payload) == 0:
		return nil
	case h.Type == wire.MessageSnapshot && from == fromServer && c.snapshot == nil && len(payload) > 0:
		c.snapshot = payload
		return nil
	case h.Type == wire.MessageResync && from == fromClient && !c.resync && len(payload) == resyncSize:
		c.resync, c.resyncEpoch = true, parseResync(payload)
		return nil
	case h.Type == wire.MessageClose && c.closed == nil:
		reason, err := peer.ParseClose(payload)
		c.closed = &reason
		return err
	}
	return fmt.Errorf("message type %d of %d bytes", h.Type, len(payload))
}

// checkUser judges a message of the game: its type is registered, it is no longer than the type can be, and its bytes are
// legal fields and nothing more. Entity fields take fewer bits where they can.
func (in *inbound) checkUser(h wire.MessageHeader, payload []byte) error {
	m, ok := in.protocol.messages.Lookup(h.Type)
	if !ok {
		return fmt.Errorf("unknown message type %d", h.Type)
	}
	if len(payload) > message.Size(m.Plan) {
		return fmt.Errorf("message %s of %d bytes", m.Name, len(payload))
	}
	r := wire.NewBitReader(payload)
	if !m.Plan.ReadRow(&r, in.lanes[:m.Plan.Lanes()]) || !r.Done() {
		return fmt.Errorf("message %s with a field that is not legal", m.Name)
	}
	return nil
}

// queue hands a checked batch's messages for the game to the queues. What goes over the sender's quota is dropped and
// counted there.
func (in *inbound) queue(queues *message.Queues, batch []byte, ctx message.Context) {
	for len(batch) > 0 {
		h, payload, rest, err := peer.NextMessage(batch)
		if err != nil {
			return
		}
		batch = rest
		if h.Type >= wire.FirstUserMessage {
			ctx.Type, ctx.Stage = h.Type, h.Stage
			_ = queues.Push(ctx, payload) // The queues count what they refuse.
		}
	}
}

// resyncSize is the size of a resync message: the epoch that the client asks for, 2 bytes little-endian.
const resyncSize = 2

func parseResync(payload []byte) uint16 { return uint16(payload[0]) | uint16(payload[1])<<8 }

func putResync(payload []byte, epoch uint16) { payload[0], payload[1] = byte(epoch), byte(epoch>>8) }

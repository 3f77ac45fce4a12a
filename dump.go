package netcode

import (
	"fmt"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// AppendDump appends what a datagram says, in lines, for people: headers, messages, entities, components and fields by
// name. It works with packing and without; without (see Debug) the bytes can be followed by eye beside it. Of state
// it can tell only what stands in the packet itself: Client.AppendDump knows more. Asking freezes the protocol.
func (p *Protocol) AppendDump(dst, datagram []byte) []byte {
	p.freeze()
	return p.dump(dst, datagram, func(dst, payload []byte) []byte {
		return replica.AppendDump(p.schema, dst, payload, tick.None+1<<15, nil)
	})
}

// AppendDump is Protocol.AppendDump with the replica of this client, which records are coded against. Ask it
// while the packet is new, before or after Receive.
func (c *Client) AppendDump(dst, datagram []byte) []byte {
	if c.replica == nil {
		return c.protocol.AppendDump(dst, datagram)
	}
	return c.protocol.dump(dst, datagram, c.replica.AppendDump)
}

// dump prints a datagram; state prints the payload of a snapshot.
func (p *Protocol) dump(dst, datagram []byte, state func(dst, payload []byte) []byte) []byte {
	d := wire.Dump{
		Name: func(t wire.MessageType) string {
			if m, ok := p.messages.Lookup(t); ok && m.Codec.Plan() != nil {
				return m.Name
			}
			return ""
		},
		Payload: func(dst []byte, h wire.MessageHeader, payload []byte) ([]byte, bool) {
			switch {
			case h.Type == wire.MessageSnapshot:
				return state(dst, payload), true
			case h.Type == wire.MessageClose:
				reason, err := peer.ParseClose(payload)
				return fmt.Appendf(dst, "   %v %v\n", reason, err), err == nil
			case h.Type == wire.MessageResync && len(payload) == resyncSize:
				return fmt.Appendf(dst, "   epoch %d\n", parseResync(payload)), true
			case h.Type == wire.MessageCredit && len(payload) == peer.CreditSize:
				return fmt.Appendf(dst, "   up to %d\n", parseCredit(payload)), true
			case h.Type == wire.MessageRefusal:
				text, err := peer.ParseRefusal(payload)
				return fmt.Appendf(dst, "   %s\n", text), err == nil
			}
			if m, ok := p.messages.Lookup(h.Type); ok {
				if plan := m.Codec.Plan(); plan != nil {
					return plan.AppendPayload(dst, payload), true
				}
				dst = fmt.Appendf(dst, "   %s: ", m.Name)
				return append(m.Codec.AppendValues(dst, payload), '\n'), true
			}
			return dst, false
		},
	}
	return d.Append(dst, datagram)
}

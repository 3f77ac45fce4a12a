package inspect

import (
	"encoding/binary"
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// AppendDump appends the contents of a datagram as lines of text: headers, messages, entities, components and fields by name. It
// supports packed and unpacked fields; unpacked (see Protocol.Debug) the bytes are readable beside it. It knows only state that
// is in the packet itself; AppendClientDump knows more. It freezes the protocol.
func AppendDump(dst []byte, p *netcode.Protocol, datagram []byte) []byte {
	return dump(dst, p, datagram, replica.New(p.Schema(), snapshot.Config{}, tick.None+1<<15).AppendDump)
}

// AppendClientDump is AppendDump with the replica of a client, against which records are coded. Call it while the packet is new,
// before or after Receive.
func AppendClientDump(dst []byte, c *netcode.Client, datagram []byte) []byte {
	if extend.OfClient(c).Newest() == nil {
		return AppendDump(dst, c.Protocol(), datagram)
	}
	return dump(dst, c.Protocol(), datagram, extend.OfClient(c).Newest().AppendDump)
}

// AppendMessages appends the messages of a frame, one line each, with names and fields. It appends nothing for nil.
func AppendMessages(dst []byte, p *netcode.Protocol, frame *message.Frame) []byte {
	frame.Each(func(m *message.Record) bool {
		name, values := fmt.Sprintf("type %d", m.Type), fmt.Appendf(nil, "%x", m.Payload)
		if t, known := extend.OfProtocol(p).Messages().Lookup(m.Type); known {
			name, values = t.Name, t.Codec.AppendValues(nil, m.Payload)
		}
		dst = fmt.Appendf(dst, "%d at tick %d: %s on %s, stage %s", m.Peer, m.Tick, name, m.Channel, m.Stage)
		if !m.Entity.IsZero() {
			dst = fmt.Appendf(dst, ", about %s", m.Entity)
		}
		dst = fmt.Appendf(dst, ": %s\n", values)
		return true
	})
	return dst
}

// resyncSize is the size of the payload of a resync message, in bytes.
const resyncSize = 2

// dump appends a datagram as text. state appends the payload of a snapshot.
func dump(dst []byte, p *netcode.Protocol, datagram []byte, state func(dst, payload []byte) []byte) []byte {
	if line, ok := appendHandshake(dst, datagram); ok {
		return line
	}
	d := wire.Dump{
		Name: func(t wire.MessageType) string {
			if m, ok := extend.OfProtocol(p).Messages().Lookup(t); ok {
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
				return fmt.Appendf(dst, "   %s\n", reason.Error()), err == nil
			case h.Type == wire.MessageResync && len(payload) == resyncSize:
				return fmt.Appendf(dst, "   epoch %d\n", binary.LittleEndian.Uint16(payload)), true
			case h.Type == wire.MessageCredit && len(payload) == peer.CreditSize:
				return fmt.Appendf(dst, "   up to %d\n", binary.LittleEndian.Uint32(payload)), true
			case h.Type == wire.MessageRefusal:
				text, err := peer.ParseRefusal(payload)
				return fmt.Appendf(dst, "   %s\n", text), err == nil
			}
			if m, ok := extend.OfProtocol(p).Messages().Lookup(h.Type); ok {
				if plan := m.Codec.Plan(); plan != nil {
					return plan.AppendPayload(dst, payload), true
				}
				return append(m.Codec.AppendValues(append(dst, "   "...), payload), '\n'), true
			}
			return dst, false
		},
	}
	return d.Append(dst, datagram)
}

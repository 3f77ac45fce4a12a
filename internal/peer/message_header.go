package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// MaxEntityIndex is the upper limit of the entity index in a message: the index is below it.
const MaxEntityIndex = 1 << 20

// Post is a message without its body: the fields that are sent before the body.
type Post struct {
	Channel wire.Channel      // channel, which defines the delivery
	Type    wire.MessageType  // 1..254
	Stage   tick.Stage        // stage that handles it
	Flags   wire.MessageFlags // flags of the fields below that are sent
	Tick    tick.Tick         // with FlagTick, its 16 low bits
	Entity  wire.NetworkID    // with FlagEntity
	Call    uint16            // with FlagCall
	State   tick.Tick         // with FlagState, its 16 low bits
}

// legal returns why p cannot be sent: its type is not allowed on its channel, or its entity id cannot be sent.
func (p *Post) legal() error {
	if p.Flags&wire.FlagEntity != 0 && (p.Entity.Index >= MaxEntityIndex || p.Entity.Generation == 0) {
		return ErrEntity
	}
	if p.Flags&(wire.FlagState|wire.FlagEntity) == wire.FlagState {
		return ErrEntity
	}
	if p.Type.Valid() && !travels(p.Type, p.Channel) || p.Type == wire.MessageFragment {
		return ErrDelivery
	}
	return nil
}

// travels reports whether messages of a type are allowed on a channel: messages of the game and refusals on every
// channel, fragments on reliable ones, other types on channel 0 of Unreliable.
func travels(t wire.MessageType, ch wire.Channel) bool {
	if t >= wire.FirstUserMessage || t == wire.MessageRefusal {
		return true
	}
	return (t == wire.MessageFragment) == ch.Delivery().Reliable() && (ch == 0 || t == wire.MessageFragment)
}

// maxPrefix is the largest size of the fields before a body: number, tick, entity, call, state.
const maxPrefix = 2 + 2 + 4 + 5 + 2 + 2

// appendPrefix appends the fields of the flags, in the order of the flags.
func (p *Post) appendPrefix(b []byte) []byte {
	if p.Flags&wire.FlagTick != 0 {
		b = binary.LittleEndian.AppendUint16(b, uint16(p.Tick))
	}
	if p.Flags&wire.FlagEntity != 0 {
		b = wire.AppendVarint(b, uint64(p.Entity.Index))
		b = wire.AppendVarint(b, uint64(p.Entity.Generation))
	}
	if p.Flags&wire.FlagCall != 0 {
		b = binary.LittleEndian.AppendUint16(b, p.Call)
	}
	if p.Flags&wire.FlagState != 0 {
		b = binary.LittleEndian.AppendUint16(b, uint16(p.State))
	}
	return b
}

// Arrival is a received message with its fields.
type Arrival struct {
	Channel wire.Channel       // channel of the message
	Joined  bool               // it came in pieces and is whole now
	Header  wire.MessageHeader // type, stage and flags, and the size of the payload as received, 0 if Joined
	Tick    uint16             // with FlagTick: low bits of the tick before which the message must not be handled
	Entity  wire.NetworkID     // with FlagEntity: the entity of the message
	Call    uint16             // with FlagCall: number of the call
	State   uint16             // with FlagState: low bits of the tick of the entity's state that must be applied first
	Number  uint16             // on reliable channels: number of the message, or of its last piece
	Body    []byte             // the body that the game encoded; it must not be kept or changed
	// Cost is the argument for Arrivals.Freed when the message was handled or dropped for good. It is 0 for unreliable
	// messages.
	Cost int
}

// Open splits a received message into its fields. It checks the message alone. A fragment is only one piece of a
// message, and its Body starts with the fragment's header. The error is ErrMalformed: no correct peer sends this.
func (a *Arrival) Open(ch wire.Channel, h wire.MessageHeader, payload []byte) error {
	*a = Arrival{Channel: ch, Header: h, Body: payload}
	if ch == 0 && h.Flags == 0 && h.Type != wire.MessageFragment {
		return nil
	}
	if !travels(h.Type, ch) {
		return ErrMalformed
	}
	if ch.Delivery().Reliable() {
		a.Cost = messageCost(len(payload))
		if len(a.Body) < 2 {
			return ErrMalformed
		}
		a.Number, a.Body = binary.LittleEndian.Uint16(a.Body), a.Body[2:]
	}
	return a.openPrefix()
}

// openPrefix reads the fields of the flags and removes them from the body.
func (a *Arrival) openPrefix() error {
	if a.Header.Flags == 0 {
		return nil
	}
	if a.Header.Flags&(wire.FlagState|wire.FlagEntity) == wire.FlagState {
		return ErrMalformed
	}
	r := wire.NewReader(a.Body)
	if a.Header.Flags&wire.FlagTick != 0 {
		a.Tick = r.Uint16()
	}
	if a.Header.Flags&wire.FlagEntity != 0 {
		index, generation := r.Varint(), r.Varint()
		if index >= MaxEntityIndex || generation == 0 || generation >= 1<<32 {
			return ErrMalformed
		}
		a.Entity = wire.NetworkID{Index: uint32(index), Generation: uint32(generation)}
	}
	if a.Header.Flags&wire.FlagCall != 0 {
		a.Call = r.Uint16()
	}
	if a.Header.Flags&wire.FlagState != 0 {
		a.State = r.Uint16()
	}
	if r.Err() != nil {
		return ErrMalformed
	}
	a.Body = a.Body[r.Position():]
	return nil
}

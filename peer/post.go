package peer

import (
	"encoding/binary"
	"errors"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

var (
	// ErrQueueFull says that no more unreliable messages can wait for this peer; the message was dropped and counted.
	ErrQueueFull = errors.New("peer: send queue full")
	// ErrBackPressure says that no more reliable messages can wait for this peer; nothing was sent. The caller may try
	// again later.
	ErrBackPressure = errors.New("peer: too many reliable messages wait")
	// ErrTooLarge says that a message is, or may become, larger than what one message can be; nothing was sent.
	ErrTooLarge = errors.New("peer: message too large")
	// ErrEntity says that a message speaks of an entity whose id cannot travel: its index is MaxEntityIndex or more, or its
	// generation 0; or that it waits for the state of no entity. Nothing was sent.
	ErrEntity = errors.New("peer: no such entity id")
	// ErrDelivery says that one of netcode's own types was sent on a channel that it does not travel on; nothing was sent.
	ErrDelivery = errors.New("peer: the type does not travel on this channel")
)

// MaxEntityIndex bounds the index of an entity in a message: it is below.
const MaxEntityIndex = 1 << 20

// Post says of a message what travels beside its body.
type Post struct {
	Channel wire.Channel      // which also says how it is delivered
	Type    wire.MessageType  // 1..254
	Stage   tick.Stage        // that handles it
	Flags   wire.MessageFlags // which of the following travel
	Tick    tick.Tick         // with FlagTick, its 16 low bits
	Entity  wire.NetworkID    // with FlagEntity
	Call    uint16            // with FlagCall
	State   tick.Tick         // with FlagState, its 16 low bits
}

// legal returns why p cannot be sent: its type does not travel on its channel, or its entity not at all.
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

// travels reports whether messages of a type may be on a channel: the game's and refusals on every one, fragments on
// reliable ones, the others on channel 0 of Unreliable.
func travels(t wire.MessageType, ch wire.Channel) bool {
	if t >= wire.FirstUserMessage || t == wire.MessageRefusal {
		return true
	}
	return (t == wire.MessageFragment) == ch.Delivery().Reliable() && (ch == 0 || t == wire.MessageFragment)
}

// maxPrefix is the most that stands before a body: number, tick, entity, call, state.
const maxPrefix = 2 + 2 + 4 + 5 + 2 + 2

// appendPrefix appends what the flags announce, in the order of the flags.
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

// Arrival is a received message, taken apart.
type Arrival struct {
	Channel wire.Channel // that it came on
	// Header is the message's type, stage and flags. Its size is that of the payload as it came, 0 when that came in pieces.
	Header wire.MessageHeader
	Tick   uint16         // with FlagTick: the low bits of the tick before which it is not to be handled
	Entity wire.NetworkID // with FlagEntity: the entity it speaks of
	Call   uint16         // with FlagCall: the number of the call
	State  uint16         // with FlagState: the low bits of the tick of the entity's state that comes first
	Number uint16         // on reliable channels: the message's number; of the last piece when it came in pieces
	Body   []byte         // what the game encoded; not to be kept, and not to be changed
	// Cost is the argument for Arrivals.Freed when the message was handled, or dropped for good. 0 for unreliable ones.
	Cost int
}

// Open takes a received message apart. It looks at the message alone; a fragment is only one piece of a message, and its
// Body starts with the fragment's header. The error is ErrMalformed: no honest peer sends this.
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

// openPrefix takes off the body what the flags announce.
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

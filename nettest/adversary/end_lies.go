package adversary

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// AckAhead acknowledges a packet that was never sent: by numbers after the newest one. An end that notices closes with
// errs.ReasonAckOfUnsent.
func (e *End) AckAhead(by uint16) {
	e.forged("AckAhead", func(h *wire.PacketHeader) { h.HasAck, h.Ack = true, h.Ack+wire.Sequence(by) })
}

// AckNothing is a habit: packets acknowledge nothing. The other end must limit its memory of sent packets.
func (e *End) AckNothing() {
	e.habit("AckNothing", func(h *wire.PacketHeader) { h.HasAck = false })
}

// AckOld is a habit: all packets repeat the acknowledgements of the next one.
func (e *End) AckOld() {
	var first wire.PacketHeader
	e.habit("AckOld", func(h *wire.PacketHeader) {
		if !first.HasAck {
			first = *h
		}
		h.HasAck, h.Ack, h.AckBits = first.HasAck, first.Ack, first.AckBits
	})
}

// AckAll is a habit: each packet acknowledges all 33 newest numbers, including those that the other end skipped. The other end
// notices after some hundred packets.
func (e *End) AckAll() {
	e.habit("AckAll", func(h *wire.PacketHeader) { h.AckBits = 1<<min(32, uint(e.packets)) - 1 })
}

// habit changes the headers of all packets from now on.
func (e *End) habit(lie string, alter func(h *wire.PacketHeader)) {
	e.alter = func(h *wire.PacketHeader) {
		e.told[lie]++
		alter(h)
	}
}

// Silence is a habit: nothing is sent. The other end closes after its SilenceTimeout.
func (e *End) Silence() { e.silent = true }

// Trickle is a habit: one small valid packet is sent per period. The session stays alive if the period is shorter than the
// SilenceTimeout of the other end.
func (e *End) Trickle(every time.Duration) { e.trickle = every }

// Honest ends all habits.
func (e *End) Honest() { e.alter, e.silent, e.trickle = nil, false, 0 }

// JumpAhead raises the number of one packet. All numbers in between count as lost, and later packets with lower numbers as old.
func (e *End) JumpAhead(by uint16) {
	e.forged("JumpAhead", func(h *wire.PacketHeader) { h.Sequence += wire.Sequence(by) })
}

// FallBack lowers the number of one packet, so that it is a duplicate or too old.
func (e *End) FallBack(by uint16) {
	e.forged("FallBack", func(h *wire.PacketHeader) { h.Sequence -= wire.Sequence(by) })
}

// Repeat sends the newest packet again. The copies are duplicates.
func (e *End) Repeat(times int) {
	for range times {
		if len(e.last) > 0 {
			e.raw(e.last)
			e.told["Repeat"]++
		}
	}
}

// Damage sends the newest packet with one flipped bit, so that its checksum is wrong.
func (e *End) Damage(times int) {
	for range times {
		if len(e.last) > 0 {
			b := append([]byte(nil), e.last...)
			b[e.random.IntN(len(b))] ^= 1 << e.random.IntN(8)
			e.raw(b)
			e.told["Damage"]++
		}
	}
}

// Say sends one message with any type, stage byte and payload, valid or not, on channel 0 of Unreliable, in its own packet.
func (e *End) Say(kind wire.MessageType, stage byte, payload []byte) {
	e.say("Say", kind, stage, payload)
}

// say is Say, counted under another name.
func (e *End) say(lie string, kind wire.MessageType, stage byte, payload []byte) {
	framed := append(binary.LittleEndian.AppendUint16([]byte{byte(kind), stage}, uint16(len(payload))), payload...)
	e.send(lie, func(b *peer.Builder) { b.Append(framed) })
}

// Credit grants the other end credit for reliable messages. A grant that is not above the known one, or out of range, has no
// effect.
func (e *End) Credit(low uint32) {
	e.say("Credit", wire.MessageCredit, 0, peer.AppendCredit(nil, low))
}

// Resyncs requests all state, each time with the next epoch. The other end serves one request in two seconds.
func (e *End) Resyncs(times int) {
	for range times {
		e.epoch++
		e.say("Resyncs", wire.MessageResync, 0, binary.LittleEndian.AppendUint16(nil, e.epoch))
	}
}

// reliable sends one framed message on a reliable channel with a given number.
func (e *End) reliable(lie string, ch wire.Channel, kind wire.MessageType, number uint16, body []byte) {
	payload := append(binary.LittleEndian.AppendUint16(nil, number), body...)
	framed := append(binary.LittleEndian.AppendUint16([]byte{byte(kind), 0}, uint16(len(payload))), payload...)
	e.send(lie, func(b *peer.Builder) {
		b.Switch(ch)
		b.Append(framed)
	})
}

// number returns the next number of a reliable channel.
func (e *End) number(ch wire.Channel) uint16 {
	e.numbers[ch]++
	return e.numbers[ch] - 1
}

// Overspend sends reliable messages without regard to credit. Beyond its grant the other end closes with
// errs.ReasonQueueOverflow. The messages stay out of order, so that none is handled and no credit returns.
func (e *End) Overspend(bytes int) {
	ch := wire.NewChannel(wire.ReliableOrdered, 40)
	if e.numbers[ch] == 0 {
		e.numbers[ch] = 1 // Number 0 is never sent.
	}
	body := make([]byte, 1000)
	for sent := 0; sent < bytes && e.reason == nil; sent += len(body) {
		e.reliable("Overspend", ch, unknownType, e.number(ch), body)
	}
}

// unknownType is a message type that protocols usually lack.
const unknownType = wire.MaxMessageType

// FarNumber sends one reliable message with a number beyond the window. The other end closes with errs.ReasonMalformed.
func (e *End) FarNumber() {
	e.reliable("FarNumber", wire.NewChannel(wire.Reliable, 41), unknownType, 2048, nil)
}

// Pieces sends the first of 32 pieces of several reliable messages, and no other pieces. The other end stores four messages at a
// time, and closes with errs.ReasonMalformed at the fifth.
func (e *End) Pieces(messages int) {
	for range messages {
		ch := wire.NewChannel(wire.Reliable, 42)
		first := e.numbers[ch]
		e.numbers[ch] += 32
		body := append([]byte{byte(unknownType), 0, 0, 32}, make([]byte, 1000)...)
		e.reliable("Pieces", ch, wire.MessageFragment, first, body)
	}
}

// ForTick sends a valid message of each registered type for a tick that is away ticks from this end's, -32768 to 32767. The other
// end delays it, up to its limits.
func (e *End) ForTick(away int16) {
	e.flagged("ForTick", wire.FlagTick, binary.LittleEndian.AppendUint16(nil, e.tick.Low()+uint16(away)))
}

// About sends a valid message of each registered type about an entity, which need not exist, be visible or belong to this end.
func (e *End) About(entity wire.NetworkID) {
	front := wire.AppendVarint(wire.AppendVarint(nil, uint64(entity.Index)), uint64(entity.Generation))
	e.flagged("About", wire.FlagEntity, front)
}

// flagged sends a random valid message of each type that this end may send, with flags and the bytes that belong to them in
// front.
func (e *End) flagged(lie string, flags wire.MessageFlags, front []byte) {
	for _, t := range e.plainTypes() {
		if body := e.body(t); body != nil {
			e.say(lie, t.ID(), byte(e.random.IntN(tick.NumStages))|byte(flags), append(append([]byte(nil), front...), body...))
		}
	}
}

// plainTypes returns the game's types that need neither a call nor an entity of this end. Types of features, such as rights and
// collections, need a channel or an entity: Named sends them.
func (e *End) plainTypes() (plain []*message.Type) {
	for _, t := range e.types() {
		if !e.calls[t.ID()] && !t.OwnerOnly && !strings.HasPrefix(t.Name, "netcode.") {
			plain = append(plain, t)
		}
	}
	return plain
}

// Messages sends packets full of random valid messages of the game, in all stages.
func (e *End) Messages(packets int) {
	all := e.plainTypes()
	if len(all) == 0 {
		return
	}
	for range packets {
		e.send("Messages", func(b *peer.Builder) {
			for range 100 {
				t := all[e.random.IntN(len(all))]
				body := e.body(t)
				if body == nil || !b.Fits(len(body)) {
					continue
				}
				copy(b.Payload(), body)
				b.Add(t.ID(), tick.Stage(e.random.IntN(tick.NumStages)), len(body))
			}
		})
	}
}

// Noise sends packets with a valid checksum and header and random bytes as messages. Usually the first one ends the session with
// errs.ReasonMalformed.
func (e *End) Noise(packets int) {
	for range packets {
		noise := make([]byte, 8+e.random.IntN(200))
		for i := range noise {
			noise[i] = byte(e.random.Uint32())
		}
		e.send("Noise", func(b *peer.Builder) { b.Append(noise) })
	}
}

// Flood sends packets that contain only a keep-alive.
func (e *End) Flood(packets int) {
	for range packets {
		e.send("Flood", e.signOfLife)
	}
}

// Bytes sends datagrams of one byte.
func (e *End) Bytes(datagrams int) {
	for range datagrams {
		e.raw([]byte{byte(e.random.Uint32())})
		e.told["Bytes"]++
	}
}

// CloseAndGoOn closes the session and then continues to send packets.
func (e *End) CloseAndGoOn(packets int) {
	e.say("CloseAndGoOn", wire.MessageClose, 0, peer.AppendClose(nil, errs.CloseError{Reason: errs.ReasonClosed, Detail: "bye"}))
	for range packets {
		e.send("CloseAndGoOn", e.signOfLife)
	}
}

// Named sends random valid messages of one registered type on its own channel. "netcode.right" is a server's right to write an
// entity, "netcode.wish" a client's request for one, "netcode.Collections" an operation on a collection. Lost messages are not
// sent again, so that on a bad link the session ends when the window of numbers is passed. The error is that this end may not
// send the type.
func (e *End) Named(name string, times int) error {
	for _, t := range e.types() {
		if t.Name != name {
			continue
		}
		for range times {
			if body := e.body(t); body != nil {
				e.onChannel("Named", t.Channel, t.ID(), byte(t.Stage), body)
			}
		}
		return nil
	}
	return fmt.Errorf("adversary: this end may send no message %q: look at Protocol.Description", name)
}

// onChannel sends one message on a channel.
func (e *End) onChannel(lie string, ch wire.Channel, kind wire.MessageType, stage byte, body []byte) {
	if ch.Delivery().Reliable() {
		body = append(binary.LittleEndian.AppendUint16(nil, e.number(ch)), body...)
	}
	framed := append(binary.LittleEndian.AppendUint16([]byte{byte(kind), stage}, uint16(len(body))), body...)
	e.send(lie, func(b *peer.Builder) {
		b.Switch(ch)
		b.Append(framed)
	})
}

package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// From sets the source of the messages that Push takes from now on. Their contexts get the receiver's tick and time of
// the packet's arrival. Call it once per packet.
func (in *Inbound) From(s *Source, t tick.Tick, received time.Duration) {
	s.enter(in.number)
	s.nextPacket()
	in.from = origin{source: s, peer: s.id, tick: t, received: received}
}

// overQuota counts an unreliable message beyond its source's quota.
func (in *Inbound) overQuota(s *Source) error {
	s.refused++
	if s.messages >= in.limits.PerSender {
		in.stats.PerSender++
	} else {
		in.stats.SenderBytes++
	}
	return ErrQuota
}

// Push queues a message of the present packet for its stage. In a full queue it replaces the oldest unreliable message,
// never a reliable one. The errors are ErrStage, ErrQuota (unreliable messages only) and ErrFull. Reliable messages have
// no quota: their sender's credit bounds them. After an error of a reliable message Source.Fault is set: the connection
// must end.
func (in *Inbound) Push(m *Message, payload []byte) error {
	s, reliable := in.from.source, m.Channel.Delivery().Reliable()
	if !reliable {
		if s.messages >= in.limits.PerSender || s.bytes+len(payload) > in.limits.SenderBytes {
			return in.overQuota(s)
		}
		s.messages++
		s.bytes += len(payload)
	}
	err := in.put(&in.from, m, payload)
	if err != nil && reliable {
		s.fail(err)
	}
	return err
}

// put queues a message of an origin.
func (in *Inbound) put(from *origin, m *Message, payload []byte) error {
	if !m.Stage.Valid() {
		in.stats.BadStage++
		return ErrStage
	}
	reliable := m.Channel.Delivery().Reliable()
	q := &in.cur.stages[m.Stage]
	if q.live >= in.limits.PerStage {
		if err := in.makeRoom(from.source, m.Stage, reliable); err != nil {
			return err
		}
	}
	f := in.cur
	start, ok := in.store(from.source, payload)
	if !ok {
		in.stats.Bytes++
		return ErrFull
	}
	it := item{
		start: uint32(start), size: uint16(len(payload)), origin: f.enterOrigin(from), options: f.enterOptions(m),
		kind: m.Type, channel: m.Channel,
	}
	if inOrder(m.Channel.Delivery()) {
		f.allOptions[it.options-1].order = from.source.nextOrder(m.Channel)
	}
	if q.push(it, in.limits.PerStage) {
		in.stats.Grown++
	}
	in.stats.Queued++
	return nil
}

// store copies a payload behind the frame's bytes and returns its offset; false if there is no room.
func (in *Inbound) store(s *Source, payload []byte) (start int, ok bool) {
	room := in.reserve(s, len(payload))
	if room == nil || len(payload) > maxPayload {
		return 0, false
	}
	start = len(in.cur.bytes)
	copy(room, payload)
	in.commit(s, len(payload))
	return start, true
}

// enterOptions stores the options of a message, if it has any, and returns item.options.
func (f *frame) enterOptions(m *Message) uint32 {
	if m.NotBefore == tick.None && m.Entity.IsZero() && m.Cost == 0 && !m.HasCall && !inOrder(m.Channel.Delivery()) {
		return 0
	}
	f.allOptions = append(f.allOptions, *m)
	return uint32(len(f.allOptions))
}

// enterOrigin returns the index of an origin in the frame. Messages that come one after the other share it.
func (f *frame) enterOrigin(from *origin) uint32 {
	if n := len(f.origins); n == 0 || f.origins[n-1] != *from {
		f.origins = append(f.origins, *from)
	}
	return uint32(len(f.origins) - 1)
}

package message

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Redeliver calls the handlers of the messages that were handled in a frame of the history once more, in the same order,
// and returns how many. Their contexts are as they were, but for the end's own. Calls are left out: their answers have gone
// out. So are messages of a handler to the end itself that were handled at once: the handler sends them again. Messages of handlers are sent again, and nothing is added to the history. It does nothing while a handler runs.
func (in *Inbound) Redeliver(frames int) int {
	f := in.Past(frames)
	if f == nil || in.draining || in.depth > 0 {
		return 0
	}
	in.draining, in.redelivering, in.nested = true, true, 0
	stage, next, count := in.stage, 0, 0
	for end := len(f.past); !in.redeliver(f, &next, end, &count); {
	}
	in.draining, in.redelivering, in.stage = false, false, stage
	return count
}

// redeliver goes on from next. It returns false after a panic, to be called again.
func (in *Inbound) redeliver(f *Frame, next *int, end int, count *int) (done bool) {
	ctx := &in.contexts[0]
	defer in.recovered(ctx)
	in.depth = 1
	for *next < end {
		p := f.past[*next]
		*next++
		m := f.extra(p.item)
		if m.HasCall || p.nested {
			continue
		}
		*count++
		in.stage = p.stage
		in.describe(ctx, &f.origins[p.origin()], p.stage)
		ctx.Type, ctx.Channel = p.typ(), p.channel()
		ctx.specify(&m)
		in.call(ctx, f.payload(p.item))
		if poisoning {
			poisonContext(ctx)
		}
	}
	in.depth = 0
	return true
}

// Outbound is the history of what an end sent: so many past frames and the current one.
type Outbound struct {
	frames []Frame
	turn   int
	limits Limits
	number uint64
	now    time.Duration
	tick   tick.Tick
	lost   uint64
}

// NewOutbound returns a history of this many past frames beside the current one, one at least. A frame holds
// Limits.Bytes at most; what goes beyond is sent and not kept.
func NewOutbound(frames int, limits Limits) *Outbound {
	o := &Outbound{limits: limits.WithDefaults(), number: 1, frames: make([]Frame, max(frames, 1)+1)}
	o.frames[0].clear(1)
	return o
}

// Lost returns how many messages were sent and not kept for want of room.
func (o *Outbound) Lost() uint64 { return o.lost }

// Begin starts a frame.
func (o *Outbound) Begin(now time.Duration, t tick.Tick) {
	o.now, o.tick = now, t
	o.number++
	o.turn = (o.turn + 1) % len(o.frames)
	o.frames[o.turn].clear(o.number)
}

// Record keeps a message that was sent.
func (o *Outbound) Record(to wire.ClientID, m *Message, payload []byte) {
	f := &o.frames[o.turn]
	room, _ := f.room(len(payload), o.limits.Bytes)
	if room == nil || len(payload) > maxPayload {
		o.lost++
		return
	}
	copy(room, payload)
	at := origin{peer: to, tick: o.tick, received: o.now}
	if n := len(f.origins); n == 0 || f.origins[n-1] != at {
		f.origins = append(f.origins, at)
	}
	f.extras = append(f.extras, *m)
	it := newItem(m.Type, m.Channel, len(f.extras)).at(len(f.bytes), len(payload), len(f.origins)-1)
	f.past = append(f.past, pastItem{item: it, stage: m.Stage})
	f.bytes = f.bytes[:len(f.bytes)+len(payload)]
}

// Past returns a frame of the history: 0 is the current one. It is nil for one that never was or is not kept.
func (o *Outbound) Past(frames int) *Frame {
	if frames < 0 || frames >= len(o.frames) || uint64(frames) >= o.number {
		return nil
	}
	return &o.frames[(o.turn+len(o.frames)-frames)%len(o.frames)]
}

// AppendDump appends what a frame holds, one line a message, with the names and fields that the registry knows:
//
//	frame 12, 2 messages
//	 handled  from 3 at tick 40: Chat on Unreliable 0, stage Update: From=3 Heat=0.5
//	 waiting  from 3 at tick 40: Move on ReliableOrdered 1, stage FixedUpdate, not before 44, about 7v1: X=4
func (f *Frame) AppendDump(dst []byte, r *Registry) []byte {
	dst = fmt.Appendf(dst, "frame %d, %d messages\n", f.number, f.Len())
	f.Each(func(m *Record) bool {
		dst = m.append(dst, r)
		return true
	})
	return dst
}

// append appends the line of a message.
func (m *Record) append(dst []byte, r *Registry) []byte {
	word := "waiting "
	if m.Handled {
		word = "handled "
	}
	dst = fmt.Appendf(dst, " %s %d at tick %d: ", word, m.Peer, m.Tick)
	t, known := r.Lookup(m.Type)
	if known {
		dst = append(dst, t.Name...)
	} else {
		dst = fmt.Appendf(dst, "type %d", m.Type)
	}
	dst = fmt.Appendf(dst, " on %s, stage %s", m.Channel, m.Stage)
	if m.NotBefore != tick.None {
		dst = fmt.Appendf(dst, ", not before %d", m.NotBefore)
	}
	if !m.Entity.IsZero() {
		dst = fmt.Appendf(dst, ", about %s", m.Entity)
	}
	if m.HasCall {
		dst = fmt.Appendf(dst, ", call %d", m.Call)
	}
	dst = append(dst, ": "...)
	if known {
		dst = t.Codec.AppendValues(dst, m.Payload)
	} else {
		dst = fmt.Appendf(dst, "%x", m.Payload)
	}
	return append(dst, '\n')
}

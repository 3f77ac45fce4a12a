package message

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Redeliver calls the handlers of a past frame's messages again, in the same order, and returns their number. The
// contexts are the same, except for the end's own time and tick. Two kinds are left out: calls, whose answers were sent
// already; loopback messages that were handled at once, since their handlers send them again. Handlers send their
// messages again; nothing is added to the history. Redeliver does nothing while a handler runs.
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

// redeliver handles the items from next to end. It returns false after a panic; the caller calls it again.
func (in *Inbound) redeliver(f *Frame, next *int, end int, count *int) (done bool) {
	ctx := &in.contexts[0]
	defer in.recovered(ctx)
	in.depth = 1
	for *next < end {
		p := f.past[*next]
		*next++
		m := f.options(p.item)
		if m.HasCall || p.nested {
			continue
		}
		*count++
		in.stage = p.stage
		m.Type, m.Channel = p.kind, p.channel
		in.describe(ctx, &f.origins[p.origin], p.stage)
		ctx.specify(&m)
		in.call(ctx, f.payload(p.item))
		if poisoning {
			poisonContext(ctx)
		}
	}
	in.depth = 0
	return true
}

// Outbound is the history of sent messages: a number of past frames and the current one.
type Outbound struct {
	frames     []Frame
	frameIndex int
	limits     Limits
	number     uint64
	now        time.Duration
	tick       tick.Tick
	lost       uint64
}

// NewOutbound returns a history of this many past frames, at least one, beside the current one. A frame stores at most
// Limits.Bytes; messages beyond that are not recorded.
func NewOutbound(frames int, limits Limits) *Outbound {
	o := &Outbound{limits: limits.WithDefaults(), number: 1, frames: make([]Frame, max(frames, 1)+1)}
	o.frames[0].clear(1)
	return o
}

// Lost returns the number of sent messages that were not recorded for lack of room.
func (o *Outbound) Lost() uint64 { return o.lost }

// Begin starts a frame.
func (o *Outbound) Begin(now time.Duration, t tick.Tick) {
	o.now, o.tick = now, t
	o.number++
	o.frameIndex = (o.frameIndex + 1) % len(o.frames)
	o.frames[o.frameIndex].clear(o.number)
}

// Record adds a sent message to the current frame.
func (o *Outbound) Record(to wire.ClientID, m *Message, payload []byte) {
	f := &o.frames[o.frameIndex]
	room, _ := f.room(len(payload), o.limits.Bytes)
	if room == nil || len(payload) > maxPayload {
		o.lost++
		return
	}
	copy(room, payload)
	f.allOptions = append(f.allOptions, *m)
	it := item{
		start: uint32(len(f.bytes)), size: uint16(len(payload)), origin: f.enterOrigin(&origin{peer: to, tick: o.tick, received: o.now}),
		options: uint32(len(f.allOptions)), kind: m.Type, channel: m.Channel,
	}
	f.past = append(f.past, pastItem{item: it, stage: m.Stage})
	f.bytes = f.bytes[:len(f.bytes)+len(payload)]
}

// Past returns a frame of the history: 0 is the current one. It returns nil for a frame that does not exist.
func (o *Outbound) Past(frames int) *Frame {
	if frames < 0 || frames >= len(o.frames) || uint64(frames) >= o.number {
		return nil
	}
	return &o.frames[(o.frameIndex+len(o.frames)-frames)%len(o.frames)]
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

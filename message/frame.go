package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Frame is the messages of one frame: those that wait for their stage and, where there is a history, those that were
// handled or sent. Everything in it is memory that is used again when its turn comes.
type Frame struct {
	number  uint64 // counted from 1; 0 for one that never was
	bytes   []byte // payloads
	origins []origin
	extras  []Message // of messages that say more than their type; Type, Stage and Channel are those of the item
	stages  [tick.NumStages]queue
	past    []pastItem // handled, or sent, in that order
	record  Record     // the one that Each shows
}

// origin is the source of messages, one for each packet. In outbound frames it is their destination.
type origin struct {
	source   *Source // nil in outbound frames
	peer     wire.ClientID
	tick     tick.Tick
	received time.Duration
}

// pastItem is a message that was handled or sent.
type pastItem struct {
	item
	stage  tick.Stage
	nested bool // handled at once from within the handler of another one
}

const firstBytes = 4096 // a frame has room for so many at first

// clear empties the frame and keeps its memory.
func (f *Frame) clear(number uint64) {
	f.number = number
	f.bytes, f.origins, f.extras, f.past = f.bytes[:0], f.origins[:0], f.extras[:0], f.past[:0]
	for i := range f.stages {
		f.stages[i].clear()
	}
}

// waiting returns how many messages wait, for all stages.
func (f *Frame) waiting() (n int) {
	for i := range f.stages {
		n += f.stages[i].live
	}
	return n
}

// payload returns the bytes of a message, with no room behind them.
func (f *Frame) payload(it item) []byte {
	start, size := it.start(), it.size()
	return f.bytes[start : start+size : start+size]
}

// room makes room for size bytes behind those of the frame and returns them, nil if that is beyond limit. They belong to
// the frame once it is told: f.bytes = f.bytes[:len(f.bytes)+size].
func (f *Frame) room(size, limit int) (room []byte, grown bool) {
	n := len(f.bytes)
	if size > limit-n {
		return nil, false
	}
	if size > cap(f.bytes)-n || f.bytes == nil {
		larger := make([]byte, n, min(max(firstBytes, 2*cap(f.bytes), n+size), limit))
		copy(larger, f.bytes)
		f.bytes, grown = larger, true
	}
	return f.bytes[n : n+size : n+size], grown
}

// find returns where a payload lies in the frame's bytes. Slices of one array that run to its end tell by their capacity
// where they begin, and the first byte proves it.
func (f *Frame) find(payload []byte) (start int, ok bool) {
	start = cap(f.bytes) - cap(payload)
	if start < 0 || start+len(payload) > len(f.bytes) || &f.bytes[start] != &payload[0] {
		return 0, false
	}
	return start, true
}

// extra returns what a message says beyond its type, and the zero value for one that says nothing.
func (f *Frame) extra(it item) Message {
	if it.extra() == 0 {
		return Message{}
	}
	return f.extras[it.extra()-1]
}

// Record is one message of a frame, for looking at.
type Record struct {
	Peer     wire.ClientID // who sent it; in outbound frames, who it was sent to
	Message                // how it came or went
	Tick     tick.Tick     // the end's tick when it came or went
	Received time.Duration // the end's time when it came or went
	Handled  bool          // inbound: its handler was called in this frame; else it waits, or waited when the frame ended
	Payload  []byte        // its bytes
}

// Number returns which frame this is, counted from 1.
func (f *Frame) Number() uint64 { return f.number }

// Len returns how many messages Each shows.
func (f *Frame) Len() int { return len(f.past) + f.waiting() }

// Each shows the messages of the frame until do returns false: first those that were handled, or sent, in that order, then
// those that wait, by stage. The record is one and the same, and is good during the call only, as its payload is.
func (f *Frame) Each(do func(r *Record) bool) {
	for i := range f.past {
		if f.show(f.past[i].item, f.past[i].stage, true); !do(&f.record) {
			return
		}
	}
	for stage := range f.stages {
		q := &f.stages[stage]
		for i := q.head; i < len(q.items); i++ {
			if q.items[i].dead() {
				continue
			}
			if f.show(q.items[i], tick.Stage(stage), false); !do(&f.record) {
				return
			}
		}
	}
}

// show makes the record that of a message.
func (f *Frame) show(it item, stage tick.Stage, handled bool) {
	o := &f.origins[it.origin()]
	m := f.extra(it)
	m.Type, m.Stage, m.Channel, m.order = it.typ(), stage, it.channel(), 0
	f.record = Record{Peer: o.peer, Message: m, Tick: o.tick, Received: o.received, Handled: handled, Payload: f.payload(it)}
}

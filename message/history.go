package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// History keeps the messages of one direction: those of the present frame and of a number of past ones. Its memory is reused.
type History struct {
	frames []Frame
	at     int // The present one.
	begun  int // Number of frames since the start, at most all.
	limit  int // Bytes of the payloads of a frame.
}

// Frame has the messages of one frame, in the order in which they were handled or sent.
type Frame struct {
	Lost    uint64 // Messages without room.
	records []Record
	bytes   []byte
	record  Record // The argument of Each's callback.
}

// Record describes one message of a frame.
type Record struct {
	Peer wire.ClientID // The sender; in a history of sent messages the receiver.
	Message
	Tick     tick.Tick     // The end's tick when it was received or sent.
	Received time.Duration // The end's time when it was received or sent.
	Payload  []byte        // A copy in the history.
}

// NewHistory returns a history of past frames beside the present one, each with at most limit bytes of payloads.
func NewHistory(past, limit int) *History {
	return &History{frames: make([]Frame, past+1), limit: limit}
}

// Begin starts a frame. It does nothing for nil.
func (h *History) Begin() {
	if h != nil {
		h.at, h.begun = (h.at+1)%len(h.frames), min(h.begun+1, len(h.frames)-1)
		f := &h.frames[h.at]
		f.Lost, f.records, f.bytes = 0, f.records[:0], f.bytes[:0]
	}
}

// Add adds a message to the present frame, with a copy of its payload.
func (h *History) Add(r Record) {
	f := &h.frames[h.at]
	if len(f.bytes)+len(r.Payload) > h.limit {
		f.Lost++
		return
	}
	f.bytes = append(f.bytes, r.Payload...)
	r.Payload = f.bytes[len(f.bytes)-len(r.Payload):]
	f.records = append(f.records, r)
}

// Past returns a frame: 0 is the present one. It returns nil for a frame that is not kept, and for a nil history.
func (h *History) Past(frames int) *Frame {
	if h == nil || frames < 0 || frames > h.begun {
		return nil
	}
	return &h.frames[(h.at+len(h.frames)-frames)%len(h.frames)]
}

// Each calls do for each message of the frame until do returns false. The record is reused; it and its payload are valid during
// the call. A nil frame has none.
func (f *Frame) Each(do func(r *Record) bool) {
	if f == nil {
		return
	}
	for _, f.record = range f.records {
		if !do(&f.record) {
			return
		}
	}
}

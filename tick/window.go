package tick

import "strconv"

// Verdict is the decision of a Window about the input of a tick.
type Verdict uint8

// Decisions of a Window about the input of a tick.
const (
	// Accepted: the tick has not begun; its input waits for it.
	Accepted Verdict = iota
	// Late: the tick has begun without its input. The input is new all the same, and shows the client's clock how late it
	// was.
	Late
	// Duplicate: the input of this tick has arrived before; the first one counts.
	Duplicate
	// TooOld: the tick is before the window, or below 1.
	TooOld
	// TooFar: the tick is after the window. The client's clock is far ahead, or the client lies.
	TooFar
)

// String returns the verdict's name, or its number for an unknown verdict.
func (v Verdict) String() string {
	switch v {
	case Accepted:
		return "Accepted"
	case Late:
		return "Late"
	case Duplicate:
		return "Duplicate"
	case TooOld:
		return "TooOld"
	case TooFar:
		return "TooFar"
	}
	return "Verdict(" + strconv.Itoa(int(v)) + ")"
}

// Window judges the input ticks of one client at the server. A client can name any tick, any number of times; that costs a comparison and no memory.
type Window struct {
	past, ahead Tick
	held        []Tick // The tick of an accepted input, by tick modulo the width of the window.
}

// NewWindow returns a window that accepts inputs of the ticks server-past to server+ahead. Negative
// values count as 0.
func NewWindow(past, ahead int) Window {
	past, ahead = max(past, 0), max(ahead, 0)
	return Window{past: Tick(past), ahead: Tick(ahead), held: make([]Tick, past+ahead+1)}
}

// Judge decides about the input of a tick and remembers an accepted one. server is the newest tick that the server has
// begun; it never decreases.
func (w *Window) Judge(input, server Tick) Verdict {
	switch {
	case input <= None || input < server-w.past:
		return TooOld
	case input > server && input-server > w.ahead:
		return TooFar
	}
	held := &w.held[int(input%Tick(len(w.held)))]
	switch {
	case *held == input:
		return Duplicate
	case input > server:
		*held = input
		return Accepted
	}
	*held = input
	return Late
}

// Forget forgets the input of a tick: the next one counts as the first.
func (w *Window) Forget(input Tick) {
	if w.Holds(input) {
		w.held[int(input%Tick(len(w.held)))] = None
	}
}

// Holds reports whether the input of a tick was accepted and is still in the window.
func (w *Window) Holds(input Tick) bool {
	return input > None && w.held[int(input%Tick(len(w.held)))] == input
}

// Early returns how much earlier than needed an input of this tick arrives, for Sync.Feedback. server is the newest tick
// that the server has begun. The result is at least 0 for an Accepted input.
func Early(input, server Tick) Span { return Ticks(input - server - 1) }

// EarlyAt is Early for an input that arrived at a known moment of the server's clock. For an input in time it includes
// the fraction of the tick that was left.
func EarlyAt(input, server Tick, came Time) Span {
	whole := Early(input, server)
	if whole < 0 {
		return whole
	}
	return max(whole, input.Begin().Sub(came))
}

package tick

import "strconv"

// Verdict tells what a Window decided about the input of a tick.
type Verdict uint8

// Decisions of a Window about the input of a tick.
const (
	// Accepted: the tick lies ahead; its input waits for it.
	Accepted Verdict = iota
	// Late: the tick has begun, with whatever stood in for its input. It is new all the same, and tells the client's clock
	// how late it came.
	Late
	// Duplicate: the input of this tick has come before; the first one counts.
	Duplicate
	// TooOld: the tick lies before the window, or below 1.
	TooOld
	// TooFar: the tick lies beyond the window. The client's clock is far ahead, or it lies.
	TooFar
)

// String returns the verdict's name, or its number when it has none.
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

// DefaultReach is the default number of ticks that a Window reaches before and after the server's.
const DefaultReach = 64

// Window judges the input ticks of one client, as the server sees them: which are taken, and how many may be simulated.
// A client can name any tick it likes, as often as it likes; that costs a comparison and no memory.
type Window struct {
	past, ahead Tick
	held        []Tick // The tick whose input was taken, by tick modulo the width of the window.

	burst  int  // Most steps in one tick of the server.
	credit int  // Steps that may be simulated now.
	filled Tick // The server's tick up to which credit was given.
}

// NewWindow returns a window that takes the inputs of the ticks from server-past to server+ahead, and lets at most catchUp
// steps be simulated in one tick beside its own. Values below 0 count as 0.
func NewWindow(past, ahead, catchUp int) Window {
	past, ahead, catchUp = max(past, 0), max(ahead, 0), max(catchUp, 0)
	return Window{past: Tick(past), ahead: Tick(ahead), held: make([]Tick, past+ahead+1), burst: catchUp + 1}
}

// Judge decides about the input of a tick while server is the newest tick that the server has begun, and remembers those
// that it takes. The server's tick never goes back.
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

// Holds reports whether the input of a tick was taken and is still in the window.
func (w *Window) Holds(input Tick) bool {
	return input > None && w.held[int(input%Tick(len(w.held)))] == input
}

// Early returns how much earlier than needed an input of this tick arrives while server is the newest tick that the server
// has begun: what Sync.Feedback wants to be told. It is 0 or more while the verdict is Accepted.
func Early(input, server Tick) Span { return Ticks(input - server - 1) }

// EarlyAt is Early for an input that came at a moment of the server's clock: for one that is in time, what was left until its tick began counts to the fraction.
func EarlyAt(input, server Tick, came Time) Span {
	whole := Early(input, server)
	if whole < 0 {
		return whole
	}
	return max(whole, input.Begin().Sub(came))
}

// Step asks whether one more step of this client may be simulated in the server's tick. Each tick allows one, and what was
// not used adds up to the catch-up: in the long run a client gets no more steps than there are ticks, however many
// inputs it sends.
func (w *Window) Step(server Tick) bool {
	if given := server - w.filled; given > 0 {
		w.credit = int(min(Tick(w.credit)+given, Tick(w.burst)))
		if w.filled == None {
			w.credit = 1
		}
		w.filled = server
	}
	if w.credit <= 0 {
		return false
	}
	w.credit--
	return true
}

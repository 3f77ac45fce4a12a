package tick

import "time"

// presentAhead is the number of pulses that the presented moment may run past the newest tick that arrived. A world at
// rest sends one packet each Config.Pulse, and two may be lost.
const presentAhead = 3

// Clocks has the clocks of a client: the estimate of the server's time, the input clock, and the presented moment.
type Clocks struct {
	Raw     time.Duration // The present frame's time as passed to Begin: it may jump.
	Sync    Sync          // The server's time, and the input clock.
	Shown   Presentation  // The presented moment.
	Running bool          // There is a connection.
	Newest  Tick          // The newest known tick of the server.
	arrived Arrivals

	Steps    int // Ticks of the input clock that begin in this frame.
	advanced bool
	at       Time // The moment that this frame presents.
	placed   bool

	least, most time.Duration // See SetDelay; most 0: not set.
}

// Restart begins a connection. The server's tick and the first round trip are from the handshake.
func (t *Clocks) Restart(rate, catchUp int, pulse time.Duration, now Tick, rtt time.Duration) {
	raw, least, most := t.Raw, t.least, t.most
	*t = Clocks{Raw: raw, Running: true, Newest: now, least: least, most: most}
	t.Sync = NewSync(rate, catchUp)
	t.Shown = NewPresentation(PresentationConfig{Rate: rate, Ahead: presentAhead * pulse, MinDelay: least, MaxDelay: most})
	t.Sync.Sample(now, raw)
	t.Sync.RTT(rtt, rtt/2)
}

// Begin starts a frame.
func (t *Clocks) Begin(now time.Duration) {
	t.Raw, t.Steps, t.advanced, t.placed = now, 0, false, false
}

// Hear records a packet and its tick, None for a packet without a tick. It returns what the packet proves about ticks.
// held means that its state is not shown yet.
func (t *Clocks) Hear(sequence uint64, server Tick, held bool) News {
	n := t.arrived.Note(sequence, server)
	if server != None {
		t.Tell(server)
		if !held {
			t.Shown.ArriveAfter(n.Idle, server, t.Raw)
		}
	}
	return n
}

// Tell records a tick of the server without its state.
func (t *Clocks) Tell(server Tick) {
	t.Newest = max(t.Newest, server)
	t.Sync.Sample(server, t.Raw)
}

// Slip records that the server's ticks slipped by n from tick since on.
func (t *Clocks) Slip(since Tick, n Span) {
	t.Sync.Slip(since, n)
	t.Shown.Slip(since, n)
}

// Advance moves the input clock to this frame, once. A round trip of 0 is unknown.
func (t *Clocks) Advance(rtt, jitter time.Duration) {
	if t.advanced || !t.Running {
		return
	}
	t.advanced = true
	if rtt > 0 {
		t.Sync.RTT(rtt, jitter)
	}
	t.Steps = t.Sync.Advance(t.Raw)
}

// Present returns the moment that this frame presents. It computes the moment once.
func (t *Clocks) Present() Time {
	if !t.placed && t.Running {
		t.placed = true
		t.at = t.Shown.At(t.Raw)
	}
	return t.at
}

// Stop ends a connection. The presented moment stays.
func (t *Clocks) Stop() { t.Running = false }

// SetDelay bounds the delay of the presented moment, for this and later connections. most 0 means no bound.
func (t *Clocks) SetDelay(least, most time.Duration) {
	t.least, t.most = least, most
	if t.Running {
		t.Shown.SetDelay(least, most)
	}
}

package tick

import "time"

const (
	seenPoints   = 64  // Samples of the server's tick that the least delayed one is taken from.
	inputPoints  = 256 // Answers about inputs that the lead is taken from: at 30 ticks a second, 8.5 s.
	inputTrusted = 32  // With fewer answers, the lead is at least what the round trip asks for.
	// inputPerOutlier is for how many answers one may say that a longer lead is needed without getting it.
	inputPerOutlier = 256
	// steering is by which part at most a clock runs faster or slower than the server's to take away a difference: 5 %.
	steering = 20
	// maxRTT is the longest round trip that is believed.
	maxRTT = 5 * time.Second
	// maxEarly bounds, in ticks, what is believed of one input.
	maxEarly = 1 << 20
)

// SyncConfig holds the settings of a Sync. Zero fields mean the defaults.
type SyncConfig struct {
	Rate    int           // Ticks a second, as agreed with the server; at least 1, default 30.
	CatchUp int           // Most steps that one Advance asks for; default 4.
	Slack   Span          // How much earlier than needed inputs should arrive; default half a tick. Below 0: none.
	Jump    time.Duration // A difference longer than this is jumped over, not steered away; default 250 ms, at least 4 ticks.
	MaxLead time.Duration // How far ahead of the round trip inputs may be sent; default 1 s.
}

// Sync is a client's idea of the server's time, and the clock that its inputs are made by. It never reads the time
// itself. Samples from the network are fed in as they arrive, before Advance in each frame:
//
//	sync.Sample(tick, now)       // a packet from the server carried its tick
//	sync.RTT(connection.RTT())   // as acknowledgements measure it
//	sync.Feedback(input, early)  // the server said when an input of ours arrived
//	for range sync.Advance(now)  // steps of the game that are due in this frame
//
// The server's tick is that of the packet that was the least delayed among the newest ones, as in NTP's clock filter
// (RFC 5905 §10): a network can delay a packet but never hasten it. It goes on from there at our clock's pace, corrected
// by the drift between the two.
//
// The input clock runs ahead of that by the round trip, so that the input of a tick arrives just before the server begins
// it. How far exactly is the server's to say: Feedback tells how early an input came, and the clock runs so that all but
// the worst hundredth of the newest inputs would have come in time, with a little slack. Until enough answers are there
// the lead is at least the round trip + its mean deviation (both as in RFC 6298) + a tick. Lost packets need no rule of their own,
// since an input that came with a later packet came late.
//
// The clock gets to where it should be by running up to 5 % faster or slower than the server, and jumps only over what is
// more than Jump. Both ends' clocks may drift apart by up to 6.25 % on top of that. After a suspension of either end, a
// jump of the local clock or a silence of 3.5 s everything is measured anew, with the old lead to begin with.
//
// Advance tells how many steps to run, so Sync works under any loop that can be stepped by hand: arche-model's, whose
// speed cannot be nudged finely, calls it once a frame and runs that many steps, mostly 1 when both rates are alike, and
// 0 or 2 now and then. A loop that can be nudged, such as systems.Runner's, sleeps until Wait tells that the next step is
// due, or runs at Factor times its speed, and always gets 1.
type Sync struct {
	config SyncConfig
	jump   Span
	pace   pace
	drift  drift

	now    time.Duration // The latest moment that any call named.
	begun  bool
	seenAt time.Duration // When the newest sample came.
	newest Tick          // The highest tick of the samples; only with points.

	seen, input         line
	seenBest, inputBest point // Their extremes; only with points.
	sent                []made
	batch               int // Steps of the newest frame that had any.

	rtt, jitter  time.Duration
	measured     bool // There is a round trip.
	lead         Span // From the server's tick as seen to the input clock, before the last restart.
	hasLead      bool
	position     Time // The input clock.
	moved        time.Duration
	running      bool
	speed        Span // Of the input clock until the next frame, as a part of OneTick: drift and steering.
	tick         Tick
	slipped      uint64
	jumps, fresh uint64
}

// made is an input that was sent, and where the input clock stood then.
type made struct {
	input Tick
	point
}

// NewSync returns a Sync that knows nothing yet. It keeps what it sent for two seconds at least; nothing is allocated later.
func NewSync(config SyncConfig) Sync {
	if config.Rate < 1 {
		config.Rate = 30
	}
	if config.CatchUp < 1 {
		config.CatchUp = 4
	}
	if config.Slack == 0 {
		config.Slack = OneTick / 2
	}
	if config.Jump <= 0 {
		config.Jump = 250 * time.Millisecond
	}
	if config.MaxLead <= 0 {
		config.MaxLead = time.Second
	}
	config.Slack = max(config.Slack, 0)
	return Sync{
		config: config,
		jump:   max(SpanOf(config.Jump, config.Rate), 4*OneTick),
		pace:   pace{rate: config.Rate},
		seen:   newLine(seenPoints),
		input:  newLine(inputPoints),
		sent:   make([]made, max(2*config.Rate, inputPoints)),
	}
}

// Sample notes that a packet which arrived at now carried this tick of the server's. Packets may be lost, late and in any
// order. A tick below 1 is no sample. Only the first packet of a tick is looked at: the others, and those of an earlier tick,
// are delayed more. A tick that is further back than any network delays, by a second, tells that the server's time stepped.
func (s *Sync) Sample(server Tick, now time.Duration) {
	s.touch(now)
	if server <= None {
		return
	}
	if s.seen.filled > 0 && since(s.seenAt, s.now) > restartGap {
		s.restart()
	}
	s.seenAt = s.now
	if s.seen.filled > 0 && server <= s.newest && s.newest-server < Tick(s.config.Rate) {
		return
	}
	s.newest = server
	p := point{s.now, server.Begin()}
	s.seen.add(p)
	if paced, news := s.drift.add(p, s.pace); news {
		s.pace = paced
		s.findInput()
	}
	s.seenBest = s.seen.extreme(s.now, s.pace, 1, 0, s.jump)
}

// RTT gives the newest estimate of the round trip and its mean deviation, as peer.Conn.RTT does. A negative duration counts
// as 0, and what is longer than 5 s as 5 s: the other end reports part of it, and may lie.
func (s *Sync) RTT(rtt, jitter time.Duration) {
	s.rtt, s.jitter = min(max(rtt, 0), maxRTT), min(max(jitter, 0), maxRTT)
	s.measured = true
}

// Feedback tells how early the input of a tick first arrived at the server: 0 when it was there just in time for its
// tick, above that when it had to wait, below 0 when its tick had begun without it, which then counts whole. A server
// that sees packets only as a tick begins gives whole ticks: the input's tick minus the one that begins. Any choice of
// inputs will do that leaves out neither the late ones nor those refused for coming too early. An answer about a tick that was not sent lately is ignored, and so
// is a second answer about one.
func (s *Sync) Feedback(input Tick, early Span) {
	if input <= None {
		return
	}
	sent := &s.sent[int(input%Tick(len(s.sent)))]
	if sent.input != input {
		return
	}
	sent.input = None
	early = min(max(early, -maxEarly*OneTick), maxEarly*OneTick)
	s.input.add(point{sent.at, sent.time.Add(-early)})
	s.findInput()
}

// findInput finds where the input clock must be so that inputs arrive in time.
func (s *Sync) findInput() {
	if s.input.filled > 0 {
		s.inputBest = s.input.extreme(s.now, s.pace, 1, s.input.filled/inputPerOutlier, s.jump)
	}
}

// touch takes note of the time, and returns how much went by since any call before. Time that goes backwards, and more of
// it than any frame lasts, is a break: the clock jumped or the process was away, and no time counts as gone by.
func (s *Sync) touch(now time.Duration) {
	gone := since(s.now, now)
	if s.begun && (gone < 0 || gone > restartGap) {
		s.restart()
		s.moved = now
	}
	if !s.begun {
		s.begun, s.moved = true, now
	}
	s.now = now
}

// restart forgets what was measured before something broke the time, and keeps what it led to.
func (s *Sync) restart() {
	if target, ok := s.target(); ok {
		s.lead, s.hasLead = target.Sub(s.seenBest.when(s.now, s.pace)), true
	}
	s.seen.clear()
	s.input.clear()
	s.drift.clear()
	clear(s.sent)
	s.fresh++
}

// target returns the moment that the input clock should show now.
func (s *Sync) target() (Time, bool) {
	if s.seen.filled == 0 || !s.measured {
		return Time{}, false
	}
	seen := s.seenBest.when(s.now, s.pace)
	lead := s.lead
	if !s.hasLead {
		lead = s.pace.span(s.rtt+s.jitter) + OneTick + s.config.Slack
	}
	if s.input.filled > 0 {
		told := add(s.inputBest.when(s.now, s.pace).Sub(seen), s.config.Slack)
		if s.input.filled >= inputTrusted {
			lead = told
		} else {
			lead = max(lead, told)
		}
	}
	return seen.Add(min(max(lead, 0), s.pace.span(s.rtt+s.config.MaxLead))), true
}

// Advance moves the input clock to now and returns how many steps are due in this frame: the caller runs that many, the
// last of which is Tick(), and sends their inputs in the same frame. There are none before the first Sample and RTT, and
// never more than CatchUp; what is due beyond that is skipped and counted. After a jump back, as when the server's ticks slipped, Tick() is lower
// than before, and ticks come again whose inputs were sent already: of what the server took, the first counts.
func (s *Sync) Advance(now time.Duration) (steps int) {
	s.touch(now)
	gone := max(since(s.moved, now), 0)
	s.moved = now
	target, known := s.target()
	switch {
	case !s.running && !known:
		return 0
	case !s.running:
		s.running = true
		s.position = target
		s.tick = target.Tick - 1
		s.speed = OneTick + s.pace.skew
	default:
		s.move(target, known, gone)
	}
	due := s.position.Tick - s.tick
	s.tick = s.position.Tick
	if due <= 0 {
		return 0
	}
	steps = int(min(due, Tick(s.config.CatchUp)))
	s.slipped += uint64(due) - uint64(steps)
	s.note(steps, now)
	return steps
}

// note keeps where the input clock stood when the inputs of this frame were sent: later than their ticks began, by what
// the frame made them wait, which a longer lead must make up for as it does for the network. A frame that makes up for a
// hitch or a jump says nothing about the next ones: of its inputs only the newest counts.
func (s *Sync) note(steps int, now time.Duration) {
	oldest := s.tick - Tick(steps) + 1
	if steps > s.batch+1 {
		oldest = s.tick
	}
	s.batch = steps
	for t := max(oldest, None+1); t <= s.tick; t++ {
		s.sent[int(t%Tick(len(s.sent)))] = made{t, point{now, s.position}}
	}
}

// move moves the input clock by what went by since the last frame, at the speed that was decided then, so that Wait could
// be right, and decides the next speed.
func (s *Sync) move(target Time, known bool, gone time.Duration) {
	s.position = s.position.Add(SpanOf(gone, s.config.Rate).Of(s.speed))
	steering := Span(0)
	if known {
		off := target.Sub(s.position)
		if off > s.jump || off < -s.jump {
			if off < 0 {
				clear(s.sent) // These ticks come again: answers must not be taken for those of the first time.
			}
			s.position = target
			s.jumps++
		} else {
			steering = steer(off, off > 0, s.config.Rate)
		}
	}
	s.speed = OneTick + s.pace.skew + steering + steering.Of(s.pace.skew)
}

// steer is by which part of OneTick a clock that is off by so much should run faster, at most 5 %. It gets out of an urgent
// difference, in which something is missing, four times as fast as back from one in which there is only too much.
func steer(off Span, urgent bool, rate int) Span {
	part := off.Of(OneTick / Span(rate))
	if urgent {
		part = off.Of(4 * OneTick / Span(rate))
	}
	return min(max(part, -OneTick/steering), OneTick/steering)
}

// Tick returns the newest step that Advance asked for; None before the first.
func (s *Sync) Tick() Tick { return s.tick }

// Input returns the input clock as of the last Advance: Tick(), and what went by of it.
func (s *Sync) Input() Time { return s.position }

// Server estimates the server's time at now, taking half of the round trip as the way from there. It is the zero Time
// before the first Sample. It may step back a little when it learns better; nothing that is shown should follow it.
func (s *Sync) Server(now time.Duration) Time {
	if s.seen.filled == 0 {
		return Time{}
	}
	return s.seenBest.when(now, s.pace).Add(s.pace.span(s.rtt / 2))
}

// Factor returns by how much a loop should run faster than its nominal speed until the next frame to keep up with the
// input clock, as num/den: the drift of the clocks, and the steering that the last Advance decided on.
func (s *Sync) Factor() (num, den int64) {
	if !s.running {
		return 1 << 16, 1 << 16
	}
	return int64(s.speed) >> 16, 1 << 16
}

// Wait returns how long from the last Advance until the next step is due, above 0: a loop that sleeps so long makes one
// step a frame. Before the clock runs it is the interval of a tick.
func (s *Sync) Wait() time.Duration {
	if !s.running {
		return OneTick.Duration(s.config.Rate)
	}
	left := OneTick - Span(s.position.Fraction)
	return Span(muldiv(int64(left), uint64(OneTick), uint64(s.speed))).Duration(s.config.Rate) + 2
}

// Lead returns how far the input clock ran ahead of the server's time as packets show it, as of the last Advance: the
// round trip, and what inputs need beyond it.
func (s *Sync) Lead() Span {
	if s.seen.filled == 0 || !s.running {
		return 0
	}
	return s.position.Sub(s.seenBest.when(s.moved, s.pace))
}

// Drift returns how much faster than ours the server's clock runs, as a part of OneTick within ±1/16.
func (s *Sync) Drift() Span { return s.pace.skew }

// Jumps returns how often the input clock jumped.
func (s *Sync) Jumps() uint64 { return s.jumps }

// Restarts returns how often everything was measured anew.
func (s *Sync) Restarts() uint64 { return s.fresh }

// Slipped returns how many ticks were skipped because more than CatchUp were due.
func (s *Sync) Slipped() uint64 { return s.slipped }

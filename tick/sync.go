package tick

import (
	"math"
	"time"
)

const (
	seenPoints   = 64  // The number of samples of the server's tick.
	inputPoints  = 256 // The number of answers about inputs: 8.5 s at 30 ticks per second.
	inputTrusted = 16  // With fewer answers, the lead is at least the lead by the round trip.
	// inputPerOutlier is the number of answers among which one late input is ignored.
	inputPerOutlier = 256
	// steering bounds the correction of a clock's speed: 1/20, which is 5 %.
	steering = 20
	// maxRTT is the longest round trip that is believed.
	maxRTT = 5 * time.Second
	// maxEarly bounds the believed earliness of one input, in ticks.
	maxEarly = 1 << 20
	// inputSlack is the time by which inputs should arrive earlier than needed.
	inputSlack = OneTick / 2
	// syncJump is the difference over which the clock jumps, at least 4 ticks. It steers away a smaller one.
	syncJump = 250 * time.Millisecond
	// slipJump is the difference over which the clock jumps after a slip of the server's ticks.
	slipJump = 30 * time.Millisecond
	// maxLead is the most by which the lead exceeds the round trip.
	maxLead = time.Second
)

// Sync is a client's estimate of the server's time, with the input clock. It never reads the time. Samples from the
// network are passed in as they arrive, before Advance in each frame:
//
//	sync.Sample(tick, now)       // a packet from the server had its tick
//	sync.RTT(connection.RTT())   // as acknowledgements measure it
//	sync.Feedback(input, early)  // the server reported when an input arrived
//	sync.Slip(tick, span)        // the server told that its ticks slipped
//	for range sync.Advance(now)  // steps of the game that are due in this frame
//
// The server's time is taken from the least delayed of the newest packets, as in NTP's clock filter (RFC 5905 §10): a
// network can delay a packet but never hasten it. From there it continues at the pace of the local clock, corrected by
// the drift between the two.
//
// The input clock is ahead of the server's time by the round trip, so that the input of a tick arrives just before the
// server begins it. The server's Feedback reports how early inputs arrive. The clock runs so that all of the newest
// inputs, except the worst hundredth, would have been in time with a little slack. Until there are enough reports, the
// lead is at least the round trip + its mean deviation (both as in RFC 6298) + a tick. A lost packet needs no rule: its
// inputs come late with a later packet.
//
// After a stall the server drops ticks: they slip. It tells so, and all samples of before are moved back by that much: nothing is measured
// again. The clock then jumps over more than slipJump.
//
// The clock corrects a difference by running up to 5 % faster or slower than the server. It jumps only over more than
// syncJump. The clocks of both ends may drift by up to 6.25 % in addition. After a suspension of an end, a jump of the local
// clock or a silence of 3.5 s everything is measured again, beginning with the old lead.
//
// Advance returns the number of steps to run, so that Sync works under any loop that can be stepped by hand.
// arche-model's loop, whose speed cannot be adjusted finely, calls it once a frame and runs that many steps: mostly 1 at
// equal rates, sometimes 0 or 2. An adjustable loop, such as systems.Runner's, runs at Factor times its speed, and always
// gets 1.
type Sync struct {
	rate    int // Ticks per second.
	catchUp int // The most steps of one Advance.
	jump    Span
	pace    pace
	drift   drift

	now    time.Duration // The latest moment that any call passed.
	begun  bool
	seenAt time.Duration // The arrival time of the newest sample.
	newest Tick          // The highest tick of the samples; valid only with points.

	seen, input         line
	seenBest, inputBest point // The extremes of seen and input; valid only with points.
	sent                []made
	batch               int // Steps of the newest frame with any.

	rtt, jitter time.Duration
	shortest    time.Duration // The shortest round trip.
	trip        time.Duration // The least sum of both: a stall of an end is in the newest for some time.
	measured    bool          // A round trip is known.
	lead        Span          // The lead of the input clock over the seen server time, before the last restart.
	hasLead     bool
	position    Time // The input clock.
	moved       time.Duration
	running     bool
	speed       Span // The speed of the input clock until the next frame, as a part of OneTick: drift and steering.
	tick        Tick
	jumps       uint64

	told  bool          // The server told of a slip, and the clock has not moved since.
	quiet time.Duration // No input is noted until then: a report could be about an earlier input of its tick.
}

// made is a sent input, with the position of the input clock at that time.
type made struct {
	input Tick
	point
}

// NewSync returns a Sync without samples, for ticks of rate a second, as agreed with the server, and at most catchUp steps in
// one Advance. Below 1 they are 30 and 4. It stores sent inputs for at least two seconds. All memory is allocated here.
func NewSync(rate, catchUp int) Sync {
	if rate < 1 {
		rate = 30
	}
	if catchUp < 1 {
		catchUp = 4
	}
	return Sync{
		rate: rate, catchUp: catchUp,
		jump:  max(SpanOf(syncJump, rate), 4*OneTick),
		pace:  pace{rate: rate},
		seen:  newLine(seenPoints),
		input: newLine(inputPoints),
		sent:  make([]made, max(2*rate, inputPoints)),
	}
}

// Sample records that a packet with this server's tick arrived at now. Packets may be lost, late and in any order. It
// ignores ticks below 1. It uses only the first packet of a tick: later packets of the tick, and packets of earlier
// ticks, have a longer delay. If a tick is more than a second back, longer than any network delay, the server's time has
// stepped.
func (s *Sync) Sample(server Tick, now time.Duration) {
	s.touch(now)
	if server <= None {
		return
	}
	if s.seen.filled > 0 && since(s.seenAt, s.now) > restartGap {
		s.restart(now)
	}
	s.seenAt = s.now
	if s.seen.filled > 0 && server <= s.newest && s.newest-server < Tick(s.rate) {
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

// RTT sets the newest estimate of the round trip and its mean deviation, as peer.Conn.RTT returns them. It clamps both to
// 0 to 5 s: a part comes from the other end, which may lie.
func (s *Sync) RTT(rtt, jitter time.Duration) {
	s.rtt, s.jitter = min(max(rtt, 0), maxRTT), min(max(jitter, 0), maxRTT)
	if !s.measured || s.rtt < s.shortest {
		s.shortest = s.rtt
	}
	if trip := s.rtt + s.jitter; !s.measured || trip < s.trip {
		s.trip = trip
	}
	s.measured = true
}

// Feedback records how early the input of a tick first arrived at the server. 0 means just in time for its tick. A
// positive value means that it waited. A negative value means that its tick had begun without it; it is then in whole
// ticks. A server that reads packets only as a tick begins reports whole ticks: the input's tick minus the beginning
// tick.
//
// The server may report any selection of inputs that includes the late ones and those refused as too early. Feedback
// ignores a tick that was not sent lately, and a second report about a tick.
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
	needed := sent.time.Add(-early)
	s.input.add(point{sent.at, needed})
	s.findInput()
}

// Slip records that the server's ticks slipped by n, at most 2^31 ticks: tick since, and all after it, began later by that much than the ticks
// before had shown. Later slips are told later.
func (s *Sync) Slip(since Tick, n Span) {
	if n <= 0 {
		return
	}
	s.seen.slip(since, n)
	s.drift.slip(since, n)
	s.input.slip(math.MaxInt64, n)
	clear(s.sent) // Inputs that waited for the server in its stall predict nothing.
	s.told = true
	if s.seen.filled > 0 {
		s.seenBest = s.seen.extreme(s.now, s.pace, 1, 0, s.jump)
	}
	s.findInput()
}

// findInput updates inputBest, the point at which inputs arrive just in time.
func (s *Sync) findInput() {
	if s.input.filled > 0 {
		s.inputBest = s.input.extreme(s.now, s.pace, 1, s.input.filled/inputPerOutlier, s.jump)
	}
}

// touch records the time. If the time goes back, or by more than restartGap ahead, the clock jumped or the process was
// away: everything is measured again, and no time counts as passed.
func (s *Sync) touch(now time.Duration) {
	gone := since(s.now, now)
	if s.begun && (gone < 0 || gone > restartGap) {
		s.restart(now)
		s.moved = now
	}
	if !s.begun {
		s.begun, s.moved, s.quiet = true, now, now
	}
	s.now = now
}

// restart drops the measurements and keeps the lead that they led to. Inputs count again from now, which can be earlier
// than the time of before.
func (s *Sync) restart(now time.Duration) {
	if target, ok := s.target(); ok {
		s.lead, s.hasLead = target.Sub(s.seenBest.when(s.now, s.pace)), true
	}
	s.seen.clear()
	s.input.clear()
	s.drift.clear()
	clear(s.sent)
	s.quiet = now
}

// target returns the moment at which the input clock should be now. ok is false before the first Sample and RTT.
func (s *Sync) target() (Time, bool) {
	if s.seen.filled == 0 || !s.measured {
		return Time{}, false
	}
	seen := s.seenBest.when(s.now, s.pace)
	lead := s.lead
	if !s.hasLead {
		lead = s.pace.span(s.trip) + OneTick + inputSlack
	}
	if s.input.filled > 0 {
		told := add(s.inputBest.when(s.now, s.pace).Sub(seen), inputSlack)
		if s.input.filled >= inputTrusted {
			lead = told
		} else {
			lead = max(lead, told)
		}
	}
	return seen.Add(min(max(lead, 0), s.pace.span(s.rtt+maxLead))), true
}

// Advance moves the input clock to now and returns the number of due steps. The caller runs them and sends their
// inputs in the same frame. The last of these steps is Tick(). It returns 0 before the first Sample and RTT, and at most
// catchUp: further steps are skipped.
//
// After a jump back, when the server's ticks slipped, Tick() is lower than before. Ticks then repeat whose inputs were
// sent already; the server takes the newer input of a tick that it has not begun.
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
	steps = int(min(due, Tick(s.catchUp)))
	s.note(steps, now)
	return steps
}

// note stores the position of the input clock when the inputs of this frame are sent. Inputs are sent after their ticks
// began; a longer lead makes up for this wait as it does for the network. After a hitch or a jump only the newest input
// of the frame counts, since such a frame predicts nothing about the next.
func (s *Sync) note(steps int, now time.Duration) {
	oldest := s.tick - Tick(steps) + 1
	if steps > s.batch+1 {
		oldest = s.tick
	}
	s.batch = steps
	if now < s.quiet {
		return
	}
	for t := max(oldest, None+1); t <= s.tick; t++ {
		s.sent[int(t%Tick(len(s.sent)))] = made{t, point{now, s.position}}
	}
}

// move moves the input clock by the passed time at the speed of the last frame. Then it sets the next speed.
func (s *Sync) move(target Time, known bool, gone time.Duration) {
	s.position = s.position.Add(SpanOf(gone, s.rate).Of(s.speed))
	steering := Span(0)
	if known {
		off, least := target.Sub(s.position), -s.jump
		if s.told {
			s.told, least = false, -min(s.jump, SpanOf(slipJump, s.rate))
		}
		if off > s.jump || off < least {
			if off < 0 { // These ticks repeat: ignore reports about their first inputs.
				clear(s.sent)
				s.quiet = s.now + 2*s.shortest + 50*time.Millisecond // The newest round trip has the stall in it.
			}
			s.position = target
			s.jumps++
		} else {
			steering = steer(off, off > 0, s.rate)
		}
	}
	s.speed = OneTick + s.pace.skew + steering + steering.Of(s.pace.skew)
}

// steer returns the correction of speed for a difference, as a part of OneTick, at most 5 %. It corrects an urgent
// difference, where something is missing, four times as fast as a mere surplus.
func steer(off Span, urgent bool, rate int) Span {
	part := off.Of(OneTick / Span(rate))
	if urgent {
		part = off.Of(4 * OneTick / Span(rate))
	}
	return min(max(part, -OneTick/steering), OneTick/steering)
}

// Tick returns the newest step that Advance returned, None before the first.
func (s *Sync) Tick() Tick { return s.tick }

// Input returns the input clock as of the last Advance: Tick() and the passed part of it.
func (s *Sync) Input() Time { return s.position }

// Server estimates the server's time at now, with half of the round trip as the one-way delay. It is the zero Time before
// the first Sample. It may step back a little after a better sample; do not present it.
func (s *Sync) Server(now time.Duration) Time {
	if s.seen.filled == 0 {
		return Time{}
	}
	return s.seenBest.when(now, s.pace).Add(s.pace.span(s.rtt / 2))
}

// Factor returns the speed of a loop that keeps up with the input clock until the next frame, relative to its nominal
// speed, as num/den. It has the drift of the clocks and the steering of the last Advance.
func (s *Sync) Factor() (num, den int64) {
	if !s.running {
		return 1 << 16, 1 << 16
	}
	return int64(s.speed) >> 16, 1 << 16
}

// Lead returns the lead of the input clock over the server's time as packets show it, as of the last Advance: the round
// trip and the additional time that inputs need.
func (s *Sync) Lead() Span {
	if s.seen.filled == 0 || !s.running {
		return 0
	}
	return s.position.Sub(s.seenBest.when(s.moved, s.pace))
}

// Drift returns how much faster the server's clock runs than the local clock, as a part of OneTick within ±1/16.
func (s *Sync) Drift() Span { return s.pace.skew }

// Jumps returns the number of jumps of the input clock.
func (s *Sync) Jumps() uint64 { return s.jumps }

package tick_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// link is one direction of a network: a delay, uniform jitter added to it, loss, and a burst of more delay.
type link struct {
	delay, jitter time.Duration
	loss          float64
	burst         time.Duration // added to what is sent from burstFrom to burstTo
	burstFrom     time.Duration
	burstTo       time.Duration
	down          func(now time.Duration) bool // nothing passes
}

// travels returns the arrival time of a packet that is sent at now. ok is false for a lost packet.
func (l link) travels(now time.Duration, random *rand.Rand) (time.Duration, bool) {
	lost := random.Float64() < l.loss
	at := now + l.delay
	if l.jitter > 0 {
		at += time.Duration(random.Int64N(int64(l.jitter)))
	}
	if now >= l.burstFrom && now < l.burstTo {
		at += time.Duration(random.Int64N(int64(l.burst)))
	}
	return at, !lost && (l.down == nil || !l.down(now))
}

// flight is a packet on its way.
type flight struct {
	at   time.Duration
	down toClient
	up   toServer
}

type toClient struct {
	tick    tick.Tick
	input   tick.Tick // the input that feedback is about
	early   tick.Span
	ack     time.Duration // the client's time at which its newest packet that arrived was sent, and
	hasAck  bool
	ackOnce int
}

type toServer struct {
	newest, oldest tick.Tick
	sent           time.Duration // the client's time
	number         int
}

// tester is a test, or one try of a property.
type tester interface {
	require.TestingT
	Helper()
	Logf(format string, values ...any)
}

// scene describes a simulation of one server and one client.
type scene struct {
	seed        uint64
	rate        int
	frame       time.Duration // the client's, in its own time
	serverFrame time.Duration
	up, down    link
	start       tick.Tick                             // the server's first tick
	drift       float64                               // how much faster the client's clock runs
	jump        func(now time.Duration) time.Duration // added to the client's clock
	asleep      func(now time.Duration) bool          // the client makes no frames
	stopped     func(now time.Duration) bool          // the server makes no frames
	lie         func(rtt time.Duration) time.Duration // what the client is told of the round trip
	show        tick.PresentationConfig
	nudge       func(w *world, now time.Duration) time.Duration // when the next frame of the client is; else its rate is fixed
	watch       func(now time.Duration, w *world)               // after each frame of the client
}

// world runs a scene in steps of a millisecond.
type world struct {
	scene
	t      tester
	random *rand.Rand
	now    time.Duration

	clock       tick.Clock
	window      tick.Window
	nextServer  time.Duration
	begins      map[tick.Tick]time.Duration // when a tick of the server's began
	arrived     map[tick.Tick]time.Duration // when the input of a tick first arrived
	held        map[tick.Tick]bool          // whether it was there in time, for each tick of the server's
	madeAt      map[tick.Tick]time.Duration // when the client sent the input of a tick first
	feedback    tick.Tick
	early       tick.Span
	hasFeedback bool
	heard       toServer
	hasHeard    bool
	refused     int

	sync       tick.Sync
	present    tick.Presentation
	nextFrame  time.Duration // in local time without jumps
	shown      tick.Time
	delays     []tick.Span
	past       []float64
	starved    int // frames in which what is shown is past the newest tick
	frames     int
	rtt, dev   time.Duration
	measured   bool
	acked      int
	sentPacket int
	ups, downs []flight
	worstStep  int
	steps      int // of the newest frame
	wentBack   int
}

func newWorld(t tester, s scene) *world {
	if s.rate == 0 {
		s.rate = 30
	}
	if s.frame == 0 {
		s.frame = time.Second / 60
	}
	if s.serverFrame == 0 {
		s.serverFrame = time.Second / time.Duration(s.rate)
	}
	s.show.Rate = s.rate
	w := &world{
		scene: s, t: t, random: rand.New(rand.NewPCG(s.seed, 1)),
		clock: tick.NewClock(s.rate, 4), window: tick.NewWindow(64, 64),
		begins: map[tick.Tick]time.Duration{}, arrived: map[tick.Tick]time.Duration{}, held: map[tick.Tick]bool{},
		madeAt: map[tick.Tick]time.Duration{},
		sync:   tick.NewSync(s.rate, 0), present: tick.NewPresentation(s.show),
	}
	w.clock.Set(s.start)
	return w
}

// local returns the client's clock.
func (w *world) local() time.Duration {
	at := w.now + time.Duration(float64(w.now)*w.drift)
	if w.jump != nil {
		at += w.jump(w.now)
	}
	return at
}

func (w *world) run(until time.Duration) *world {
	w.t.Logf("seed %d", w.seed)
	for ; w.now < until; w.now += time.Millisecond {
		if w.now >= w.nextServer {
			w.nextServer += w.serverFrame
			if w.stopped == nil || !w.stopped(w.now) {
				w.serve()
			}
		}
		if smooth := w.now + time.Duration(float64(w.now)*w.drift); smooth >= w.nextFrame {
			if w.asleep == nil || !w.asleep(w.now) {
				w.play()
			}
			if w.nudge != nil {
				w.nextFrame = w.nudge(w, smooth)
			} else {
				w.nextFrame += w.frame
			}
		}
	}
	return w
}

// take removes and returns the arrived packets.
func (w *world) take(flights *[]flight) []flight {
	var came []flight
	*flights = slices.DeleteFunc(*flights, func(f flight) bool {
		if f.at <= w.now {
			came = append(came, f)
		}
		return f.at <= w.now
	})
	slices.SortStableFunc(came, func(a, b flight) int { return int(a.at - b.at) })
	return came
}

// serve runs a frame of the server.
func (w *world) serve() {
	steps := w.clock.Advance(w.now)
	first := w.clock.Tick() - tick.Tick(steps) // what has begun before this frame
	for _, f := range w.take(&w.ups) {
		w.read(f, first)
	}
	for n := first + 1; n <= w.clock.Tick(); n++ {
		w.begins[n] = w.now
		w.held[n] = w.window.Holds(n)
	}
	if steps == 0 {
		return
	}
	packet := toClient{tick: w.clock.Tick(), ack: w.heard.sent, hasAck: w.hasHeard, ackOnce: w.heard.number}
	if w.hasFeedback {
		packet.input, packet.early = w.feedback, w.early
		w.hasFeedback = false
	}
	if at, ok := w.scene.down.travels(w.now, w.random); ok {
		w.downs = append(w.downs, flight{at: at, down: packet})
	}
}

// read handles a packet of inputs. It reports the least early of the new inputs.
func (w *world) read(f flight, server tick.Tick) {
	if !w.hasHeard || f.up.number > w.heard.number {
		w.heard, w.hasHeard = f.up, true
	}
	for n := f.up.oldest; n <= f.up.newest; n++ {
		verdict := w.window.Judge(n, server)
		switch verdict {
		case tick.Accepted, tick.Late:
			w.arrived[n] = f.at
		case tick.TooFar, tick.TooOld:
			w.refused++
			if n != f.up.newest {
				continue
			}
		default:
			continue
		}
		if early := tick.EarlyAt(n, server, w.clock.Time(w.now)); !w.hasFeedback || early < w.early {
			w.feedback, w.early, w.hasFeedback = n, early, true
		}
	}
}

// play runs a frame of the client.
func (w *world) play() {
	now := w.local()
	for _, f := range w.take(&w.downs) {
		w.sync.Sample(f.down.tick, now)
		w.present.Arrive(f.down.tick, now)
		if f.down.hasAck && f.down.ackOnce > w.acked {
			w.acked = f.down.ackOnce
			w.measure(now - f.down.ack)
		}
		w.sync.Feedback(f.down.input, f.down.early)
	}
	steps := w.sync.Advance(now)
	w.steps, w.worstStep = steps, max(w.worstStep, steps)
	if steps > 0 {
		newest := w.sync.Tick()
		for n := newest - tick.Tick(steps) + 1; n <= newest; n++ {
			if _, taken := w.arrived[n]; !taken { // After a jump back a tick may come again.
				w.madeAt[n] = w.now
			}
		}
		w.send(toServer{newest: newest, oldest: newest - 15, sent: now})
	} else if !w.measured {
		w.send(toServer{newest: 0, oldest: 1, sent: now})
	}
	shown := w.present.At(now)
	if shown.Before(w.shown) {
		w.wentBack++
	}
	w.shown = shown
	w.frames++
	if shown.After(w.present.Newest().Begin()) {
		w.starved++
		w.past = append(w.past, shown.Sub(w.present.Newest().Begin()).Float())
	}
	w.delays = append(w.delays, w.present.Delay())
	if w.watch != nil {
		w.watch(w.now, w)
	}
}

// send sends a packet to the server.
func (w *world) send(packet toServer) {
	w.sentPacket++
	packet.number = w.sentPacket
	if at, ok := w.scene.up.travels(w.now, w.random); ok {
		w.ups = append(w.ups, flight{at: at, up: packet})
	}
}

// measure smooths the round trip as RFC 6298 does.
func (w *world) measure(rtt time.Duration) {
	if w.lie != nil {
		rtt = w.lie(rtt)
	}
	if !w.measured {
		w.rtt, w.dev, w.measured = rtt, rtt/2, true
	} else {
		w.dev += ((rtt - w.rtt).Abs() - w.dev) / 4
		w.rtt += (rtt - w.rtt) / 8
	}
	w.sync.RTT(w.rtt, w.dev)
}

// figures has the results of a simulation between two moments.
type figures struct {
	inTime float64 // the part of the server's ticks whose input was there
	need   float64 // the constant lead, in ticks, that would have had 99.5 % of the inputs there in time
	lead   float64 // the mean lead, in ticks
	most   float64 // the longest
	ticks  int
}

// inputs evaluates all ticks that the server began between two moments. A lead is the time from the send of an input to
// the beginning of its tick. The need is its travel time, with the wait for the next packet after a loss.
func (w *world) inputs(from, to time.Duration) figures {
	var f figures
	var needs []float64
	inTime := 0
	leads := 0
	for _, n := range slices.Sorted(maps.Keys(w.begins)) {
		began := w.begins[n]
		if began < from || began >= to {
			continue
		}
		f.ticks++
		if w.held[n] {
			inTime++
		}
		made, ok := w.madeAt[n]
		if !ok {
			continue
		}
		lead := (began - made).Seconds() * float64(w.rate)
		f.lead += lead
		f.most = max(f.most, lead)
		leads++
		if arrived, ok := w.arrived[n]; ok {
			needs = append(needs, (arrived-made).Seconds()*float64(w.rate))
		}
	}
	require.NotEmpty(w.t, needs)
	slices.Sort(needs)
	f.need = needs[min(len(needs)*995/1000, len(needs)-1)]
	f.lead /= float64(leads)
	f.inTime = float64(inTime) / float64(f.ticks)
	return f
}

// during returns a function that is true between two moments.
func during(from, to time.Duration) func(time.Duration) bool {
	return func(now time.Duration) bool { return now >= from && now < to }
}

// both returns a scene whose two directions have the same link. The jitter is added to the delay.
func both(seed uint64, l link) scene { return scene{seed: seed, up: l, down: l} }

package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	smoothHz     = 30 // ticks a second; frames are those of the motion
	smoothDelay  = 40 * time.Millisecond
	smoothFrames = 1800
	smoothWarm   = 180     // frames before anything is measured
	smoothTarget = 1.0 / 3 // of the naive error, at 10 % loss and 30 ms of jitter
	smoothKept   = 128     // frames of what was applied that are kept
	smoothMoving = 15      // frames to either side in which a body that moved counts as moving
)

// smoothOffsets are the presentation times, in ticks behind ours, of which the naive side is judged at the one that is best for it.
func smoothOffsets() []float64 { return []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 2} }

type spot = [3]float32

// smoothRun is one motion over one network: a server, a client that interpolates, and the true path.
type smoothRun struct {
	motion motion
	link   transport.Link
	now    time.Duration
	frame  int

	serverWorld, clientWorld *ecs.World
	server                   *netcode.Server
	client                   *netcode.Client
	serverLoop, clientLoop   *systems.Runner
	clientSystems            *systems.ClientSystems
	entities                 []ecs.Entity
	ids                      []netcode.NetworkID

	truth   [][]spot          // by frame
	frameOf map[tick.Tick]int // in which frame a tick was captured
	applied [smoothKept][]spot

	smoothErrors []float64
	naiveErrors  [][]float64 // by offset
	smoothJerk   jerk
	naiveJerk    jerk
	truthJerk    jerk
	delay        []float64 // ms behind the newest tick
	age          []float64 // ms behind the server
	fault        error
}

// jerk collects the third differences of what is shown.
type jerk struct {
	last  [][3]spot // by body: what the three frames before showed
	count []int
	all   []float64
}

// show takes what a frame shows of a body, and notes the jerk if the body moves.
func (j *jerk) show(body int, at spot, moving bool, hz int) {
	last := &j.last[body]
	if j.count[body]++; j.count[body] > 3 && moving {
		sum := 0.0
		for k := range at {
			d := float64(at[k]) - 3*float64(last[2][k]) + 3*float64(last[1][k]) - float64(last[0][k])
			sum += d * d
		}
		j.all = append(j.all, math.Sqrt(sum)*math.Pow(float64(hz), 3))
	}
	*last = [3]spot{last[1], last[2], at}
}

func runSmooth(o options) error {
	for _, loss := range []float64{0, 0.02, 0.10} {
		for _, jitter := range []time.Duration{0, 10, 30, 60} {
			source, err := openMotion(o)
			if err != nil {
				return err
			}
			r := &smoothRun{motion: source, link: transport.Link{Delay: smoothDelay, Jitter: jitter * time.Millisecond, Loss: loss}}
			if err := r.run(); err != nil {
				return fmt.Errorf("loss %v, jitter %v ms: %w", loss, int(jitter), err)
			}
			r.printSmooth(o, loss, jitter)
		}
	}
	return nil
}

// run plays the motion.
func (r *smoothRun) run() error {
	if err := r.start(); err != nil {
		return err
	}
	for r.frame < smoothFrames {
		bodies, more, err := r.motion.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		r.sendFrame(bodies)
		if r.fault != nil {
			return r.fault
		}
	}
	if len(r.smoothErrors) == 0 {
		return fmt.Errorf("nothing moved in %d frames", r.frame)
	}
	return nil
}

// start makes both ends and lets them connect.
func (r *smoothRun) start() error {
	p := netcode.NewProtocol()
	netcode.Replicate[quantPosition](p)
	netcode.Replicate[quantRotation](p)
	interpolate.Register[quantPosition](p)
	interpolate.Register[quantRotation](p)
	r.serverWorld, r.clientWorld, r.frameOf = ecs.New(), ecs.New(), map[tick.Tick]int{}
	r.naiveErrors = make([][]float64, len(smoothOffsets()))
	network, clock := memory.NewNetwork(), func() time.Duration { return r.now }
	listen := func(seed uint64) (*transport.Conditioner, transport.Addr, error) {
		conn, err := network.Listen(transport.Addr{})
		if err != nil {
			return nil, transport.Addr{}, err
		}
		return transport.Condition(conn, r.link, seed, clock), conn.LocalAddr(), nil
	}
	config := netcode.Config{TickRate: smoothHz, SendBudget: -1, SentPackets: 4096}
	var err error
	if r.server, err = netcode.NewServer(p, config); err != nil {
		return err
	}
	if r.client, err = netcode.NewClient(p, config); err != nil {
		return err
	}
	r.server.OnError(func(err error) { r.fault = err })
	r.client.OnError(func(err error) { r.fault = err })
	here, address, err := listen(1)
	if err != nil {
		return err
	}
	there, _, err := listen(2)
	if err != nil {
		return err
	}
	r.clientSystems = systems.NewClient(r.client, there, clock)
	r.serverLoop = systems.NewRunner(r.serverWorld, systems.NewServer(r.server, here, clock), r.motion.hz())
	r.clientLoop = systems.NewRunner(r.clientWorld, r.clientSystems, r.motion.hz())
	return r.client.Connect(address)
}

// sendFrame plays one frame of both ends.
func (r *smoothRun) sendFrame(bodies []body) {
	builder := generic.NewMap3[components.Replicated, quantPosition, quantRotation](r.serverWorld)
	for len(r.entities) < len(bodies) {
		r.entities = append(r.entities, builder.New())
		r.ids = append(r.ids, netcode.NetworkID{})
	}
	path := make([]spot, len(bodies))
	for i := range bodies {
		id, p, q := builder.Get(r.entities[i])
		*p, q.Q = quantPosition{bodies[i].position[0], bodies[i].position[1], bodies[i].position[2]}, bodies[i].orientation
		path[i], r.ids[i] = bodies[i].position, id.ID
	}
	r.truth = append(r.truth, path)
	r.now = time.Duration(r.frame) * time.Second / time.Duration(r.motion.hz())
	r.serverLoop.Step()
	if r.server.TickDue() {
		r.frameOf[r.server.Tick()] = r.frame
	}
	r.clientLoop.Step()
	r.judge()
	r.frame++
}

// at returns the true position of a body at a frame and a part of the next.
func (r *smoothRun) at(body int, frame float64) (at spot) {
	n := min(max(int(frame), 0), len(r.truth)-1)
	from, to, part := r.truth[n][body], r.truth[min(n+1, len(r.truth)-1)][body], float32(frame-math.Floor(frame))
	for k := range at {
		at[k] = from[k] + part*(to[k]-from[k])
	}
	return at
}

// moves reports whether a body moved around a frame.
func (r *smoothRun) moves(body int, frame float64) bool {
	from, to := max(int(frame)-smoothMoving, 0), min(int(frame)+smoothMoving, len(r.truth)-1)
	for n := from; n < to; n++ {
		if r.truth[n][body] != r.truth[n+1][body] {
			return true
		}
	}
	return false
}

// judge compares what both sides show in this frame with the truth.
func (r *smoothRun) judge() {
	applied := make([]spot, len(r.ids))
	r.applied[r.frame%smoothKept] = applied
	truths := generic.NewMap1[quantPosition](r.clientWorld)
	twins := generic.NewMap1[components.Smooth[quantPosition]](r.clientWorld)
	shown := make([]*quantPosition, len(r.ids))
	for i, id := range r.ids {
		if e, ok := r.clientSystems.Entity(id); ok {
			p := truths.Get(e)
			applied[i] = spot{p.X, p.Y, p.Z}
			if ecs.Has(r.clientWorld, e, ecs.ComponentID[components.Smooth[quantPosition]](r.clientWorld)) {
				shown[i] = &twins.Get(e).Value
			}
		}
	}
	present := r.client.Present()
	captured, known := r.frameOf[present.Tick]
	if r.frame < smoothWarm || !known {
		return
	}
	frames := float64(r.motion.hz()) / smoothHz // in a tick
	frame := float64(captured) + tick.Span(present.Fraction).Float()*frames
	delay := r.client.PresentDelay().Float() * frames
	r.delay = append(r.delay, delay/float64(r.motion.hz())*1000)
	r.age = append(r.age, (float64(r.frame)-frame)/float64(r.motion.hz())*1000)
	back := min(max(int(math.Ceil(delay)), 0), smoothKept-1)
	naive := r.applied[(r.frame-back)%smoothKept]
	if r.smoothJerk.last == nil {
		for _, j := range []*jerk{&r.smoothJerk, &r.naiveJerk, &r.truthJerk} {
			j.last, j.count = make([][3]spot, len(r.ids)), make([]int, len(r.ids))
		}
	}
	for i := range r.ids {
		if shown[i] == nil || naive == nil {
			continue
		}
		at, moving, want := spot{shown[i].X, shown[i].Y, shown[i].Z}, r.moves(i, frame), r.at(i, frame)
		r.smoothJerk.show(i, at, moving, r.motion.hz())
		r.naiveJerk.show(i, naive[i], moving, r.motion.hz())
		r.truthJerk.show(i, want, moving, r.motion.hz())
		if !moving {
			continue
		}
		r.smoothErrors = append(r.smoothErrors, distanceOf(at, want))
		for k, offset := range smoothOffsets() {
			r.naiveErrors[k] = append(r.naiveErrors[k], distanceOf(naive[i], r.at(i, frame-offset*frames)))
		}
	}
}

func distanceOf(a, b spot) float64 {
	sum := 0.0
	for k := range a {
		d := float64(a[k]) - float64(b[k])
		sum += d * d
	}
	return math.Sqrt(sum)
}

// percentileOf is the value that so many of a list do not exceed.
func percentileOf(list []float64, part float64) float64 {
	slices.Sort(list)
	return list[int(part*float64(len(list)-1))]
}

// printSmooth prints the error and the jerk of one network.
func (r *smoothRun) printSmooth(o options, loss float64, jitter time.Duration) {
	naive, offset := math.Inf(1), 0.0
	for k, list := range r.naiveErrors {
		if p99 := percentileOf(list, 0.99); p99 < naive {
			naive, offset = p99, smoothOffsets()[k]
		}
	}
	params := func() map[string]any {
		return map[string]any{
			"motion": r.motion.name(), "loss": loss, "jitter_ms": int(jitter), "delay_ms": smoothDelay.Milliseconds(), "tick_hz": smoothHz,
			"samples": len(r.smoothErrors),
		}
	}
	errors := result{Scenario: "smooth", Params: params(), Value: percentileOf(r.smoothErrors, 0.99), Unit: "m"}.against(naive)
	errors.Params["p50"], errors.Params["p999"] = percentileOf(r.smoothErrors, 0.5), percentileOf(r.smoothErrors, 0.999)
	errors.Params["naive_p99_at_our_time"], errors.Params["naive_offset_ticks"] = percentileOf(r.naiveErrors[0], 0.99), offset
	errors.Params["presentation_ms"] = percentileOf(r.delay, 0.5)
	errors.Params["behind_server_ms"] = percentileOf(r.age, 0.5)
	if loss == 0.10 && jitter == 30 {
		errors = errors.ratioTarget(smoothTarget, r.fault == nil)
		errors.Main = true
	}
	o.report(errors)
	third := result{Scenario: "smooth.jerk", Params: params(), Value: percentileOf(r.smoothJerk.all, 0.99), Unit: "m/s^3"}
	third = third.against(percentileOf(r.naiveJerk.all, 0.99))
	third.Params["of_the_truth"] = percentileOf(r.truthJerk.all, 0.99)
	o.report(third)
}

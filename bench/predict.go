package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	predictKeepTarget   = 3.0                   // Times memcpy: keeping and comparing a tick.
	predictReplayTarget = 1.2                   // Times the systems alone: going back and replaying.
	predictDelay        = 83 * time.Millisecond // One way: a replay is then of about 12 ticks.
	predictWarm         = 300                   // Frames before measuring.
)

// predictInput is the input of the player that owns all bodies.
type predictInput struct {
	X, Y float32 `net:"axis"`
}

// predictSystem is the game: steering, contacts with neighbours in a list, movement and turning of each body.
type predictSystem interface {
	predict.System
	spend() spending // Spend returns the steps since the last call.
}

// spending is the time of some steps of a system.
type spending struct {
	time, fastest time.Duration // Of all, and of the fastest step.
	steps         int
}

// driven is predictSystem for components of one precision.
type driven[P position | quantPosition, R rotation | quantRotation, V velocity | quantVelocity] struct {
	world  *ecs.World
	filter *generic.Filter4[components.Simulate, P, R, V]
	owner  netcode.ClientID // 0: the input stands still, as in a world without a network.
	wind   float32          // The server's alone: it provokes mispredictions.
	spent  spending
	turn   int // Number of steps since the start.
	below  int
}

func (d *driven[P, R, V]) spend() spending {
	spent := d.spent
	d.spent = spending{}
	return spent
}

// Step implements predict.System. The time of the loop depends on the position of the stack, up to 1.7 times, and each build and caller
// has another one. So each step is taken at another of eight positions.
func (d *driven[P, R, V]) Step(s *predict.Step) {
	d.turn++
	d.stepBelow(d.turn%8, s)
}

// stepBelow takes a step below some more frames of the stack.
//
//go:noinline
func (d *driven[P, R, V]) stepBelow(frames int, s *predict.Step) {
	if frames > 0 {
		d.stepBelow(frames-1, s)
		d.below++ // Not a tail call.
		return
	}
	d.measure(s)
}

// measure takes a step and measures its time.
//
//go:noinline
func (d *driven[P, R, V]) measure(s *predict.Step) {
	began := time.Now()
	if d.world != s.World {
		d.world, d.filter = s.World, generic.NewFilter4[components.Simulate, P, R, V]()
	}
	c := predictInput{X: 1, Y: .5}
	if d.owner != 0 {
		c, _ = predict.Input[predictInput](s, d.owner)
	}
	for query := d.filter.Query(s.World); query.Next(); {
		_, at, turn, speed := query.Get()
		p, r, v := position(*at), rotation(*turn), velocity(*speed)
		driveBody(&p, &r, &v, c, d.wind)
		*at, *turn, *speed = P(p), R(r), V(v)
	}
	took := time.Since(began)
	if d.spent.time += took; d.spent.steps == 0 || took < d.spent.fastest {
		d.spent.fastest = took
	}
	d.spent.steps++
}

// driveBody simulates a body for a tick: it steers, bounces off eight pillars, moves and turns.
func driveBody(p *position, r *rotation, v *velocity, c predictInput, wind float32) {
	const dt = float32(1) / tickHz
	v.X, v.Y = float32((v.X+float32(c.X*dt*20))*.98), float32((v.Y+float32(c.Y*dt*20))*.98)
	for i := range 8 {
		x, y := float32(i*40-160)-p.X, float32(i*i-30)-p.Y
		if d := float32(x*x) + float32(y*y); d < 4 && d > 0 {
			d = 1 / float32(math.Sqrt(float64(d)))
			v.X, v.Y = v.X-float32(x*d), v.Y-float32(y*d)
		}
	}
	p.X, p.Y = p.X+float32(v.X*dt)+wind, p.Y+float32(v.Y*dt)
	if p.X < -500 || p.X > 500 {
		p.X, v.X = min(max(p.X, -500), 500), -v.X
	}
	if p.Y < -500 || p.Y > 500 {
		p.Y, v.Y = min(max(p.Y, -500), 500), -v.Y
	}
	h := v.X * dt * .5
	q := r.Q
	r.Q = [4]float32{q[0] + float32(h*q[3]), q[1] + float32(h*q[2]), q[2] - float32(h*q[1]), q[3] - float32(h*q[0])}
	n := float32(0)
	for _, x := range r.Q {
		n += float32(x * x)
	}
	n = 1 / float32(math.Sqrt(float64(n)))
	for i := range r.Q {
		r.Q[i] *= n
	}
}

// predictRun is a server and a client that predicts all bodies.
type predictRun struct {
	bodies                   int
	exact                    bool
	now                      time.Duration
	server                   *netcode.Server
	client                   *netcode.Client
	serverWorld, clientWorld *ecs.World
	serverLoop               *systems.Runner
	clientFrame              []systems.System
	sim                      *predict.Simulation
	here, there, apart       predictSystem
	setWind                  func(float32)
	alone                    func(steps int) // Runs the systems in a world without a network.
	from, ring               [3][]byte       // Columns of one tick, and of all that are kept.
	fault                    error

	rests, copies, steps         []float64 // ns per entity and tick, of quiet frames
	replays, replaySteps, alones []float64 // Likewise, of frames that go back: in all, of the systems in it, and of the systems in the world without a network.
	libraries                    []float64 // Likewise: replays less replaySteps.
	replayed                     []float64 // Ticks.
	allocations                  float64
}

func runPredict(o options) error {
	sizes := []int{64, 1000}
	if o.entities > 0 {
		sizes = []int{o.entities}
	}
	for _, bodies := range sizes {
		for _, exact := range []bool{true, false} {
			r := &predictRun{bodies: bodies, exact: exact}
			err := r.start()
			if err == nil {
				err = r.measurePredict(o.budget)
			}
			if err != nil {
				return fmt.Errorf("%d bodies, exact %v: %w", bodies, exact, err)
			}
			r.printPredict(o)
		}
	}
	return runPredictServer(o)
}

func (r *predictRun) start() error {
	if r.exact {
		return startPredict[position, rotation, velocity](r)
	}
	return startPredict[quantPosition, quantRotation, quantVelocity](r)
}

// predictProtocol has the components of a body, predicted or not, and the input of its player.
func predictProtocol[P position | quantPosition, R rotation | quantRotation, V velocity | quantVelocity](predicted bool) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[P](p)
	netcode.Replicate[R](p)
	netcode.Replicate[V](p)
	input.Register[predictInput](p)
	if predicted {
		predict.Register[P](p)
		predict.Register[R](p)
		predict.Register[V](p)
	}
	return p
}

// startPredict makes both ends, and the world that the systems run in alone.
func startPredict[P position | quantPosition, R rotation | quantRotation, V velocity | quantVelocity](r *predictRun) error {
	p := predictProtocol[P, R, V](true)
	config := netcode.Config{TickRate: tickHz, SendBudget: -1, SentPackets: 4096}
	var err error
	if r.server, err = netcode.NewServer(p, config); err != nil {
		return err
	}
	if r.client, err = netcode.NewClient(p, config); err != nil {
		return err
	}
	fail := func(err error) {
		if !errors.Is(err, predict.ErrMispredicts) { // The wind, which the server alone has, is there to be mispredicted.
			r.fault = err
		}
	}
	r.server.OnError(fail)
	r.client.OnError(fail)
	network, clock := memory.NewNetwork(), func() time.Duration { return r.now }
	var sockets [2]*transport.Conditioner
	var address transport.Addr
	for i := range sockets {
		conn, err := network.Listen(transport.Addr{})
		if err != nil {
			return err
		}
		if i == 0 {
			address = conn.LocalAddr()
		}
		sockets[i] = transport.Condition(conn, transport.Link{Delay: predictDelay}, uint64(i), clock)
	}
	r.serverWorld, r.clientWorld = ecs.New(), ecs.New()
	here, there, alone := &driven[P, R, V]{owner: 1}, &driven[P, R, V]{owner: 1}, &driven[P, R, V]{}
	r.here, r.there, r.apart, r.setWind = here, there, alone, func(wind float32) { here.wind = wind }
	group := systems.NewServer(r.server, sockets[0], clock)
	predict.Simulate(group, predict.Config{}, here)
	r.serverLoop = systems.NewRunner(r.serverWorld, group, tickHz)
	players := systems.NewClient(r.client, sockets[1], clock)
	r.sim = predict.Simulate(players, predict.Config{}, there)
	r.clientFrame = players.Systems()
	for _, s := range r.clientFrame {
		s.Initialize(r.clientWorld)
	}
	r.server.OnConnect(func(id netcode.ClientID) { placePredicted[P, R, V](r.serverWorld, r.bodies, id, true) })
	world := ecs.New()
	placePredicted[P, R, V](world, r.bodies, 0, false)
	r.alone = func(steps int) {
		for range steps {
			alone.Step(&predict.Step{World: world})
		}
	}
	for k, size := range []int{12, 16, 12} {
		r.from[k], r.ring[k] = make([]byte, size*r.bodies), make([]byte, size*r.bodies*predict.Window)
	}
	return r.client.Connect(address)
}

// placePredicted makes bodies: of a player, or simulated as they are.
func placePredicted[P position | quantPosition, R rotation | quantRotation, V velocity | quantVelocity](w *ecs.World, bodies int, owner netcode.ClientID, replicated bool) {
	build := generic.NewMap4[components.Owner, P, R, V](w)
	mark := ecs.ComponentID[components.Simulate](w)
	if replicated {
		mark = ecs.ComponentID[components.Replicated](w)
	}
	for i := range bodies {
		p := P(position{X: float32(i%100)*10 - 500, Y: float32(i / 100 * 10)})
		q, v := R(rotation{Q: [4]float32{0, 0, 0, 1}}), V(velocity{X: float32(i%7) - 3, Y: float32(i%5) - 2})
		e := build.NewWith(&components.Owner{Client: owner}, &p, &q, &v)
		ecs.Exchange(w, e, []ecs.ID{mark}, nil, nil)
	}
}

// runFrame is a frame of both ends. It returns the time of the client's simulation.
func (r *predictRun) runFrame() (took float64) {
	r.now += time.Second / tickHz
	r.serverLoop.Step()
	_ = input.Set(r.client, &predictInput{X: float32(math.Sin(r.now.Seconds())), Y: float32(math.Cos(r.now.Seconds()))})
	for _, s := range r.clientFrame {
		if s == systems.System(r.sim) {
			took = timed(func() { s.Update(r.clientWorld) })
		} else {
			s.Update(r.clientWorld)
		}
	}
	return took
}

// measurePredict measures quiet frames, and then frames that all go back.
func (r *predictRun) measurePredict(budget time.Duration) error {
	for range predictWarm {
		r.runFrame()
	}
	if r.fault != nil {
		return r.fault
	}
	if n := r.sim.Stats().Started; n != uint64(r.bodies) {
		return fmt.Errorf("%d bodies are predicted", n)
	}
	before := r.sim.Stats()
	for start := time.Now(); time.Since(start) < budget/2 || len(r.rests) < 60; {
		r.quiet()
	}
	if after := r.sim.Stats(); after.Mispredictions != before.Mispredictions || after.Replayed != before.Replayed {
		return fmt.Errorf("%d mispredictions and %d replayed ticks where nobody interferes", after.Mispredictions-before.Mispredictions, after.Replayed-before.Replayed)
	}
	r.setWind(.05)
	for range 30 {
		r.runFrame()
	}
	before = r.sim.Stats()
	for start := time.Now(); time.Since(start) < budget/2 || len(r.replays) < 60; {
		r.replay()
	}
	if after := r.sim.Stats(); after.Mispredictions == before.Mispredictions {
		return errors.New("no misprediction was provoked")
	}
	r.count()
	r.setWind(0)
	for range predictWarm {
		r.runFrame()
	}
	settled := r.sim.Stats().Mispredictions
	for range predictWarm {
		r.runFrame()
	}
	if r.sim.Stats().Mispredictions != settled {
		return errors.New("mispredictions go on when the wind is over")
	}
	return r.fault
}

// quiet measures a frame of one tick, without a return, and a copy of the same columns.
func (r *predictRun) quiet() {
	r.there.spend()
	took := r.runFrame()
	spent := r.there.spend()
	copied := timed(func() {
		at := r.frameNumber() % predict.Window
		for k := range r.from {
			copy(r.ring[k][at*len(r.from[k]):], r.from[k])
		}
	})
	if spent.steps != 1 {
		return // The clock was adjusted by a tick.
	}
	each := float64(r.bodies)
	r.rests, r.steps = append(r.rests, (took-float64(spent.time))/each), append(r.steps, float64(spent.time)/each)
	r.copies = append(r.copies, copied/each)
}

func (r *predictRun) frameNumber() int { return int(r.now * tickHz / time.Second) }

// replay measures a frame that goes back and replays, and the systems alone over as many ticks. A step of the systems counts as the
// fastest one of the frame, on both sides: see driven.Step.
func (r *predictRun) replay() {
	r.there.spend()
	before := r.sim.Stats()
	took := r.runFrame()
	spent := r.there.spend()
	after := r.sim.Stats()
	if after.Rollbacks == before.Rollbacks {
		return
	}
	bodies := float64(r.bodies)
	library, system := (took-float64(spent.time))/bodies/float64(spent.steps), float64(spent.fastest)/bodies
	r.replays, r.replaySteps = append(r.replays, library+system), append(r.replaySteps, system)
	r.libraries = append(r.libraries, library)
	r.replayed = append(r.replayed, float64(after.Replayed-before.Replayed))
	r.alone(spent.steps)
	r.alones = append(r.alones, float64(r.apart.spend().fastest)/bodies)
}

// count counts what frames of the simulation allocate.
func (r *predictRun) count() {
	const frames = 60
	var before, after runtime.MemStats
	total := uint64(0)
	for range frames {
		r.now += time.Second / tickHz
		r.serverLoop.Step()
		for _, s := range r.clientFrame {
			runtime.ReadMemStats(&before)
			s.Update(r.clientWorld)
			if runtime.ReadMemStats(&after); s == systems.System(r.sim) {
				total += after.Mallocs - before.Mallocs
			}
		}
	}
	r.allocations = float64(total) / frames
}

// printPredict prints a line for keeping and comparing, and one for going back and replaying.
func (r *predictRun) printPredict(o options) {
	params := func(of []float64) map[string]any {
		return map[string]any{
			"entities": r.bodies, "components": 3, "exact": r.exact, "frames": len(of), "p99": quantile(of, .99), "fastest": quantile(of, 0),
			"allocs_per_frame": r.allocations,
		}
	}
	keep := result{Scenario: "predict.keep", Params: params(r.rests), Value: median(r.rests), Unit: "ns"}
	keep.Params["anchor"], keep.Params["systems_ns"] = "memcpy of the same columns", median(r.steps)
	keep.Main = r.exact && r.bodies == 1000
	o.report(keep.against(median(r.copies)).ratioTarget(predictKeepTarget, r.allocations == 0))
	replay := result{Scenario: "predict.replay", Params: params(r.replays), Value: median(r.replays), Unit: "ns"}
	replay.Params["anchor"], replay.Params["ticks_replayed"] = "the systems alone, as many ticks", median(r.replayed)
	replay.Params["systems_ns"], replay.Params["library_ns"] = median(r.replaySteps), median(r.libraries)
	replay.Main = r.exact && r.bodies == 1000
	o.report(replay.against(median(r.alones)).ratioTarget(predictReplayTarget, r.allocations == 0))
}

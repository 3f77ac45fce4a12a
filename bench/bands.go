package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	bandsHz     = 30  // network ticks and frames a second
	bandsSide   = 512 // metres: the square on which the bodies are spread
	bandsWarm   = 4 * bandsHz
	bandsFrames = 12 * bandsHz
	bandsRadius = 0.5 // metres: a body's, for the error of its rotation
	bandsJudged = 4   // clients that show what they have, which is compared with the truth
	bandsDelay  = 40 * time.Millisecond
	bandsTarget = 0.60 // of the bytes without bands
	bandsSlower = 2.0  // times the server's frame without bands

	// The camera: 1920 x 1080, a vertical field of view of 60 degrees, at the client's player. One metre at a distance of one metre is
	// so many pixels high.
	bandsFocus = 540 / 0.5773502691896258
	bandsNear  = 1.0 // metres: bodies that are nearer count as at this distance
)

// bandsOf are the distance bands of the scenario, of positions and of rotations.
func bandsOf() (positions, rotations []netcode.Band) {
	return []netcode.Band{{Beyond: 32, Scale: 4}, {Beyond: 64, Scale: 8}, {Beyond: 128, Scale: 16}, {Beyond: 192, Scale: 32, Every: 2}},
		[]netcode.Band{{Beyond: 32, Scale: 4}, {Beyond: 64, Scale: 8}, {Beyond: 128, Scale: 16}, {Beyond: 192, Scale: 16, Every: 2}}
}

// bandsRun is a server and its clients with bands or without.
type bandsRun struct {
	banded bool
	link   transport.Link
	now    time.Duration
	frame  int
	bodies []bandsBody
	truth  map[tick.Tick][]bandsPose

	server     *netcode.Server
	world      *ecs.World
	loop       *systems.Runner
	grid       *interest.Grid
	entities   []ecs.Entity
	ids        []netcode.NetworkID
	clients    []*bandsClient
	serverTime float64 // ns of processor
	bytes      uint64
	ticks      int
	errors     []float64 // pixels, of bodies beyond the first band
	near       []float64 // pixels, of bodies before it
	fault      error
}

// bandsClient is one client with its world.
type bandsClient struct {
	client  *netcode.Client
	world   *ecs.World
	loop    *systems.Runner
	systems *systems.ClientSystems
}

// bandsPose is the place and the rotation of a body.
type bandsPose struct {
	at [3]float32
	q  [4]float32
}

// bandsBody is a body that walks in curves and turns about an axis of its own. Each third one hops and bounces.
type bandsBody struct {
	walker
	pose       bandsPose
	axis       [3]float64
	spin       float64 // radians a second
	hops       bool
	fall, high float64
}

func newBandsBodies(n int) []bandsBody {
	random := rand.New(rand.NewPCG(11, 53))
	all := make([]bandsBody, n)
	for i := range all {
		b := &all[i]
		b.walker = walker{
			x: (random.Float64() - 0.5) * bandsSide, y: (random.Float64() - 0.5) * bandsSide, heading: random.Float64() * 2 * math.Pi,
			speed: 1.2 + 3*random.Float64(), phase: random.Float64() * 2 * math.Pi, rhythm: 0.02 + 0.04*random.Float64(),
		}
		z, turn := 2*random.Float64()-1, random.Float64()*2*math.Pi
		flat := math.Sqrt(1 - z*z)
		b.axis = [3]float64{flat * math.Cos(turn), flat * math.Sin(turn), z}
		b.spin, b.pose.q, b.hops = 0.5+2.5*random.Float64(), [4]float32{0, 0, 0, 1}, i%3 == 0
		b.fall = 8*random.Float64() - 4
	}
	return all
}

// walk moves the body by a tick.
func (b *bandsBody) walk() {
	const step = 1.0 / bandsHz
	b.phase = math.Mod(b.phase+b.rhythm, 2*math.Pi)
	turn := 2 * walkTurn * math.Sin(b.phase)
	if math.Max(math.Abs(b.x), math.Abs(b.y)) > bandsSide/2 {
		turn = math.Max(-2*walkTurn, math.Min(math.Remainder(math.Atan2(-b.y, -b.x)-b.heading, 2*math.Pi), 2*walkTurn))
	}
	b.heading = math.Mod(b.heading+turn, 2*math.Pi)
	sin, cos := math.Sincos(b.heading)
	b.x, b.y = b.x+b.speed*cos*step, b.y+b.speed*sin*step
	if b.hops {
		b.fall -= gravity * step
		if b.high += b.fall * step; b.high <= 0 {
			b.high, b.fall = 0, 4
		}
	}
	b.pose.at = [3]float32{float32(b.x), float32(b.y), float32(b.high)}
	b.pose.q = turned(b.pose.q, b.axis, b.spin*step)
}

func runBands(o options) error {
	for _, loss := range []float64{0, 0.05} {
		var runs [2]*bandsRun
		for i := range runs {
			runs[i] = &bandsRun{banded: i == 1, link: transport.Link{Delay: bandsDelay, Loss: loss}, bodies: newBandsBodies(cmp.Or(o.entities, 1000))}
			if err := runs[i].playBands(cmp.Or(o.clients, 16)); err != nil {
				return fmt.Errorf("loss %v, bands %v: %w", loss, i == 1, err)
			}
		}
		reportBands(o, loss, runs[0], runs[1])
	}
	return nil
}

// playBands runs the game.
func (r *bandsRun) playBands(clients int) error {
	if err := r.connect(clients); err != nil {
		return err
	}
	for r.frame < bandsWarm+bandsFrames {
		r.stepBands()
		if r.fault != nil {
			return r.fault
		}
	}
	for _, c := range r.clients {
		if c.client.State() != netcode.Connected || c.client.Replica().Len() != len(r.bodies) {
			return fmt.Errorf("a client has %d of %d bodies", c.client.Replica().Len(), len(r.bodies))
		}
	}
	return nil
}

// connect makes the ends and lets the clients connect.
func (r *bandsRun) connect(clients int) error {
	p := netcode.NewProtocol()
	if positions, rotations := bandsOf(); r.banded {
		netcode.Replicate[quantPosition](p, netcode.Bands(positions...))
		netcode.Replicate[quantRotation](p, netcode.Bands(rotations...))
	} else {
		netcode.Replicate[quantPosition](p)
		netcode.Replicate[quantRotation](p)
	}
	interpolate.Register[quantPosition](p)
	interpolate.Register[quantRotation](p)
	network, clock := memory.NewNetwork(), func() time.Duration { return r.now }
	config := netcode.Config{TickRate: bandsHz, SendBudget: -1, SentPackets: 4096, Clients: clients, HandshakeTimeout: time.Minute}
	var err error
	if r.server, err = netcode.NewServer(p, config); err != nil {
		return err
	}
	r.server.OnError(func(err error) { r.fault = err })
	conn, err := network.Listen(transport.Addr{})
	if err != nil {
		return err
	}
	r.world, r.truth = ecs.New(), map[tick.Tick][]bandsPose{}
	r.loop = systems.NewRunner(r.world, systems.NewServer(r.server, transport.Condition(conn, r.link, 1, clock), clock), bandsHz)
	builder := generic.NewMap3[components.Replicated, quantPosition, quantRotation](r.world)
	for range r.bodies {
		r.entities = append(r.entities, builder.New())
	}
	if r.banded {
		r.grid = interest.NewGrid(interest.GridConfig{Position: interest.PositionOf(p.Schema(), func(p *quantPosition) (x, y, z float32) { return p.X, p.Y, p.Z })})
		r.server.SetInterest(interest.New(interest.NewBands(r.grid, interest.BandsConfig{Schema: p.Schema(), Grid: r.grid}), interest.Despawn))
		r.server.OnConnect(func(client netcode.ClientID) {
			e := r.entities[int(client-1)%len(r.entities)]
			id, _, _ := builder.Get(e)
			r.grid.Follow(client, id.ID)
		})
	}
	for i := range clients {
		c := &bandsClient{world: ecs.New()}
		there, err := network.Listen(transport.Addr{})
		if err != nil {
			return err
		}
		if c.client, err = netcode.NewClient(p, config); err != nil {
			return err
		}
		c.client.OnError(func(err error) { r.fault = err })
		c.systems = systems.NewClient(c.client, transport.Condition(there, r.link, uint64(i)+2, clock), clock)
		c.loop = systems.NewRunner(c.world, c.systems, bandsHz)
		if err := c.client.Connect(conn.LocalAddr()); err != nil {
			return err
		}
		r.clients = append(r.clients, c)
	}
	return nil
}

// sent returns the bytes that the server has sent.
func (r *bandsRun) sent() (bytes uint64) {
	for id := range r.server.Clients {
		stats, _ := r.server.ClientStats(id)
		bytes += stats.Packets.BytesSent
	}
	return bytes
}

// stepBands runs one frame of all ends.
func (r *bandsRun) stepBands() {
	builder := generic.NewMap3[components.Replicated, quantPosition, quantRotation](r.world)
	poses := make([]bandsPose, len(r.bodies))
	r.ids = r.ids[:0]
	for i := range r.bodies {
		r.bodies[i].walk()
		poses[i] = r.bodies[i].pose
		id, p, q := builder.Get(r.entities[i])
		*p, q.Q = quantPosition{poses[i].at[0], poses[i].at[1], poses[i].at[2]}, poses[i].q
		r.ids = append(r.ids, id.ID)
	}
	r.now = time.Duration(r.frame) * time.Second / bandsHz
	before := r.sent()
	took, _ := used(r.loop.Step)
	r.truth[r.server.Tick()] = poses
	for _, c := range r.clients {
		c.loop.Step()
	}
	if r.frame++; r.frame > bandsWarm {
		r.serverTime += took
		r.bytes += r.sent() - before
		r.ticks++
		for _, c := range r.clients[:min(bandsJudged, len(r.clients))] {
			r.judge(c, int(c.client.ID()-1)%len(r.bodies))
		}
	}
}

// judge compares the bodies that a client shows in this frame with the truth at the moment that it presents. player is the number of the
// client's own body.
func (r *bandsRun) judge(c *bandsClient, player int) {
	present := c.client.Present()
	from, to := r.truth[present.Tick], r.truth[present.Tick+1]
	if from == nil || to == nil {
		return
	}
	positions := generic.NewMap1[components.Smooth[quantPosition]](c.world)
	rotations := generic.NewMap1[components.Smooth[quantRotation]](c.world)
	part := tick.Span(present.Fraction).Float()
	eye := between(from[player], to[player], part).at
	positionBands, _ := bandsOf()
	for i, id := range r.ids {
		e, ok := c.systems.Entity(id)
		if !ok || i == player || !ecs.Has(c.world, e, ecs.ComponentID[components.Smooth[quantPosition]](c.world)) {
			continue
		}
		at, q, want := positions.Get(e).Value, rotations.Get(e).Value, between(from[i], to[i], part)
		far := math.Max(distanceOf(eye, want.at), bandsNear)
		off := distanceOf(spot{at.X, at.Y, at.Z}, want.at) + bandsRadius*turnBetween(q.Q, want.q)
		pixels := off / far * bandsFocus
		if far > float64(positionBands[0].Beyond) {
			r.errors = append(r.errors, pixels)
		} else {
			r.near = append(r.near, pixels)
		}
	}
}

// between is a pose on the way from one tick to the next.
func between(a, b bandsPose, part float64) (p bandsPose) {
	for k := range p.at {
		p.at[k] = a.at[k] + float32(part)*(b.at[k]-a.at[k])
	}
	sum := 0.0
	for k := range p.q {
		p.q[k] = a.q[k] + float32(part)*(b.q[k]-a.q[k])
		sum += float64(p.q[k]) * float64(p.q[k])
	}
	for k := range p.q {
		p.q[k] /= float32(math.Sqrt(sum))
	}
	return p
}

// turnBetween is the angle between two rotations, in radians.
func turnBetween(a, b [4]float32) float64 {
	same, other := 0.0, 0.0 // squares of the distances to b and to -b: exact where an arc cosine is not
	for k := range a {
		x, y := float64(a[k]), float64(b[k])
		same, other = same+(x-y)*(x-y), other+(x+y)*(x+y)
	}
	return 4 * math.Asin(math.Min(1, math.Sqrt(math.Min(same, other))/2))
}

// reportBands prints the bytes, the error and the server's time of one network.
func reportBands(o options, loss float64, without, with *bandsRun) {
	params := func() map[string]any {
		return map[string]any{
			"entities": len(with.bodies), "clients": len(with.clients), "loss": loss, "delay_ms": bandsDelay.Milliseconds(), "tick_hz": bandsHz, "side_m": bandsSide,
		}
	}
	each := func(r *bandsRun) float64 { return float64(r.bytes) / float64(r.ticks) / float64(len(r.clients)) }
	bytes := result{Scenario: "bands", Params: params(), Value: each(with), Unit: "B"}.against(each(without)).ratioTarget(bandsTarget, true)
	bytes.Main = loss == 0
	o.report(bytes)
	pixels := result{Scenario: "bands.pixels", Params: params(), Value: percentileOf(with.errors, 0.99), Unit: "px"}
	pixels = pixels.against(percentileOf(without.errors, 0.99)).valueTarget(1, true)
	pixels.Params["max"], pixels.Params["max_without"] = percentileOf(with.errors, 1), percentileOf(without.errors, 1)
	pixels.Params["p50"], pixels.Params["p999"], pixels.Params["p999_without"] = percentileOf(with.errors, 0.5), percentileOf(with.errors, 0.999), percentileOf(without.errors, 0.999)
	pixels.Params["near_p99"], pixels.Params["near_p99_without"] = percentileOf(with.near, 0.99), percentileOf(without.near, 0.99)
	pixels.Params["samples"] = len(with.errors)
	o.report(pixels)
	tickTime := func(r *bandsRun) float64 { return r.serverTime / float64(r.ticks) / 1e6 }
	o.report(result{Scenario: "bands.tick", Params: params(), Value: tickTime(with), Unit: "ms"}.against(tickTime(without)).ratioTarget(bandsSlower, true))
}

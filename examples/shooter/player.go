package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

const (
	radius = .4 // of a body, in metres

	// Frames between two presses of the trigger, how long before a shot its target is chosen, and how long after it some press once
	// more, while the gun is not loaded.
	pauseLeast  = 20
	pauseSpread = 30
	aimTime     = 8
	impatience  = 6
)

// body is a player's body, where somebody sees it.
type body struct {
	id     netcode.NetworkID
	owner  netcode.ClientID
	entity ecs.Entity
	at     Position
}

// sample is the place of a player's own body in one frame, as the player saw it.
type sample struct {
	before netcode.Tick // The place is between this tick and the next one.
	part   float64
	at     Position
}

// shown is a shot on its shooter's screen.
type shown struct {
	hit    netcode.NetworkID // Nobody: zero.
	plays  int               // Flashes, less those that were cancelled.
	screen bool              // hit is known.
}

// player is one bot. It plays by the same code whether it connects or is the host; only where it finds what it shows
// differs: the host in the server's world itself, the others in Smooth.
type player struct {
	client    *netcode.Client
	link      transport.Link // One way.
	world     *ecs.World
	sim       *predict.Simulation
	explained []predict.Explanation
	now       func() time.Duration
	random    *rand.Rand
	look      func(see func(body))
	places    generic.Map1[Position]
	seen      []body // Bodies of this frame.

	heading    float64
	aim, pitch float32
	target     netcode.NetworkID
	pause      int // Frames until the next shot.
	still      bool

	shots     map[netcode.Tick]*shown
	cancelled []shown // In this frame.
	samples   []sample
	pressed   time.Duration // When the last jump was; 0: none waits to be seen.
	jumped    netcode.Tick  // Its tick; None: no step made it yet.
	delays    delays
}

// delays counts the time from a player's presses until they were seen.
type delays struct {
	presses int
	ticks   netcode.Tick // From the tick of the input, of all together.
	jumps   int
	time    time.Duration // From the frame of the press, of all jumps together.
}

// watch has the player see and hear what its simulation tells.
func (p *player) watch(sim *predict.Simulation) {
	p.sim, p.shots = sim, map[netcode.Tick]*shown{}
	sim.OnEffect(p.play)
	sim.OnExplanation(func(e predict.Explanation) { p.explained = append(p.explained, e) })
	sim.OnCancel(p.cancel)
}

// decide is a system: in each frame the player decides what to do, whether a tick begins in it or not.
func (p *player) decide(*ecs.World) {
	p.cancelled = p.cancelled[:0]
	if p.client.State() != netcode.Connected {
		return
	}
	p.seen = p.seen[:0]
	p.look(func(b body) { p.seen = append(p.seen, b) })
	_ = input.Set(p.client, p.act()) // An impossible action is left out.
}

// act walks on, turns a little, aims at a body, and jumps and shoots now and then.
func (p *player) act() *Control {
	if p.still {
		return &Control{}
	}
	p.heading += (p.random.Float64() - .5) * .4
	c := &Control{MoveX: float32(math.Cos(p.heading)), MoveY: float32(math.Sin(p.heading))}
	if p.pause--; p.pause == aimTime && len(p.seen) > 0 {
		p.target = p.seen[p.random.IntN(len(p.seen))].id
	}
	me, found := p.find(func(b body) bool { return b.owner == p.client.ID() })
	other, there := p.find(func(b body) bool { return b.id == p.target && b.owner != p.client.ID() })
	if found && there {
		p.aim, p.pitch = direction(me.at, other.at)
	}
	c.Aim, c.Pitch = p.aim, p.pitch
	if found && me.at.Z <= 0 && p.pressed == 0 && p.random.IntN(40) == 0 {
		c.Jump, p.pressed, p.jumped = true, p.now(), tick.None
	}
	switch {
	case p.pause == pauseLeast-impatience:
		c.Fire = p.random.IntN(4) == 0
	case p.pause <= 0:
		p.pause = pauseLeast + p.random.IntN(pauseSpread)
		c.Fire = found && there
	}
	return c
}

// find returns the first body of those seen that is meant.
func (p *player) find(meant func(body) bool) (body, bool) {
	for _, b := range p.seen {
		if meant(b) {
			return b, true
		}
	}
	return body{}, false
}

// play plays an effect. A shot is compared with what the screen shows in this frame. One that is heard late moved to another
// tick: it hits on the screen what it hit when it was heard first.
func (p *player) play(e predict.Effect) {
	me, found := p.find(func(b body) bool { return b.owner == p.client.ID() })
	if !found || e.Entity != me.entity {
		return // Of another player: the host hears all.
	}
	if e.Age == 0 { // Else the press came too late to the server, and another tick has it.
		p.delays.presses++
		p.delays.ticks += p.client.Time().Tick - e.Tick
	}
	if e.Kind == jumpSound {
		if p.pressed > 0 {
			p.jumped = e.Tick
		}
		return
	}
	s := p.shot(e.Tick)
	s.plays++
	if n := len(p.cancelled); n > 0 {
		s.hit, s.screen, p.cancelled = p.cancelled[n-1].hit, p.cancelled[n-1].screen, p.cancelled[:n-1]
		return
	}
	s.hit, s.screen = shoot(*p.places.Get(me.entity), p.aim, p.pitch, me.id, p.seen), true
}

// cancel takes an effect back.
func (p *player) cancel(e predict.Effect) {
	me, found := p.find(func(b body) bool { return b.owner == p.client.ID() })
	switch {
	case !found || e.Entity != me.entity:
	case e.Kind == jumpSound:
		p.pressed, p.jumped = 0, tick.None
	default:
		s := p.shot(e.Tick)
		s.plays--
		p.cancelled = append(p.cancelled, *s)
	}
}

// shot finds or makes the shot of a tick.
func (p *player) shot(t netcode.Tick) *shown {
	if p.shots[t] == nil {
		p.shots[t] = &shown{}
	}
	return p.shots[t]
}

// watchSelf is a system: at the end of each frame the player looks where its own body is shown.
func (p *player) watchSelf(*ecs.World) {
	p.look(func(b body) {
		if b.owner != p.client.ID() {
			return
		}
		now := p.client.Time()
		if p.jumped != tick.None && b.at.Z > 0 {
			p.delays.presses++
			p.delays.ticks += now.Tick - p.jumped
			p.delays.jumps++
			p.delays.time += p.now() - p.pressed
			p.pressed, p.jumped = 0, tick.None
		}
		if p.pressed > 0 && p.now() > p.pressed+time.Second {
			p.pressed = 0 // The ground was not under it any more.
		}
		if p.sim.Predicts(b.id) {
			p.samples = append(p.samples, sample{p.sim.Tick() - 1, tick.Span(now.Fraction).Float(), b.at})
		}
	})
}

// direction is that from one place to another, as two angles.
func direction(from, to Position) (aim, pitch float32) {
	x, y, z := float64(to.X-from.X), float64(to.Y-from.Y), float64(to.Z-from.Z)
	return float32(math.Atan2(y, x)), float32(math.Atan2(z, math.Hypot(x, y)))
}

// shoot returns whom a shot from a muzzle hits: the nearest body in its line that is not the shooter's, or nobody.
func shoot(muzzle Position, aim, pitch float32, own netcode.NetworkID, bodies []body) (hit netcode.NetworkID) {
	sin, cos := math.Sincos(float64(aim))
	up, level := math.Sincos(float64(pitch))
	x, y := cos*level, sin*level
	nearest := math.Inf(1)
	for _, b := range bodies {
		dx, dy, dz := float64(b.at.X-muzzle.X), float64(b.at.Y-muzzle.Y), float64(b.at.Z-muzzle.Z)
		along := dx*x + dy*y + dz*up
		aside := math.Hypot(math.Hypot(dx-along*x, dy-along*y), dz-along*up)
		if b.id != own && along > 0 && along < nearest && aside <= radius {
			hit, nearest = b.id, along
		}
	}
	return hit
}

// lookAt returns the bodies that a player finds in a world, as T shows them.
func lookAt[T any](w *ecs.World, position func(*T) Position) func(see func(body)) {
	filter := generic.NewFilter3[components.Replicated, components.Owner, T]()
	return func(see func(body)) {
		query := filter.Query(w)
		for query.Next() {
			replicated, owner, at := query.Get()
			if !replicated.ID.IsZero() {
				see(body{replicated.ID, owner.Client, query.Entity(), position(at)})
			}
		}
	}
}

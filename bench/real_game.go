package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// realGame moves bodies of a world, which is captured into a store.
type realGame struct {
	store   *snapshot.Store
	capture *netecs.Capture
	body    *bodyWorld
	movers  []int
	orbits  []orbit
	walkers []walker
	leads   []int   // walkers that clients follow
	radius  float64 // within which clients see walkers
	tumbles bool
	stopped bool
}

func newRealGame(s realScene, config snapshot.Config) *realGame {
	g := &realGame{store: snapshot.NewStore(bodyProtocol(s.exact).Schema(), config), tumbles: s.exact}
	if s.sight > 0 {
		g.walkers = newWalkers(s.entities)
		g.arrange(s)
		s.entities = len(g.walkers)
	}
	g.body, g.orbits = newBodyWorld(s.entities, s.exact), newScene(s.entities, s.moving).orbits
	g.movers = rand.New(rand.NewPCG(7, 1)).Perm(s.entities)[:movers(s.entities, s.moving)]
	g.capture = netecs.NewCapture(g.body.world, g.store, g.store.Schema(), 1, nil)
	return g
}

// move moves the movers by one tick, unless the game has stopped.
func (g *realGame) move() {
	if g.stopped {
		return
	}
	for i := range g.walkers {
		p, q, v := g.walkers[i].nextPose()
		g.body.write(g.body.entities[i], p, q, v)
	}
	if g.walkers != nil {
		return
	}
	for k, i := range g.movers {
		next := g.orbits[k].nextPose
		if g.tumbles {
			next = g.orbits[k].tumble
		}
		p, q, v := next()
		g.body.write(g.body.entities[i], p, q, v)
	}
}

// tumble is next for a body that also bobs and turns about an axis of all three directions: each of its ten floats changes in
// each step.
func (o *orbit) tumble() (position, rotation, velocity) {
	p, q, v := o.nextPose()
	sin, cos := math.Sincos(o.phase)
	half := float64(q.Q[2])
	p.Z += float32(2 + sin + 0.5*math.Cos(2*o.phase))
	q.Q = [4]float32{float32(0.36 * half), float32(0.48 * half), float32(0.8 * half), q.Q[3]}
	v.Z = float32((cos - math.Sin(2*o.phase)) * o.turn * 60)
	return p, q, v
}

const (
	walkSide = 960  // metres: the plane that walkers stay on
	walkTurn = 0.03 // radians a tick, at most
	nearWalk = 12   // metres that a walker and a client come nearer to each other in a run, about
)

// walker is somebody who walks on a plane, at a speed of his own, in curves of his own, and turns back at its border.
type walker struct{ x, y, heading, speed, phase, rhythm float64 }

func newWalkers(n int) []walker {
	random := rand.New(rand.NewPCG(7, 3))
	all := make([]walker, n)
	for i := range all {
		all[i] = walker{
			x: (random.Float64() - 0.5) * walkSide, y: (random.Float64() - 0.5) * walkSide, heading: random.Float64() * 2 * math.Pi,
			speed: 1.2 + 3*random.Float64(), phase: random.Float64() * 2 * math.Pi, rhythm: 0.01 + 0.02*random.Float64(),
		}
	}
	return all
}

// nextPose goes on by 1/60 s.
func (w *walker) nextPose() (position, rotation, velocity) {
	w.phase = math.Mod(w.phase+w.rhythm, 2*math.Pi)
	turn := walkTurn * math.Sin(w.phase)
	if math.Max(math.Abs(w.x), math.Abs(w.y)) > walkSide/2 { // back towards the middle
		turn = math.Max(-walkTurn, math.Min(math.Remainder(math.Atan2(-w.y, -w.x)-w.heading, 2*math.Pi), walkTurn))
	}
	w.heading = math.Mod(w.heading+turn, 2*math.Pi)
	sin, cos := math.Sincos(w.heading)
	w.x, w.y = w.x+w.speed*cos/tickHz, w.y+w.speed*sin/tickHz
	half, whole := math.Sincos(w.heading / 2)
	return position{float32(w.x), float32(w.y), 0}, rotation{Q: [4]float32{0, 0, float32(half), float32(whole)}},
		velocity{float32(w.speed * cos), float32(w.speed * sin), 0}
}

// sights has each client follow a walker of its own and see what is around it, about s.sight of all.
func (g *realGame) sights(s realScene) netcode.Interest {
	place := interest.PositionOf(g.store.Schema(), func(p *quantPosition) (x, y, z float32) { return p.X, p.Y, p.Z })
	grid := interest.NewGrid(interest.GridConfig{Position: place, Enter: float32(g.radius)})
	g.capture.Run(g.store.Tick() + 1)
	ids := slices.Collect(g.store.All)
	for i, lead := range g.leads {
		grid.Follow(wire.ClientID(i+1), ids[lead])
	}
	return interest.New(grid, interest.Despawn)
}

// arrange chooses the walkers that clients follow, and the radius of sight. If the scene says so, it leaves
// out those that no client comes to see.
func (g *realGame) arrange(s realScene) {
	g.radius = walkSide * math.Sqrt(float64(s.sight)/(math.Pi*float64(len(g.walkers))))
	if s.counted {
		g.radius = g.countedRadius(s.clients, s.sight)
	}
	leads := slices.Clone(g.walkers[:min(s.clients, len(g.walkers))])
	if s.near {
		g.walkers = slices.DeleteFunc(g.walkers, func(w walker) bool {
			return !slices.ContainsFunc(leads, func(lead walker) bool { return math.Hypot(lead.x-w.x, lead.y-w.y) <= g.radius+nearWalk })
		})
	}
	for _, lead := range leads {
		g.leads = append(g.leads, slices.Index(g.walkers, lead))
	}
}

// countedRadius is the radius within which the first so many walkers have as many others around them as seen, in the mean. Near the border there are fewer, so a
// radius by density alone shows fewer of a small world than of a large one. Half of those that have left it are still in sight.
func (g *realGame) countedRadius(clients, seen int) float64 {
	var all []float64
	for i := range clients {
		at := &g.walkers[i%len(g.walkers)]
		for k := range g.walkers {
			all = append(all, math.Hypot(g.walkers[k].x-at.x, g.walkers[k].y-at.y))
		}
	}
	slices.Sort(all)
	return all[min(seen*clients, len(all)-1)] / 1.05
}

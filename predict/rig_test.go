package predict_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const rate = 60

type position struct {
	X, Y float32 `net:"min=-500,max=500,step=0.01"`
}

type velocity struct {
	X, Y float32 `net:"min=-50,max=50,step=0.02"`
}

// sprite is local to a client's game.
type sprite struct{ Number int }

// heat is a component that steps add and remove.
type heat struct{ Value uint16 }

// damage is the game's own: it is neither replicated nor local.
type damage struct{ Points int }

// cooldown is never sent.
type cooldown struct{ Ticks int32 }

type control struct {
	X, Y float32 `net:"axis"`
	Fire bool    `net:"event"`
}

// newProtocol takes options of position.
func newProtocol(options ...predict.Option) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[velocity](p)
	netcode.Replicate[heat](p)
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	interpolate.Register[position](p)
	input.Register[control](p)
	predict.Register[position](p, options...)
	predict.Register[velocity](p)
	predict.Register[heat](p)
	predict.Local[cooldown](p)
	predict.Spawns(p)
	return p
}

const flash = 7

// mover is the game's simulation: it accelerates, heats up moving bodies, and fires.
type mover struct {
	bodies                  generic.Map2[position, velocity]
	heats                   generic.Map1[heat]
	cools                   generic.Map1[cooldown]
	filter                  *generic.Filter3[components.Simulate, position, velocity]
	score                   *score
	list                    []ecs.Entity
	log                     map[netcode.Tick]control
	cold                    bool                                  // Nothing gets warm, so that standing bodies do not change.
	mines                   bool                                  // It spawns entities that do not move.
	adds                    func(w *ecs.World, bullet ecs.Entity) // Nil, or it adds more to a bullet.
	always, never           bool                                  // It fires always or never, so that server and client differ.
	limit                   float32                               // Of positions; 0: 499 metres, within the bounds of the component.
	wall                    float32                               // Nobody passes it; 0: no wall.
	wind                    float32                               // Different on both sides, which causes mispredictions.
	entered                 bool
	coolID, heatID, spawnID ecs.ID
}

func (m *mover) Step(s *predict.Step) {
	w := s.World
	if !m.entered {
		m.entered = true
		m.spawnID = ecs.ComponentID[components.SpawnOf](w)
		m.coolID, m.heatID = ecs.ComponentID[cooldown](w), ecs.ComponentID[heat](w)
		m.bodies, m.heats, m.cools = generic.NewMap2[position, velocity](w), generic.NewMap1[heat](w), generic.NewMap1[cooldown](w)
		m.filter = generic.NewFilter3[components.Simulate, position, velocity]()
	}
	m.list = m.list[:0]
	query := m.filter.Query(w)
	for query.Next() {
		m.list = append(m.list, query.Entity())
	}
	for _, e := range m.list {
		m.move(s, e)
	}
}

func (m *mover) move(s *predict.Step, e ecs.Entity) {
	dt := float32(s.Seconds())
	at, v := m.bodies.Get(e)
	owner := s.Owner(e)
	bullet := ecs.Has(s.World, e, m.spawnID)
	if c, ok := predict.Input[control](s, owner); ok && !bullet {
		if m.log != nil {
			m.log[s.Tick] = c
		}
		v.X, v.Y = v.X+float32(c.X*20)*dt, v.Y+float32(c.Y*20)*dt
		v.X, v.Y = slow(v.X), slow(v.Y)
		if !m.cold {
			m.warm(s, e, c)
		}
		at, v = m.bodies.Get(e)
		if (c.Fire || m.always) && !m.never && ecs.Has(s.World, e, m.coolID) && m.cools.Get(e).Ticks == 0 {
			m.cools.Get(e).Ticks = 10
			from, speed := *at, *v
			s.Effect(flash, e, 0)
			if m.score != nil {
				m.score.shots++
			}
			if b, ok := s.Spawn(owner); ok {
				fast := velocity{30, speed.Y}
				if m.mines {
					fast = velocity{}
				}
				m.bodies.Assign(b, &position{from.X, from.Y}, &fast)
				if m.adds != nil {
					m.adds(s.World, b)
				}
			}
			at, v = m.bodies.Get(e)
		}
	}
	if ecs.Has(s.World, e, m.coolID) && m.cools.Get(e).Ticks > 0 {
		m.cools.Get(e).Ticks--
	}
	limit := max(m.limit, 499)
	at.X, at.Y = clamp(at.X+float32(v.X*dt)+m.wind, limit), clamp(at.Y+float32(v.Y*dt), limit)
	if m.wall != 0 && !bullet {
		if at.X >= m.wall {
			at.X, v.X = m.wall, 0
		}
	}
	if bullet && at.X > 100 {
		s.Despawn(e)
	}
}

// warm adds heat to an accelerating body and removes it from a resting body.
func (m *mover) warm(s *predict.Step, e ecs.Entity, c control) {
	switch {
	case (c.X != 0 || c.Y != 0) && !ecs.Has(s.World, e, m.heatID):
		m.heats.Assign(e, &heat{1})
	case c.X != 0 || c.Y != 0:
		m.heats.Get(e).Value++
	case ecs.Has(s.World, e, m.heatID):
		m.heats.Remove(e)
	}
	if !ecs.Has(s.World, e, m.coolID) {
		m.cools.Assign(e, &cooldown{})
	}
}

// slow returns a speed after friction, which reaches 0.
func slow(v float32) float32 {
	if v = clamp(float32(v*.9), 49); v > -.2 && v < .2 {
		return 0
	}
	return v
}

func clamp(v, limit float32) float32 { return min(max(v, -limit), limit) }

// game is a server and clients on one virtual clock.
type game struct {
	t       *testing.T
	now     time.Duration
	link    transport.Link
	seed    uint64
	network *memory.Network
	links   []*transport.Conditioner
	server  *netcode.Server
	group   *systems.ServerSystems
	sim     *predict.Simulation
	rules   *mover
	world   *ecs.World
	loop    *systems.Runner
	address transport.Addr
	bodies  map[netcode.ClientID]ecs.Entity
	players []*player
	entered func(w *ecs.World, e ecs.Entity) // Nil, or called with each new body.
	keep    time.Duration                    // Config.Keep of the server.
	faulty  bool                             // The server is expected to report errors.
	faults  []error                          // Errors of the server.
}

// roaming is a connection whose address may change.
type roaming struct{ transport.Conn }

type player struct {
	client *netcode.Client
	conn   *roaming
	group  *systems.ClientSystems
	sim    *predict.Simulation
	rules  *mover
	world  *ecs.World
	loop   *systems.Runner
	random *rand.Rand
	act    func(*player) control // Its controls in a frame.
	skip   int                   // The number of frames that it hangs.
	wrong  []predict.Misprediction
	played map[predict.Effect]int
	cancel int
	told   []error // Errors of the client.
}

func (g *game) clock() time.Duration { return g.now }

func (g *game) socket() *transport.Conditioner {
	conn, err := g.network.Listen(transport.Addr{})
	require.NoError(g.t, err)
	c := transport.Condition(conn, g.link, g.seed^uint64(len(g.links))<<32, g.clock)
	g.links = append(g.links, c)
	return c
}

func (g *game) config(n int) netcode.Config {
	var key [32]byte
	key[0], key[1] = byte(g.seed), byte(n)
	return netcode.Config{Random: rand.NewChaCha8(key), Keep: g.keep}
}

// newEmptyGame is a game without a server.
func newEmptyGame(t *testing.T, link transport.Link, seed uint64) *game {
	return &game{t: t, link: link, seed: seed, network: memory.NewNetwork(), bodies: map[netcode.ClientID]ecs.Entity{}, rules: &mover{}}
}

func newGame(t *testing.T, link transport.Link, seed uint64, players int, config predict.Config) *game {
	p := newProtocol()
	g := newGameOf(t, p, link, seed, config, nil)
	for range players {
		g.join(p, config)
	}
	return g
}

// newGameOf is a game without players. entered is called with each new body.
func newGameOf(t *testing.T, p *netcode.Protocol, link transport.Link, seed uint64, config predict.Config, entered func(w *ecs.World, e ecs.Entity)) *game {
	g := newEmptyGame(t, link, seed)
	g.entered = entered
	socket := g.openServer(p)
	g.group = systems.NewServer(g.server, socket, g.clock)
	g.sim = predict.Simulate(g.group, config, g.rules)
	g.loop = systems.NewRunner(g.world, g.group, rate)
	return g
}

// openServer makes a server that gives each player a body.
func (g *game) openServer(p *netcode.Protocol) *transport.Conditioner {
	socket := g.socket()
	g.address = socket.LocalAddr()
	var err error
	g.server, err = netcode.NewServer(p, g.config(0))
	require.NoError(g.t, err)
	world := ecs.New()
	g.world = world
	bodies := generic.NewMap4[components.Replicated, components.Owner, position, velocity](world)
	g.server.OnConnect(func(client netcode.ClientID) {
		if world.Alive(g.bodies[client]) {
			return // The player has returned and has its body.
		}
		g.bodies[client] = bodies.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &position{X: float32(client)}, &velocity{})
		if g.entered != nil {
			g.entered(world, g.bodies[client])
		}
	})
	g.server.OnError(func(err error) {
		if g.faults = append(g.faults, err); !g.faulty {
			g.t.Errorf("server: %v", err)
		}
	})
	return socket
}

func (g *game) join(p *netcode.Protocol, config predict.Config) *player {
	return g.joinWith(p, config, nil)
}

// joinWith is join with a list of systems. nil in the list means the rules of the player.
func (g *game) joinWith(p *netcode.Protocol, config predict.Config, list ...predict.System) *player {
	world := ecs.New()
	client, err := netcode.NewClient(p, g.config(1+len(g.players)))
	require.NoError(g.t, err)
	one := &player{client: client, world: world, rules: &mover{}, played: map[predict.Effect]int{}, random: rand.New(rand.NewPCG(g.seed, uint64(len(g.players))))}
	one.conn = &roaming{g.socket()}
	one.group = systems.NewClient(client, one.conn, g.clock)
	for i := range list {
		if list[i] == nil {
			list[i] = one.rules
		}
	}
	one.sim = predict.Simulate(one.group, config, list...)
	one.sim.OnMisprediction(func(m predict.Misprediction) { one.wrong = append(one.wrong, m) })
	one.sim.OnEffect(func(e predict.Effect) { one.played[predict.Effect{Kind: e.Kind, Entity: e.Entity, Tick: e.Tick}]++ })
	one.sim.OnCancel(func(e predict.Effect) { one.cancel++ })
	client.OnError(func(err error) {
		if one.told = append(one.told, err); !errors.Is(err, predict.ErrMispredicts) {
			g.t.Errorf("client %d: %v", client.ID(), err)
		}
	})
	one.group.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
		if one.act != nil && client.State() == netcode.Connected {
			c := one.act(one)
			_ = input.Set(client, &c)
		}
	}))
	one.loop = systems.NewRunner(world, one.group, rate)
	require.NoError(g.t, client.Connect(g.address))
	g.players = append(g.players, one)
	return one
}

func (g *game) frame() {
	g.now += time.Second / rate
	g.loop.Step()
	for _, p := range g.players {
		if p.skip > 0 {
			p.skip--
			continue
		}
		p.loop.Step()
	}
}

func (g *game) run(frames int) {
	for range frames {
		g.frame()
	}
}

// heal makes the network perfect, waits until all entities rest, and compares the worlds.
func (g *game) heal() {
	for _, l := range g.links {
		l.SetLink(transport.Link{})
	}
	for _, p := range g.players {
		p.act = func(*player) control { return control{} }
	}
	g.run(8 * rate)
	for i, p := range g.players {
		require.Equal(g.t, netcode.Connected, p.client.State())
		d, differs := netecs.FirstDifferenceOf(g.server.Store(), netecs.VisibleTo(g.server, p.client.ID()), p.world, g.server.Protocol().Schema())
		require.False(g.t, differs, "client %d: %v", i, d)
	}
}

// wander returns the controls of a player that runs about and fires.
func wander(p *player) control {
	c := control{}
	if p.random.IntN(20) > 0 {
		c.X, c.Y = float32(p.random.IntN(3)-1), float32(p.random.IntN(3)-1)
	}
	c.Fire = p.random.IntN(15) == 0
	return c
}

// body returns a player's own entity in its world.
func (p *player) body(g *game) (e ecs.Entity) {
	id, ok := g.group.ID(g.bodies[p.client.ID()])
	if ok {
		e, _ = p.group.Entity(id)
	}
	return e
}

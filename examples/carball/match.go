package main

import (
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const frameRate = 60

// setting is one row of the table: a link of all players, and how they predict.
type setting struct {
	link    transport.Link
	delay   int // predict.Config.InputDelay
	relayed bool
}

// match is a server, its cars, a ball and the bots, in one process on one virtual clock.
type match struct {
	setting setting
	seed    uint64
	now     time.Duration
	wall    func() time.Duration // Nil: the clock is virtual.
	network *memory.Network
	sockets []*transport.Conditioner // The server's first.
	server  *netcode.Server
	world   *ecs.World
	loops   []*systems.Runner
	players []*player
	truth   map[netcode.NetworkID]map[netcode.Tick]Place
	boosts  boosts // That the server made.
	places  *generic.Filter2[components.Replicated, Place]
}

func (m *match) clock() time.Duration {
	if m.wall != nil {
		return m.wall()
	}
	return m.now
}

// show lets a browser look into the server at an address, and makes the match play in real time. Without an address it does nothing.
func (m *match) show(address string, out io.Writer) (stop func() error, err error) {
	if address != "" {
		m.wall = systems.WallClock()
	}
	m.loops[0].Group, stop, err = live.Show(m.loops[0].Group, address, out)
	return stop, err
}

// socket is an end of the network. Datagrams to it pass a link.
func (m *match) socket(link transport.Link) (*transport.Conditioner, error) {
	conn, err := m.network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	c := transport.Condition(conn, link, m.seed^uint64(len(m.sockets))<<32, m.clock)
	m.sockets = append(m.sockets, c)
	return c, nil
}

// config seeds what is drawn at random, so that each run is like the last one.
func (m *match) config(stream int) netcode.Config {
	var key [32]byte
	key[0], key[1], key[2] = byte(m.seed), byte(m.seed>>8), byte(stream)
	return netcode.Config{Random: rand.NewChaCha8(key)}
}

func newMatch(s setting, players int, seed uint64) (*match, error) {
	m := &match{
		setting: s, seed: seed, network: memory.NewNetwork(), truth: map[netcode.NetworkID]map[netcode.Tick]Place{}, boosts: boosts{},
		places: generic.NewFilter2[components.Replicated, Place](),
	}
	p := protocol(s.relayed)
	socket, err := m.socket(s.link)
	if err != nil {
		return nil, err
	}
	if m.server, err = netcode.NewServer(p, m.config(0)); err != nil {
		return nil, err
	}
	world := ecs.NewWorld()
	m.world = &world
	group := systems.NewServer(m.server, socket, m.clock)
	owner := ecs.ComponentID[components.Owner](&world)
	predict.Simulate(group, predict.Config{}, predict.Func(m.note), newPhysics()).OnEffect(func(e predict.Effect) {
		m.boosts[boost{(*components.Owner)(world.Get(e.Entity, owner)).Client, e.Tick}]++
	})
	m.loops = append(m.loops, systems.NewRunner(&world, group, frameRate))
	ball := generic.NewMap4[components.Replicated, components.Predicted, Place, Motion](&world)
	ball.NewWith(&components.Replicated{}, &components.Predicted{}, &Place{}, &Motion{})
	cars := generic.NewMap5[components.Replicated, components.Predicted, components.Owner, Place, Motion](&world)
	m.server.OnConnect(func(client netcode.ClientID) {
		angle := float64(client) * 2.4
		cars.NewWith(&components.Replicated{}, &components.Predicted{}, &components.Owner{Client: client},
			&Place{X: float32(14 * math.Cos(angle)), Y: float32(14 * math.Sin(angle)), Angle: float32(math.Remainder(angle+math.Pi, 2*math.Pi))}, &Motion{})
	})
	for range players {
		if err := m.join(p, socket.LocalAddr()); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// join adds a bot with a world of its own.
func (m *match) join(p *netcode.Protocol, server transport.Addr) error {
	n := len(m.players)
	client, err := netcode.NewClient(p, m.config(1+n))
	if err != nil {
		return err
	}
	socket, err := m.socket(m.setting.link)
	if err != nil {
		return err
	}
	world := ecs.NewWorld()
	one := &player{
		client: client, world: &world, boosts: boosts{}, random: rand.New(rand.NewPCG(m.seed, uint64(n))),
		shown: generic.NewFilter2[components.Replicated, components.Smooth[Place]](), owner: ecs.ComponentID[components.Owner](&world),
	}
	group := systems.NewClient(client, socket, m.clock)
	group.Add(tick.PreUpdate, systems.Func(one.act))
	one.sim = predict.Simulate(group, predict.Config{InputDelay: m.setting.delay}, newPhysics())
	one.sim.OnEffect(one.countBoost)
	one.sim.OnCancel(one.cancelBoost)
	group.Add(tick.PostLateUpdate, systems.Func(one.look))
	m.players = append(m.players, one)
	m.loops = append(m.loops, systems.NewRunner(&world, group, frameRate))
	return client.Connect(server)
}

// note notes where everything is at the end of a tick, for the report: what travels is what the next step begins with.
func (m *match) note(s *predict.Step) {
	query := m.places.Query(s.World)
	for query.Next() {
		r, at := query.Get()
		if m.truth[r.ID] == nil {
			m.truth[r.ID] = map[netcode.Tick]Place{}
		}
		m.truth[r.ID][s.Tick-1] = *at
	}
}

// run runs frames of everyone.
func (m *match) run(frames int) {
	for range frames {
		m.now += time.Second / frameRate
		if m.wall != nil {
			time.Sleep(m.now - m.wall())
		}
		for _, loop := range m.loops {
			loop.Step()
		}
	}
}

// play runs the match, then heals the network, lets all stand still and compares the worlds.
func (m *match) play(seconds int) row {
	m.run(seconds * frameRate)
	r := m.measure(seconds)
	for _, p := range m.players {
		p.still = true
	}
	for _, s := range m.sockets {
		s.SetLink(transport.Link{Delay: m.setting.link.Delay})
	}
	m.run(7 * frameRate)
	r.Converged = true
	for _, p := range m.players {
		m.addBoosts(&r, p)
		_, differs := netecs.FirstDifference(m.server.Store(), nil, p.world, m.server.Protocol().Schema())
		r.Converged = r.Converged && p.client.State() == netcode.Connected && !differs
	}
	return r
}

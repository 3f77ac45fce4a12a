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
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const frameRate = 60

// match is a server, its host and the bots, in one process on one virtual clock.
type match struct {
	options options
	now     time.Duration
	network *memory.Network
	sockets []*transport.Conditioner // The server's first.
	server  *netcode.Server
	group   *systems.ServerSystems
	loops   []*systems.Runner
	players []*player // The host first.
	bodies  generic.Map5[components.Replicated, components.Owner, Position, Rise, Tally]
	avatars map[netcode.ClientID]ecs.Entity
	judged  map[netcode.ClientID][]verdict
	truth   map[netcode.ClientID]map[netcode.Tick]Position
	seen    []body // For judge alone.
	settles bool   // The match is over.

	wall func() time.Duration // Nil: the clock is virtual.

	stopRecording func() error // Nil: it is not recorded.
}

// verdict has the targets that the server found for a shot: with the targets where the shooter saw them and the muzzle where its
// body is; with that rewound, too; and with all of them where they are now. Zero is nobody.
type verdict struct {
	tick                     netcode.Tick
	rewound, muzzle, present netcode.NetworkID
}

func (m *match) clock() time.Duration {
	if m.wall != nil {
		return m.wall()
	}
	return m.now
}

// show lets a browser look into the server, and into the client of the first bot, if that was asked for, and makes the match play in real time.
func (m *match) show(out io.Writer) (err error) {
	if m.options.inspect == "" && m.options.client == "" {
		return nil
	}
	m.wall = systems.WallClock()
	m.loops[0].Group, _, err = live.Show(m.loops[0].Group, m.options.inspect, out) // The pages end with the program.
	if err == nil {
		_, err = live.ShowClient(m.loops[1].Group.(*systems.ClientSystems), m.players[1].sim, m.options.client, out)
	}
	return err
}

// socket is an end of the network. Datagrams to it pass a link.
func (m *match) socket(link transport.Link) (*transport.Conditioner, error) {
	conn, err := m.network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	c := transport.Condition(conn, link, m.options.seed^uint64(len(m.sockets))<<32, m.clock)
	m.sockets = append(m.sockets, c)
	return c, nil
}

// config seeds what is drawn at random, so that each run is like the last one.
func (m *match) config(stream uint64) netcode.Config {
	var key [32]byte
	key[0], key[1], key[2] = byte(m.options.seed), byte(m.options.seed>>8), byte(stream)
	return netcode.Config{Random: rand.NewChaCha8(key)}
}

func newMatch(o options) (*match, error) {
	p := protocol()
	if o.provoke {
		predict.Explain(p)
	}
	world := ecs.NewWorld()
	m, err := newServer(o, p, &world)
	if err != nil {
		return nil, err
	}
	if o.file != nil {
		if m.stopRecording, err = record.Start(m.server, o.file, record.Inputs()); err != nil {
			return nil, err
		}
	}
	socket, err := m.socket(transport.Link{})
	if err != nil {
		return nil, err
	}
	player, err := m.newPlayer(p, &world, transport.Link{}, lookAt(&world, func(at *Position) Position { return *at }))
	if err != nil {
		return nil, err
	}
	host, err := systems.NewHost(m.server, player.client, socket, m.clock)
	if err != nil {
		return nil, err
	}
	m.group = host.ServerSystems
	host.Add(tick.PreUpdate, systems.Func(player.decide))
	player.watch(predict.Simulate(host, predict.Config{}, rules(m.note, m.judge, m.gusts())...))
	host.Add(tick.PostLateUpdate, systems.Func(player.watchSelf))
	m.loops = append(m.loops, systems.NewRunner(&world, host, frameRate))
	for range o.bots {
		for _, link := range o.links() {
			if err := m.join(p, socket, link); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// newServer makes the server of a match, whose world is empty.
func newServer(o options, p *netcode.Protocol, world *ecs.World) (m *match, err error) {
	m = &match{
		options: o, network: memory.NewNetwork(), avatars: map[netcode.ClientID]ecs.Entity{},
		judged: map[netcode.ClientID][]verdict{}, truth: map[netcode.ClientID]map[netcode.Tick]Position{},
	}
	if m.server, err = netcode.NewServer(p, m.config(0)); err != nil {
		return nil, err
	}
	rewind.Limit(m.server, time.Second) // A round trip of 300 ms and what is shown behind it.
	m.bodies = generic.NewMap5[components.Replicated, components.Owner, Position, Rise, Tally](world)
	m.server.OnConnect(m.enter)
	return m, nil
}

// verify plays a recorded match once more from its inputs, without players, and returns the first difference.
func verify(o options, file io.Reader) (*record.Difference, error) {
	world := ecs.NewWorld()
	m, err := newServer(o, protocol(), &world)
	if err != nil {
		return nil, err
	}
	socket, err := m.socket(transport.Link{})
	if err != nil {
		return nil, err
	}
	m.group = systems.NewServer(m.server, socket, m.clock)
	predict.Simulate(m.group, predict.Config{}, rules(m.note, m.judge, m.gusts())...)
	loop := systems.NewRunner(&world, m.group, frameRate)
	return record.Replay(m.server, file, func(now time.Duration) {
		m.now = now
		loop.Step()
	})
}

// gusts tells whether gusts blow now; it is nil in a match without any.
func (m *match) gusts() func() bool {
	if !m.options.provoke {
		return nil
	}
	return func() bool { return !m.settles }
}

// newPlayer makes a player who looks at the world in one way or another.
func (m *match) newPlayer(p *netcode.Protocol, w *ecs.World, link transport.Link, look func(see func(body))) (*player, error) {
	n := uint64(len(m.players))
	client, err := netcode.NewClient(p, m.config(1+n))
	if err != nil {
		return nil, err
	}
	one := &player{
		client: client, link: link, world: w, now: m.clock, look: look, places: generic.NewMap1[Position](w),
		random: rand.New(rand.NewPCG(m.options.seed, n)), heading: float64(n),
	}
	m.players = append(m.players, one)
	return one, nil
}

// join adds a bot with a world and a link of its own.
func (m *match) join(p *netcode.Protocol, server *transport.Conditioner, link transport.Link) error {
	world := ecs.NewWorld()
	player, err := m.newPlayer(p, &world, link, lookAt(&world, func(at *components.Smooth[Position]) Position { return at.Value }))
	if err != nil {
		return err
	}
	socket, err := m.socket(link)
	if err != nil {
		return err
	}
	server.SetLinkFrom(socket.LocalAddr(), link)
	group := systems.NewClient(player.client, socket, m.clock)
	group.Add(tick.PreUpdate, systems.Func(player.decide))
	player.watch(predict.Simulate(group, predict.Config{}, rules(nil, nil, m.gusts())...))
	group.Add(tick.PostLateUpdate, systems.Func(player.watchSelf))
	m.loops = append(m.loops, systems.NewRunner(&world, group, frameRate))
	return player.client.Connect(server.LocalAddr())
}

// enter gives a player a body.
func (m *match) enter(client netcode.ClientID) {
	angle := float64(client) * 2.4
	m.truth[client] = map[netcode.Tick]Position{}
	m.avatars[client] = m.bodies.NewWith(&components.Replicated{}, &components.Owner{Client: client},
		&Position{X: float32(10 * math.Cos(angle)), Y: float32(10 * math.Sin(angle))}, &Rise{}, &Tally{})
}

// note notes where everybody is at the end of a tick, for the report: what travels is what the next step begins with.
func (m *match) note(s *predict.Step) {
	for client := range m.server.Clients {
		_, _, at, _, _ := m.bodies.Get(m.avatars[client])
		m.truth[client][s.Tick-1] = *at
	}
}

// judge finds whom a shot hits, in what its shooter saw. The muzzle is where the shooter's body is in this tick: its player predicts
// it, and sees it there, too. The targets are rewound.
func (m *match) judge(s *predict.Step, client netcode.ClientID, here Position, c Control) {
	mine := m.avatars[client]
	own, _ := m.group.ID(mine)
	v := verdict{tick: s.Tick}
	rewind.At(m.server, client, func(view *rewind.View) {
		m.seen = m.seen[:0]
		muzzle := here
		for id := range view.All {
			if at, ok := rewind.Of[Position](view, id); ok {
				m.seen = append(m.seen, body{id: id, at: at})
				if id == own {
					muzzle = at
				}
			}
		}
		v.rewound = shoot(here, c.Aim, c.Pitch, own, m.seen)
		v.muzzle = shoot(muzzle, c.Aim, c.Pitch, own, m.seen)
	})
	m.seen = m.seen[:0]
	for other := range m.server.Clients {
		id, _ := m.group.ID(m.avatars[other])
		_, _, at, _, _ := m.bodies.Get(m.avatars[other])
		m.seen = append(m.seen, body{id: id, at: *at})
	}
	v.present = shoot(here, c.Aim, c.Pitch, own, m.seen)
	m.judged[client] = append(m.judged[client], v)
	if hit, ok := m.group.Entity(v.rewound); ok {
		_, _, _, _, score := m.bodies.Get(mine)
		score.Hits++
		_, _, _, _, theirs := m.bodies.Get(hit)
		theirs.Taken++
	}
}

// step runs one frame of everyone.
func (m *match) step() {
	m.now += time.Second / frameRate
	if m.wall != nil {
		time.Sleep(m.now - m.wall())
	}
	for _, loop := range m.loops {
		loop.Step()
	}
}

// play runs the match, then lets all stand still and compares the worlds.
func (m *match) play() result {
	for range m.options.seconds * frameRate {
		m.step()
	}
	m.settles = true
	for i, p := range m.players {
		p.still = true
		m.sockets[i].SetLink(transport.Link{Delay: p.link.Delay})
		m.sockets[0].SetLinkFrom(m.sockets[i].LocalAddr(), transport.Link{Delay: p.link.Delay})
	}
	for range 4 * frameRate {
		m.step()
	}
	return m.result()
}

// converged tells if a bot's world is the server's.
func (m *match) converged(p *player) bool {
	if p.client.State() != netcode.Connected {
		return false
	}
	_, differs := netecs.FirstDifference(m.server.Store(), nil, p.world, m.server.Protocol().Schema())
	return !differs
}

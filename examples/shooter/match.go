package main

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	frameRate = 60
	speed     = 6   // m/s
	radius    = .4  // of a body, in metres
	halfWidth = 30. // of the field, in metres
)

// match is a server, its host and the bots, in one process on one virtual clock.
type match struct {
	options options
	now     time.Duration
	network *memory.Network
	link    []*transport.Conditioner
	server  *netcode.Server
	host    *systems.HostSystems
	worlds  []*ecs.World // The server's first.
	loops   []*systems.Runner
	players []*player // The host first.
	bodies  generic.Map4[components.Replicated, components.Owner, Position, Tally]
	avatars map[netcode.ClientID]ecs.Entity
	judged  map[netcode.ClientID][]verdict // Of each player's shots, in their order.
	seen    []body                         // For judge alone.
}

// verdict has the targets that the server found for a shot: with all bodies where the shooter saw them; with the shooter's own, from
// which the shot comes, where it is now; and with all of them where they are now. Zero is nobody.
type verdict struct{ rewound, muzzle, present netcode.NetworkID }

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Tally](p)
	netcode.Replicate[components.Owner](p)
	interpolate.Register[Position](p)
	input.Register[Control](p)
	return p
}

func (m *match) clock() time.Duration { return m.now }

// socket is an end of the network. Datagrams to it pass the bad link.
func (m *match) socket(stream uint64) (*transport.Conditioner, error) {
	conn, err := m.network.Listen(netip.AddrPort{})
	if err != nil {
		return nil, err
	}
	c := transport.Condition(conn, m.options.link, m.options.seed^stream<<32, m.clock)
	m.link = append(m.link, c)
	return c, nil
}

// config seeds what is drawn at random, so that each run is like the last one.
func (m *match) config(stream uint64) netcode.Config {
	var key [32]byte
	key[0], key[1], key[2] = byte(m.options.seed), byte(m.options.seed>>8), byte(stream)
	return netcode.Config{Random: rand.NewChaCha8(key)}
}

func newMatch(o options) (*match, error) {
	m := &match{options: o, network: memory.NewNetwork(), avatars: map[netcode.ClientID]ecs.Entity{}, judged: map[netcode.ClientID][]verdict{}}
	p := protocol()
	socket, err := m.socket(0)
	if err != nil {
		return nil, err
	}
	if m.server, err = netcode.NewServer(p, m.config(0)); err != nil {
		return nil, err
	}
	world := ecs.NewWorld()
	m.worlds = append(m.worlds, &world)
	m.bodies = generic.NewMap4[components.Replicated, components.Owner, Position, Tally](&world)
	m.server.OnConnect(m.enter)
	player, err := m.newPlayer(p, lookAt(&world, func(at *Position) Position { return *at }))
	if err != nil {
		return nil, err
	}
	if m.host, err = systems.NewHost(m.server, player.client, socket, m.clock); err != nil {
		return nil, err
	}
	m.host.Add(netcode.StagePreUpdate, player)
	m.host.Add(netcode.StageUpdate, m)
	m.loops = append(m.loops, systems.NewRunner(&world, m.host, frameRate))
	for range o.bots {
		if err := m.join(p, socket.LocalAddr()); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// newPlayer makes a player who looks at the world in one way or another.
func (m *match) newPlayer(p *netcode.Protocol, look func(see func(body))) (*player, error) {
	n := uint64(len(m.players))
	client, err := netcode.NewClient(p, m.config(1+n))
	if err != nil {
		return nil, err
	}
	one := &player{client: client, random: rand.New(rand.NewPCG(m.options.seed, n)), look: look, heading: float64(n)}
	m.players = append(m.players, one)
	return one, nil
}

// join adds a bot with a world of its own.
func (m *match) join(p *netcode.Protocol, server netip.AddrPort) error {
	world := ecs.NewWorld()
	player, err := m.newPlayer(p, lookAt(&world, func(at *components.Smooth[Position]) Position { return at.Value }))
	if err != nil {
		return err
	}
	socket, err := m.socket(uint64(len(m.players)))
	if err != nil {
		return err
	}
	group := systems.NewClient(player.client, socket, m.clock)
	group.Add(netcode.StagePreUpdate, player)
	m.worlds = append(m.worlds, &world)
	m.loops = append(m.loops, systems.NewRunner(&world, group, frameRate))
	return player.client.Connect(server)
}

// enter gives a player a body.
func (m *match) enter(client netcode.ClientID) {
	angle := float64(client) * 2.4
	m.avatars[client] = m.bodies.NewWith(&components.Replicated{}, &components.Owner{Client: client},
		&Position{X: float32(10 * math.Cos(angle)), Y: float32(10 * math.Sin(angle))}, &Tally{})
}

// step runs one frame of everyone.
func (m *match) step() {
	m.now += time.Second / frameRate
	for _, loop := range m.loops {
		loop.Step()
	}
}

// play runs the match, then lets all stand still and compares the worlds.
func (m *match) play() result {
	for range m.options.seconds * frameRate {
		m.step()
	}
	for _, p := range m.players {
		p.still = true
	}
	for _, link := range m.link {
		link.SetLink(transport.Link{Delay: m.options.link.Delay})
	}
	for range 4 * frameRate {
		m.step()
	}
	return m.result()
}

// converged tells if every bot's world is the server's.
func (m *match) converged() bool {
	schema := m.server.Protocol().Schema()
	for i, p := range m.players[1:] {
		if p.client.State() != netcode.Connected {
			return false
		}
		if _, differs := netecs.FirstDifference(m.server.Store(), nil, m.worlds[1+i], schema); differs {
			return false
		}
	}
	return true
}

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// table is a server and players in one process. Time goes on by run alone.
type table struct {
	out     io.Writer
	now     time.Duration
	network *memory.Network
	match   *rules.Match
	sim     *predict.Simulation
	server  *systems.Runner
	address transport.Addr
	players []*player
	each    func() // Called in each frame; may be nil.
}

// player is a client.
type player struct {
	*rules.Player
	name    string
	view    *view.View
	loop    *systems.Runner
	control rules.Control
	gone    bool // Its program has crashed.
}

func newTable(out io.Writer, o rules.Options) (*table, error) {
	t := &table{out: out, network: memory.NewNetwork()}
	socket, err := t.socket(1)
	if err != nil {
		return nil, err
	}
	t.address = socket.LocalAddr()
	server, err := netcode.NewServer(rules.Protocol(), rules.ServerConfig())
	if err != nil {
		return nil, err
	}
	world := ecs.NewWorld()
	group := systems.NewServer(server, socket, t.clock)
	t.match = rules.Serve(group, &world, o)
	t.sim = predict.Simulate(group, predict.Config{}, t.match.Rules.Systems()...)
	t.server = systems.NewRunner(&world, group, rules.TickRate)
	return t, nil
}

func (t *table) clock() time.Duration { return t.now }

func (t *table) socket(seed uint64) (*transport.Conditioner, error) {
	conn, err := t.network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	return transport.Condition(conn, transport.Link{Delay: 50 * time.Millisecond, Loss: .025}, seed, t.clock), nil
}

// join adds a player, or a spectator, and waits until it sees the arena.
func (t *table) join(name string, watch bool) (*player, error) {
	socket, err := t.socket(uint64(2 + len(t.players)))
	if err != nil {
		return nil, err
	}
	client, err := netcode.NewClient(rules.Protocol(), rules.ClientConfig())
	if err != nil {
		return nil, err
	}
	world := ecs.NewWorld()
	group := systems.NewClient(client, socket, t.clock)
	p := &player{name: name, Player: rules.Join(group, &world)}
	p.view = view.New(p.Player)
	p.Act = func() rules.Control {
		c := p.control
		p.control.Rail, p.control.Dash = false, false // Pressed once.
		return c
	}
	netcode.On(client, func(_ *netcode.Context, n *rules.News) {
		if n.Kind == rules.Chat {
			t.say("%s reads: %s: %s", name, n.Who.String(), n.Text.String())
		}
	})
	netcode.On(client, func(*netcode.Context, *rules.Mark) {})
	p.loop = systems.NewRunner(&world, group, rules.TickRate)
	t.players = append(t.players, p)
	if err := client.ConnectWith(t.address, rules.Payload("the secret of "+name+" ....", name, watch)); err != nil {
		return nil, err
	}
	return p, t.until(name+" sees the arena", func() bool {
		s := p.view.Scene()
		return len(s.Avatars) > 0 && (watch || s.Own >= 0)
	})
}

// frame is a sixtieth of a second.
func (t *table) frame() {
	t.now += time.Second / rules.TickRate
	t.server.Step()
	for _, p := range t.players {
		if !p.gone {
			p.loop.Step()
		}
	}
	if t.each != nil {
		t.each()
	}
}

func (t *table) run(d time.Duration) {
	for end := t.now + d; t.now < end; {
		t.frame()
	}
}

// until runs until something holds, for a minute at most.
func (t *table) until(what string, holds func() bool) error {
	for end := t.now + time.Minute; !holds(); t.frame() {
		if t.now > end {
			return fmt.Errorf("%s: it does not happen", what)
		}
	}
	return nil
}

func (t *table) say(format string, args ...any) {
	_, _ = fmt.Fprintf(t.out, "%6d ms  %s\n", t.now.Milliseconds(), fmt.Sprintf(format, args...))
}

// shown is an avatar as a player's screen has it, and of is one at the server.
func (p *player) shown(name string) (a view.Shown) {
	for _, a := range p.view.Scene().Avatars {
		if a.Name.Is(name) {
			return a
		}
	}
	return a
}

func (t *table) of(name string) (a rules.Seen) {
	all, _ := t.match.Rules.Look(t.match.Rules.Place)
	for _, a := range all {
		if a.Name.Is(name) {
			return a
		}
	}
	return a
}

// walk lets a player walk to a place.
func (t *table) walk(p *player, to rules.Body) error {
	return t.until(p.name+" walks", func() bool {
		at := p.shown(p.name)
		p.control.X, p.control.Y = rules.Unit(to.X-at.X, to.Y-at.Y, 0, 0)
		if rules.Length(to.X-at.X, to.Y-at.Y) < 0.3 {
			p.control = rules.Control{}
			return true
		}
		return false
	})
}

package handover_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const rate = 30

// hero is the body of a player, and what it carries.
type hero struct {
	Player uint32
	X      int32  // moved by its inputs
	Last   uint32 // the newest input that moved it
	Gold   uint32
}

// sun changes in each tick, so that each tick has news.
type sun struct{ Tick uint32 }

// stick is an input: its number counts the frames of the client.
type stick struct {
	Frame uint32
	Move  int32
}

// chat is a reliable message with a number that no other has.
type chat struct{ Number uint32 }

// newProtocol makes the game's protocol.
func newProtocol(more ...func(*netcode.Protocol)) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[hero](p)
	predict.Register[hero](p)
	netcode.Replicate[sun](p)
	netcode.Replicate[components.Owner](p)
	input.Register[stick](p)
	netcode.Handle[chat](p, nil, netcode.Over(netcode.ReliableOrdered))
	handover.Register(p)
	for _, f := range more {
		f(p)
	}
	return p
}

// steer moves heroes by inputs, at servers and clients.
type steer struct {
	filter *generic.Filter3[components.Simulate, components.Owner, hero]
	used   func(player, frame uint32) // at a server
	doubt  func(client netcode.ClientID) bool
}

func newSteer(w *ecs.World) *steer {
	return &steer{filter: generic.NewFilter3[components.Simulate, components.Owner, hero]()}
}

// Step implements predict.System.
func (m *steer) Step(s *predict.Step) {
	query := m.filter.Query(s.World)
	for query.Next() {
		_, owner, h := query.Get()
		if in, ok := predict.Input[stick](s, owner.Client); ok {
			m.move(h, in, owner.Client)
		}
	}
}

// move moves a hero.
func (m *steer) move(h *hero, in stick, client netcode.ClientID) {
	h.X += in.Move
	h.Last = in.Frame
	if m.used != nil && !m.doubt(client) {
		m.used(h.Player, in.Frame)
	}
}

// node is a server.
type node struct {
	rig     *rig
	address transport.Addr
	world   *ecs.World
	group   *systems.ServerSystems
	server  *netcode.Server
	mover   *handover.Server
	loop    *systems.Runner
	conn    transport.Conn
	heroes  generic.Map1[hero]
	steer   *steer
	life    int
	hosts   bool              // it has a player in its process
	p       *netcode.Protocol // nil: that of the rig
}

// player is a client.
type player struct {
	rig    *rig
	number int
	mover  *handover.Client
	loop   *systems.Runner
	frame  uint32
	opened int
}

// rig is servers and clients on one clock.
type rig struct {
	t       testing.TB
	seed    uint64
	random  *rand.Rand
	network *memory.Network
	link    transport.Link
	now     time.Duration
	frames  int
	nodes   []*node
	players []*player
	model   *model
	config  func(c *handover.Config)
	p       *netcode.Protocol
	listen  func(n *node) transport.Conn                                 // wraps the socket of a server; may be nil
	dial    func(c transport.Conn, token []byte) (transport.Conn, error) // wraps the socket of a client; may be nil
	token   func(server string, user string) []byte                      // may be nil
	ends    uint64
	watch   func(c *netcode.Client) // may be nil
	guests  []*systems.Runner
	quiet   bool     // nobody sends messages
	later   []func() // for the beginning of the next frame
}

var quiet = slog.New(slog.DiscardHandler)

func newRig(t testing.TB, seed uint64, servers, players int, link transport.Link) *rig {
	r := &rig{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), network: memory.NewNetwork(), link: link, p: newProtocol()}
	r.model = newModel(r)
	t.Cleanup(func() {
		if t.Failed() && r.frames > 0 {
			t.Logf("seed %d, frame %d", seed, r.frames)
		}
	})
	for i := range servers {
		n := &node{rig: r, address: transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(1000+i)))}
		r.nodes = append(r.nodes, n)
		conn, err := r.network.Listen(n.address)
		require.NoError(t, err)
		n.conn = transport.Condition(conn, link, seed^uint64(i+1)<<32, r.clock)
	}
	for i := range players {
		r.players = append(r.players, &player{rig: r, number: i})
	}
	return r
}

// destination returns the destination of a player at a server.
func (r *rig) destination(n *node, number int) handover.Destination {
	to := handover.Destination{Server: n.address.String()}
	if r.token != nil {
		to.Token = r.token(to.Server, fmt.Sprintf("player %d", number))
	}
	return to
}

func (r *rig) clock() time.Duration { return r.now }

// bytes returns a seeded stream.
func (r *rig) bytes() *rand.ChaCha8 {
	r.ends++
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], r.seed)
	binary.LittleEndian.PutUint64(seed[8:], r.ends)
	return rand.NewChaCha8(seed)
}

// start starts the servers and the clients.
func (r *rig) start() {
	for _, n := range r.nodes {
		if r.listen != nil {
			n.conn = r.listen(n)
		}
		n.start()
	}
	for i, p := range r.players {
		p.start(r.nodes[i%len(r.nodes)])
	}
}

// start starts a server, also after a crash: it has forgotten everything.
func (n *node) start() {
	r := n.rig
	n.life++
	server, err := netcode.NewServer(n.protocol(), netcode.Config{Random: r.bytes(), Logger: quiet, ResetKey: [32]byte{1}})
	require.NoError(r.t, err)
	n.server, n.world = server, ecs.New()
	var group systems.Group
	var host *systems.HostSystems
	if n.hosts {
		player, err := netcode.NewClient(n.protocol(), netcode.Config{Random: r.bytes(), Logger: quiet})
		require.NoError(r.t, err)
		host, err = systems.NewHost(server, player, n.conn, r.clock)
		require.NoError(r.t, err)
		host.Payload = []byte("player 99")
		n.group, group = host.ServerSystems, host
	} else {
		n.group = systems.NewServer(server, n.conn, r.clock)
		group = n.group
	}
	n.heroes = generic.NewMap1[hero](n.world)
	config := handover.Config{Key: [32]byte{7}, Random: r.bytes(), Ask: n.ask}
	if r.config != nil {
		r.config(&config)
	}
	n.mover = handover.Attach(n.group, config)
	n.steer = newSteer(n.world)
	n.steer.used, n.steer.doubt = r.model.used(n), n.mover.Held
	if host != nil {
		predict.Simulate(host, predict.Config{}, n.steer)
	} else {
		predict.Simulate(n.group, predict.Config{}, n.steer)
	}
	n.mover.OnApprove(func(a *netcode.Approval) { a.Accept(cmp.Or(a.User, string(a.Payload))) })
	spawn := generic.NewMap3[components.Replicated, components.Owner, hero](n.world)
	server.OnConnect(func(client netcode.ClientID) {
		if n.mover.Arriving(client) {
			return
		}
		var number uint32
		_, err := fmt.Sscanf(server.Identity(client), "player %d", &number)
		require.NoError(r.t, err)
		r.model.loggedIn(n, number)
		spawn.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &hero{Player: number, Gold: 100 + number})
	})
	n.mover.OnArrive(func(a *handover.Arrival) {
		require.Len(r.t, a.Entities, 1)
		h := n.heroes.Get(a.Entities[0])
		r.model.arrived(n, h)
		for t := range a.Missed {
			if in, ok := input.At[stick](server, a.Client, t); ok {
				n.steer.move(h, in, a.Client)
			}
		}
	})
	n.mover.OnEnd(func(client netcode.ClientID, outcome handover.Outcome, err error) {
		r.model.ended(n, client, outcome, err)
	})
	n.mover.OnUndelivered(func(u *handover.Undelivered) { r.model.undelivered(server, u) })
	server.OnError(func(err error) { r.model.told(n.address.String(), err) })
	netcode.On(server, func(ctx *netcode.Context, m *chat) { r.model.handled(m.Number) })
	suns := generic.NewMap2[components.Replicated, sun](n.world)
	one := suns.NewWith(&components.Replicated{}, &sun{})
	n.group.Add(tick.Update, systems.Func(func(*ecs.World) {
		_, s := suns.Get(one)
		s.Tick = uint32(server.Tick())
	}))
	n.loop = systems.NewRunner(n.world, group, rate)
}

// protocol returns the protocol of the server's build.
func (n *node) protocol() *netcode.Protocol { return cmp.Or(n.p, n.rig.p) }

// ask asks another server by a line that takes two frames.
func (n *node) ask(to string, id handover.ID, answer func(bool)) {
	r, life := n.rig, n.life
	r.later = append(r.later, func() {
		for _, other := range r.nodes {
			if other.address.String() == to {
				arrived := other.mover.Void(id)
				r.later = append(r.later, func() {
					if n.life == life {
						answer(arrived)
					}
				})
			}
		}
	})
}

// start makes a client that plays on a server.
func (p *player) start(n *node) {
	p.mover = handover.NewClient(p.open)
	p.loop = systems.NewRunner(nil, p.mover, rate)
	p.mover.OnSwitch(func(from, to *handover.Session) { p.rig.model.switched(p, from, to) })
	p.mover.OnFail(func(err error) { p.rig.model.failed(p, err) })
	p.mover.OnUndelivered(func(of *handover.Session, u *handover.Undelivered) { p.rig.model.undelivered(of.Systems.Client, u) })
	p.mover.Start(p.rig.destination(n, p.number))
}

// open implements handover.Open.
func (p *player) open(to handover.Destination, done func(*handover.Session, error)) {
	r := p.rig
	address, err := transport.ParseAddr(to.Server)
	if err != nil {
		done(nil, err)
		return
	}
	inner, err := r.network.Listen(transport.Addr{})
	require.NoError(r.t, err)
	p.opened++
	var conn transport.Conn = transport.Condition(inner, r.link, r.seed^uint64(p.number*1000+p.opened), r.clock)
	if r.dial != nil {
		if conn, err = r.dial(conn, to.Token); err != nil {
			done(nil, err)
			return
		}
	}
	client, err := netcode.NewClient(r.p, netcode.Config{Random: r.bytes(), Logger: quiet})
	require.NoError(r.t, err)
	s := &handover.Session{
		Systems: systems.NewClient(client, conn, r.clock), World: ecs.New(), Server: address,
		Payload: fmt.Appendf(nil, "player %d", p.number), Close: func() { _ = conn.Close() },
	}
	if r.watch != nil {
		r.watch(client)
	}
	client.OnError(func(err error) { r.model.told(fmt.Sprintf("player %d", p.number), err) })
	netcode.On(client, func(ctx *netcode.Context, m *chat) { r.model.handled(m.Number) })
	s.Systems.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
		require.NoError(r.t, input.Set(client, &stick{Frame: p.frame, Move: 1}))
	}))
	predict.Simulate(s.Systems, predict.Config{}, newSteer(s.World))
	done(s, nil)
}

// hero returns the player's own hero in the world that it sees.
func (p *player) hero() (h hero, ok bool) {
	s := p.mover.Shown()
	if s == nil {
		return h, false
	}
	query := generic.NewFilter2[components.Owner, hero]().Query(s.World)
	for query.Next() {
		owner, at := query.Get()
		if owner.Client == s.Systems.Client.ID() {
			h, ok = *at, true
		}
	}
	return h, ok
}

// step runs a frame of all.
func (r *rig) step() {
	r.frames++
	r.now = time.Duration(r.frames) * time.Second / rate
	later := r.later
	r.later = nil
	for _, f := range later {
		f()
	}
	if !r.quiet {
		r.chatter()
	}
	for _, n := range r.nodes {
		n.loop.Step()
	}
	for _, p := range r.players {
		p.frame++
		p.loop.Step()
	}
	for _, g := range r.guests {
		g.Step()
	}
	r.model.check()
}

// id returns the id of the move that the first server has begun.
func (r *rig) id(pass []byte) uint64 { return handover.PassID([32]byte{7}, pass) }

// query finds the heroes of a server.
func (n *node) query() generic.Query1[hero] { return generic.NewFilter1[hero]().Query(n.world) }

// run runs frames until a condition holds.
func (r *rig) run(limit time.Duration, until func() bool) bool {
	for end := r.now + limit; r.now < end; {
		if r.step(); until() {
			return true
		}
	}
	return false
}

// clientOf returns the id of a player at a server, if it is connected.
func (n *node) clientOf(number int) (netcode.ClientID, bool) {
	for client := range n.server.Clients {
		if n.server.Identity(client) == fmt.Sprintf("player %d", number) && !n.mover.Moved(client) && !n.mover.Arriving(client) {
			return client, true
		}
	}
	return 0, false
}

// clients returns the connected clients.
func (n *node) clients() (list []netcode.ClientID) {
	for client := range n.server.Clients {
		list = append(list, client)
	}
	return list
}

// chatter sends reliable messages now and then, in both directions.
func (r *rig) chatter() {
	for _, n := range r.nodes {
		for client := range n.server.Clients {
			if r.random.IntN(20) == 0 {
				r.model.send(n.server, netcode.To(client), n)
			}
		}
	}
	for _, p := range r.players {
		if s := p.mover.Shown(); s != nil && s.Systems.Client.State() == netcode.Connected && r.random.IntN(10) == 0 {
			r.model.send(s.Systems.Client, netcode.ToServer(), r.at(s.Server))
		}
	}
}

// at returns the server of an address.
func (r *rig) at(address transport.Addr) *node {
	for _, n := range r.nodes {
		if n.address == address {
			return n
		}
	}
	return nil
}

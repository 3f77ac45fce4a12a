package nettest

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Server is the server of a Net.
type Server struct {
	*netcode.Server
	World   *netecs.World          // the server's world
	Systems *systems.ServerSystems // systems in that world
	Host    *systems.HostSystems   // with Config.Host the player at the server, with its View; else nil
	loop    *systems.Runner
	tap     *tap
	beat    beat
	asleep  bool
}

// Client is one client of a Net.
type Client struct {
	*netcode.Client
	World   *netecs.World          // the client's world
	Systems *systems.ClientSystems // systems in that world
	loop    *systems.Runner
	tap     *tap
	beat    beat
	running bool
	asleep  bool
	order   orderCheck
}

// Running reports whether the client runs frames: it was not killed.
func (c *Client) Running() bool { return c.running }

// Net is a server and clients on one virtual clock.
type Net struct {
	Server  *Server   // the server
	Clients []*Client // in order of joining, including killed ones

	t        testing.TB
	config   Config
	network  *memory.Network
	address  transport.Addr
	socket   *tap // the server's
	starts   uint64
	link     transport.Link
	now      time.Duration
	frame    int
	rebinds  uint64
	joined   int // number of clients, including removed ones
	hash     uint64
	onSend   func(from, to transport.Addr, datagram []byte)
	each     []func()
	listened uint64    // number of ends of Listen
	guests   []*Client // of JoinAt
	ghosts   ghostCheck
	broken   [numInvariants]bool
	failed   bool
}

// New makes the server and the first clients, which start to connect. The first [Net.Step] runs the first frame. Failures end the
// test and print the seed.
func New(t testing.TB, config Config) *Net {
	t.Helper()
	n := &Net{t: t, config: config.withDefaults(), network: memory.NewNetwork(), link: config.Link, hash: fnvOffset}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("nettest: seed %d, frame %d, trace %016x", n.config.Seed, n.frame, n.hash)
		}
	})
	n.Server = n.newServer()
	for range config.Clients {
		n.Join()
	}
	return n
}

// listen adds an end to the network behind its own seeded link.
func (n *Net) listen(stream uint64) *tap { return n.listenAt(transport.Addr{}, stream) }

// listenAt is listen at an address; the zero address assigns one.
func (n *Net) listenAt(address transport.Addr, stream uint64) *tap {
	n.t.Helper()
	conn, err := n.network.Listen(address)
	if err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	link := transport.Condition(conn, n.link, n.config.Seed^stream*0x9E3779B97F4A7C15, n.Now)
	return &tap{Conditioner: link, net: n}
}

// random returns a seeded stream of bytes, different for each end.
func (n *Net) random(stream uint64) *rand.ChaCha8 {
	var seed [32]byte
	for i := range 8 {
		seed[i], seed[8+i] = byte(n.config.Seed>>(8*i)), byte(stream>>(8*i))
	}
	return rand.NewChaCha8(seed)
}

// quiet drops the log lines that bad links cause, unless the test sets a Logger.
func quiet(c netcode.Config) netcode.Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (n *Net) newServer() *Server {
	n.t.Helper()
	c := quiet(n.config.Server)
	c.Random = n.random(n.starts << 32)
	n.starts++
	end, err := netcode.NewServer(n.config.Protocol, c)
	if err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	if n.socket == nil {
		n.socket = n.listen(0)
		n.address = n.socket.LocalAddr()
	}
	end.OnError(n.logged("server"))
	s := &Server{Server: end, World: world.New(), tap: n.socket, beat: newBeat(n.config.ServerRate, n.now)}
	var group systems.Group
	if n.config.Host {
		s.Host = n.newHost(end)
		s.Systems, group = s.Host.ServerSystems, s.Host
	} else {
		s.Systems = systems.NewServer(end, s.tap, n.Now)
		group = s.Systems
	}
	if n.config.Setup != nil {
		n.config.Setup(s.Systems, s.World)
	}
	if s.Host != nil && n.config.SetupHost != nil {
		n.config.SetupHost(s.Host, s.World)
	}
	if n.config.Game != nil {
		s.Systems.Add(tick.Update, &game{play: n.config.Game})
	}
	s.loop = systems.NewRunner(s.World, group, n.config.ServerRate)
	return s
}

// errorsLogged is the maximum number of logged errors of an end.
const errorsLogged = 50

// logged returns an OnError function for an end that writes the first errors to the test's log.
func (n *Net) logged(end string) func(error) {
	told := 0
	return func(err error) {
		n.t.Helper()
		switch told++; {
		case told <= errorsLogged:
			n.t.Logf("nettest: %s: %v", end, err)
		case told == errorsLogged+1:
			n.t.Logf("nettest: no more errors of the %s are logged", end)
		}
	}
}

// Join adds a client, which starts to connect in the next frame.
func (n *Net) Join() *Client {
	n.t.Helper()
	client := n.newClient(n.address)
	n.Clients = append(n.Clients, client)
	return client
}

// newClient makes a client that connects to an address.
func (n *Net) newClient(server transport.Addr) *Client {
	n.t.Helper()
	i := n.joined
	n.joined++
	c := quiet(n.config.Client)
	c.Random = n.random(uint64(i) + 1)
	end, err := netcode.NewClient(n.config.Protocol, c)
	if err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	end.OnError(n.logged(fmt.Sprintf("client %d", i)))
	client := &Client{Client: end, World: world.New(), tap: n.listen(uint64(i) + 1), running: true}
	client.Systems = systems.NewClient(end, client.tap, n.clock(i))
	if n.config.SetupClient != nil {
		n.config.SetupClient(i, client.Systems, client.World)
	}
	rate := n.config.clientRate(i)
	client.loop, client.beat = systems.NewRunner(client.World, client.Systems, rate), newBeat(rate, n.now)
	var payload []byte
	if n.config.Payload != nil {
		payload = n.config.Payload(i)
	}
	if err := end.ConnectWith(server, payload); err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	return client
}

// Restart replaces the server by a new one at the same address, as after a crash. It knows no client and has its own world and
// random numbers. Datagrams in flight still arrive.
func (n *Net) Restart() {
	n.t.Helper()
	n.Server = n.newServer()
}

// Kill stops a client at once, as a crash does: it runs no frame and sends nothing.
func (n *Net) Kill(c *Client) {
	c.running = false
	_ = c.tap.Close()
}

// Remove removes a client from Clients and closes its socket, as the end of its process does. A client that has not closed its
// connection sends nothing more, as after Kill.
func (n *Net) Remove(c *Client) {
	n.Kill(c)
	_ = n.Server.tap.Poll() // its sent datagrams are in flight
	n.Server.tap.Forget(c.tap.LocalAddr())
	n.Clients = slices.DeleteFunc(n.Clients, func(other *Client) bool { return other == c })
}

// Address returns the address of the server.
func (n *Net) Address() transport.Addr { return n.address }

// Now returns the virtual time since the start.
func (n *Net) Now() time.Duration { return n.now }

// Frame returns the number of steps so far: with one rate, of the frames of each end.
func (n *Net) Frame() int { return n.frame }

// Step runs one frame of the server, then of each client, and then checks NoGhostRef and Order. Ends with frame rates of their own run
// when a frame of theirs is due: a step goes to the next such moment. The time is computed from the frame number, so that rounding
// errors do not accumulate.
func (n *Net) Step() {
	n.t.Helper()
	n.frame++
	n.now = n.next()
	if n.Server.beat.due(n.now) && !n.Server.asleep {
		n.Server.loop.Step()
	}
	n.ghosts.remember(n.Server)
	for _, f := range n.each {
		f()
	}
	for i, c := range n.Clients {
		if n.step(c) {
			n.check(i, c)
		}
	}
	_ = n.Server.tap.Poll() // The datagrams of clients are in flight from now on, not from the server's next frame.
}

// step runs a client's frame if one is due. It returns whether one ran.
func (n *Net) step(c *Client) bool {
	switch due := c.beat.due(n.now); {
	case due && c.running && !c.asleep:
		c.loop.Step()
		return true
	case c.running:
		_ = c.tap.Poll() // Datagrams wait in its socket.
	}
	return false
}

// Run runs frames for a span of virtual time.
func (n *Net) Run(d time.Duration) {
	n.t.Helper()
	for end := n.now + d; n.now < end; {
		n.Step()
	}
}

// RunUntil runs frames until done returns true or limit has passed, and returns whether done did.
func (n *Net) RunUntil(limit time.Duration, done func() bool) bool {
	n.t.Helper()
	for end := n.now + limit; n.now < end; {
		n.Step()
		if done() {
			return true
		}
	}
	return false
}

// Connected reports whether every running client is connected, and the player of a host.
func (n *Net) Connected() bool {
	if h := n.Server.Host; h != nil && h.Client.State() != netcode.Connected {
		return false
	}
	for _, c := range n.Clients {
		if c.running && c.State() != netcode.Connected {
			return false
		}
	}
	return true
}

// SetLink changes the links of all ends, for datagrams sent from now on.
func (n *Net) SetLink(link transport.Link) {
	n.link = link
	n.Server.tap.SetLink(link)
	for _, c := range n.Clients {
		c.tap.SetLink(link)
	}
}

// Heal makes the network perfect except for its delay.
func (n *Net) Heal() { n.SetLink(transport.Link{Delay: n.config.Link.Delay}) }

// TraceHash returns a hash of all datagrams sent so far: time, sender, receiver and bytes. The same seed gives the same hash.
func (n *Net) TraceHash() uint64 { return n.hash }

// OnSend sets a function that is called for every sent datagram before it enters the link. The bytes are valid until it returns.
// nil removes the function.
func (n *Net) OnSend(f func(from, to transport.Addr, datagram []byte)) { n.onSend = f }

// game calls the game's function once a frame.
type game struct {
	play  func(w *netecs.World, frame int)
	frame int
}

func (g *game) Initialize(*netecs.World) {}
func (g *game) Update(w *netecs.World)   { g.frame++; g.play(w, g.frame) }
func (g *game) Finalize(*netecs.World)   {}

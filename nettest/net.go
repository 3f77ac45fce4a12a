package nettest

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Server is the server of a Net.
type Server struct {
	*netcode.Server
	World   ecs.World              // the server's
	Systems *systems.ServerSystems // that run in it
	loop    *systems.Runner
	tap     *tap
	asleep  bool
}

// Client is one client of a Net.
type Client struct {
	*netcode.Client
	World   ecs.World              // the client's own
	Systems *systems.ClientSystems // that run in it
	loop    *systems.Runner
	tap     *tap
	running bool
	asleep  bool
	order   orderCheck
}

// Running reports whether the client still takes frames: it was not killed.
func (c *Client) Running() bool { return c.running }

// Net is a server and clients on one virtual clock.
type Net struct {
	Server  *Server   // the one
	Clients []*Client // in the order of joining, the killed ones included

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
	joined   int // clients, the removed ones included
	hash     uint64
	onSend   func(from, to transport.Addr, datagram []byte)
	each     []func()
	listened uint64 // ends of Listen
	ghosts   ghostCheck
	broken   [numInvariants]bool
	failed   bool
}

// New builds the server and the first clients and lets them connect: frames
// begin with the first [Net.Step]. Failures end the test and name the seed.
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

// listen opens an end of the network behind its own seeded link.
func (n *Net) listen(stream uint64) *tap { return n.listenAt(transport.Addr{}, stream) }

// listenAt is listen at an address; the zero one is chosen.
func (n *Net) listenAt(address transport.Addr, stream uint64) *tap {
	n.t.Helper()
	conn, err := n.network.Listen(address)
	if err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	link := transport.Condition(conn, n.link, n.config.Seed^stream*0x9E3779B97F4A7C15, n.Now)
	return &tap{Conditioner: link, net: n}
}

// random is a stream of bytes of its own for each end.
func (n *Net) random(stream uint64) *rand.ChaCha8 {
	var seed [32]byte
	for i := range 8 {
		seed[i], seed[8+i] = byte(n.config.Seed>>(8*i)), byte(stream>>(8*i))
	}
	return rand.NewChaCha8(seed)
}

// quiet keeps what bad links cause out of the test's output, unless the test
// brings a logger.
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
	s := &Server{Server: end, World: ecs.NewWorld(), tap: n.socket}
	s.Systems = systems.NewServer(end, s.tap, n.Now)
	if n.config.Setup != nil {
		n.config.Setup(s.Systems, &s.World)
	}
	if n.config.Game != nil {
		s.Systems.Add(netcode.StageUpdate, &game{play: n.config.Game})
	}
	s.loop = systems.NewRunner(&s.World, s.Systems, n.config.Rate)
	return s
}

// errorsLogged is the number of errors of an end that are logged.
const errorsLogged = 50

// logged returns a function for OnError of an end: it writes the first errors into the log of the test, which is shown where the test fails
// and with go test -v.
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

// Join adds a client, which begins to connect in the next frame.
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
	client := &Client{Client: end, World: ecs.NewWorld(), tap: n.listen(uint64(i) + 1), running: true}
	client.Systems = systems.NewClient(end, client.tap, n.clock(i))
	if n.config.SetupClient != nil {
		n.config.SetupClient(i, client.Systems, &client.World)
	}
	client.loop = systems.NewRunner(&client.World, client.Systems, n.config.Rate)
	var payload []byte
	if n.config.Payload != nil {
		payload = n.config.Payload(i)
	}
	if err := end.ConnectWith(server, payload); err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	return client
}

// Restart replaces the server by a new one at the same address, as after a crash: it knows nobody, and has a world and random numbers of its own.
// Datagrams in flight still arrive.
func (n *Net) Restart() {
	n.t.Helper()
	n.Server = n.newServer()
}

// Kill stops a client at once, as a crash would: it takes no frame and says
// nothing any more.
func (n *Net) Kill(c *Client) {
	c.running = false
	_ = c.tap.Close()
}

// Remove takes a client out of Clients and closes its socket, as the end of its process does. A client that has not closed
// its connection says nothing any more, as after Kill.
func (n *Net) Remove(c *Client) {
	n.Kill(c)
	_ = n.Server.tap.Poll() // what it has sent is on its way
	n.Server.tap.Forget(c.tap.LocalAddr())
	n.Clients = slices.DeleteFunc(n.Clients, func(other *Client) bool { return other == c })
}

// Address is the address of the server.
func (n *Net) Address() transport.Addr { return n.address }

// Now is the virtual time since the start.
func (n *Net) Now() time.Duration { return n.now }

// Frame is the number of frames so far.
func (n *Net) Frame() int { return n.frame }

// Step runs one frame: the server's, then each client's, then the checks of
// NoGhostRef and Order. The time is that of the frame at Rate, so that rounding
// takes no network tick away.
func (n *Net) Step() {
	n.t.Helper()
	n.frame++
	n.now = time.Duration(n.frame) * time.Second / time.Duration(n.config.Rate)
	if !n.Server.asleep {
		n.Server.loop.Step()
	}
	n.ghosts.remember(n.Server)
	for _, f := range n.each {
		f()
	}
	for i, c := range n.Clients {
		if c.running && !c.asleep {
			c.loop.Step()
			n.check(i, c)
		}
	}
	if !n.Server.asleep {
		_ = n.Server.tap.Poll() // what clients have sent is on its way from now on, not from the server's next frame on
	}
}

// Run runs frames for a span of virtual time.
func (n *Net) Run(d time.Duration) {
	n.t.Helper()
	for end := n.now + d; n.now < end; {
		n.Step()
	}
}

// RunUntil runs frames until done returns true, at most for limit, and returns
// whether it did.
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

// Connected reports whether every running client is connected.
func (n *Net) Connected() bool {
	for _, c := range n.Clients {
		if c.running && c.State() != netcode.Connected {
			return false
		}
	}
	return true
}

// SetLink changes what everything sent from now on meets, at every end.
func (n *Net) SetLink(link transport.Link) {
	n.link = link
	n.Server.tap.SetLink(link)
	for _, c := range n.Clients {
		c.tap.SetLink(link)
	}
}

// Heal makes the network perfect but for its delay.
func (n *Net) Heal() { n.SetLink(transport.Link{Delay: n.config.Link.Delay}) }

// TraceHash is a hash of every datagram sent so far: when, from where to
// where, and its bytes. The same seed gives the same hash.
func (n *Net) TraceHash() uint64 { return n.hash }

// OnSend sets a function that is shown every datagram as it is sent, before
// the link decides what becomes of it. The bytes are good until it returns. Nil
// takes it away.
func (n *Net) OnSend(f func(from, to transport.Addr, datagram []byte)) { n.onSend = f }

// game calls a function once a frame.
type game struct {
	play  func(w *ecs.World, frame int)
	frame int
}

func (g *game) Initialize(*ecs.World) {}
func (g *game) Update(w *ecs.World)   { g.frame++; g.play(w, g.frame) }
func (g *game) Finalize(*ecs.World)   {}

package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

const (
	steadyFrames      = 10 * tickHz // ten seconds (T12)
	steadyWarmUp      = 6 * tickHz  // frames in which queues and histories reach the size that they keep, at least
	steadyWarmest     = 40 * tickHz // and at most, if something still grows
	steadyQuiet       = 5 * tickHz  // without an allocation: then it is warm
	steadySettle      = 2 * tickHz  // frames without loss and motion, after which all must be equal
	steadyFlight      = 512         // datagrams that the network has memory for: it is not what is measured
	steadyLoss        = 0.01
	steadyRoundTrip   = 100 * time.Millisecond
	steadyHeader      = 6.0  // bytes: flags, sequence, ack and ack bits (T12)
	steadyWholeHeader = 13.0 // with the first batch's size and the checksum
)

// steadyEvent is a message that must arrive.
type steadyEvent struct{ Number, Twice uint64 }

// runSteady plays ten seconds of a game whose bodies move and whose ends talk, on a virtual clock and over links that lose one
// datagram in a hundred. Nothing may be allocated, at the server and at all clients together, and no garbage collected. Beside that
// it tells what the headers of the packets take, and what the packet layer alone costs.
func runSteady(o options) error {
	r, err := newSteadyRun(cmp.Or(o.entities, 1000), cmp.Or(o.clients, 16), cmp.Or(o.moving, 1))
	if err != nil {
		return err
	}
	r.say("joining, then warming up until nothing is allocated for %d s of the game, at most %d s", steadyQuiet/tickHz, steadyWarmest/tickHz)
	if err := r.join(); err != nil {
		return err
	}
	if err := r.play(steadyFrames); err != nil {
		return err
	}
	if err := r.verify(); err != nil {
		return err
	}
	r.printSteady(o)
	return runAckLayer(o)
}

// say tells on standard error what takes so long.
func (r *steadyRun) say(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "steady: "+format+"\n", a...)
}

// steadyRun is a server and its clients, all of which have a world.
type steadyRun struct {
	frame   int64
	random  *rand.Rand
	network *memory.Network
	links   []*transport.Conditioner

	server  *netcode.Server
	body    *bodyWorld
	socket  *headerSocket
	steps   []systems.System
	movers  []ecs.Entity
	orbits  []orbit
	clients []*steadyClient

	inputs, inputsSent           int // unreliable ones, at the server
	orders, ordersSent           uint64
	ordersSum, ordersSentSum     uint64
	eventsSent, eventsSentSum    uint64 // to each client
	fault                        error
	frames, warm                 int
	allocations, bytes, cycles   float64
	slowest, measuredNanoseconds float64
}

// steadyClient is one client.
type steadyClient struct {
	client        *netcode.Client
	body          *bodyWorld
	socket        *headerSocket
	steps         []systems.System
	events, sum   uint64
	news, newSent int // unreliable ones
}

// headerSocket counts what the headers of the packets take that are sent.
type headerSocket struct {
	socket
	on                      bool
	packets, bytes, headers int64
	longest                 int
}

// Send implements the socket of the systems.
func (h *headerSocket) Send(to transport.Addr, datagram []byte) error {
	if h.on {
		if _, n, err := wire.ParsePacketHeader(datagram); err == nil {
			h.packets++
			h.bytes += int64(len(datagram))
			h.headers += int64(n)
			h.longest = max(h.longest, n)
		}
	}
	return h.socket.Send(to, datagram)
}

func (r *steadyRun) now() time.Duration { return time.Duration(r.frame) * time.Second / tickHz }

// listen makes an end of the network, behind a link of half the round trip.
func (r *steadyRun) listen(seed uint64) (*headerSocket, transport.Addr, error) {
	end, err := r.network.Listen(transport.Addr{})
	if err != nil {
		return nil, transport.Addr{}, err
	}
	link := transport.Condition(end, transport.Link{Delay: steadyRoundTrip / 2, Loss: steadyLoss}, seed, r.now)
	link.Reserve(steadyFlight)
	r.links = append(r.links, link)
	return &headerSocket{socket: link}, end.LocalAddr(), nil
}

// steadyProtocol is bodies and two messages.
func steadyProtocol(input func(*netcode.Context, *rpcOrder), event func(*netcode.Context, *steadyEvent)) *netcode.Protocol {
	p := bodyProtocol(false)
	netcode.Handle(p, input)
	netcode.Handle(p, event, netcode.Over(netcode.ReliableOrdered))
	return p
}

func newSteadyRun(entities, clients int, moving float64) (*steadyRun, error) {
	r := &steadyRun{random: rand.New(rand.NewPCG(7, 1)), network: memory.NewNetwork(), body: newBodyWorld(entities, false)}
	config := netcode.Config{TickRate: tickHz, SendBudget: -1, Clients: clients, Entities: entities}
	protocol := steadyProtocol(
		func(ctx *netcode.Context, m *rpcOrder) {
			if uint32(ctx.Sender) == m.Client {
				r.inputs++
			}
		},
		func(_ *netcode.Context, m *steadyEvent) { r.orders++; r.ordersSum += m.Number ^ m.Twice<<1 },
	)
	var err error
	config.Random = rand.NewChaCha8([32]byte{1}) // so that every run is the same one
	if r.server, err = netcode.NewServer(protocol, config); err != nil {
		return nil, err
	}
	var address transport.Addr
	if r.socket, address, err = r.listen(1); err != nil {
		return nil, err
	}
	r.server.OnError(r.fail)
	r.steps = systems.NewServer(r.server, r.socket, r.now).Systems()
	for _, s := range r.steps {
		s.Initialize(r.body.world)
	}
	for _, i := range r.random.Perm(entities)[:movers(entities, moving)] {
		r.movers = append(r.movers, r.body.entities[i])
	}
	r.orbits = newScene(entities, moving).orbits
	for i := range clients {
		if err := r.addClient(uint64(i+2), config, address); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *steadyRun) fail(err error) { r.fault = err }

// addClient makes a client and has it connect.
func (r *steadyRun) addClient(seed uint64, config netcode.Config, server transport.Addr) error {
	c := &steadyClient{body: newBodyWorld(0, false)}
	protocol := steadyProtocol(
		func(ctx *netcode.Context, m *rpcOrder) {
			if uint32(ctx.Local) == m.Client {
				c.news++
			}
		},
		func(_ *netcode.Context, m *steadyEvent) {
			c.events++ // in order, so the number is known
			if m.Number == c.events {
				c.sum += m.Number ^ m.Twice<<1
			}
		},
	)
	var err error
	config.Random = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	if c.client, err = netcode.NewClient(protocol, config); err != nil {
		return err
	}
	if c.socket, _, err = r.listen(seed); err != nil {
		return err
	}
	c.client.OnError(r.fail)
	c.steps = systems.NewClient(c.client, c.socket, r.now).Systems()
	for _, s := range c.steps {
		s.Initialize(c.body.world)
	}
	r.clients = append(r.clients, c)
	return c.client.Connect(server)
}

// join runs frames until all clients are connected.
func (r *steadyRun) join() error {
	for range framesToConnect {
		connected := 0
		for _, c := range r.clients {
			if _, known := r.server.ClientStats(c.client.ID()); known && c.client.State() == netcode.Connected {
				connected++
			}
		}
		if connected == len(r.clients) {
			return nil
		}
		r.playFrame(false)
		if r.fault != nil {
			return r.fault
		}
	}
	return fmt.Errorf("not all are connected: %v", r.clients[0].client.Err())
}

// playFrame plays a frame of all ends; with moving the bodies move and the ends talk.
func (r *steadyRun) playFrame(moving bool) {
	r.frame++
	if moving {
		for i, e := range r.movers {
			p, q, v := r.orbits[i].nextPose()
			r.body.write(e, p, q, v)
		}
		r.serverTalks()
	}
	for _, s := range r.steps {
		s.Update(r.body.world)
	}
	for _, c := range r.clients {
		if moving {
			r.clientTalks(c)
		}
		for _, s := range c.steps {
			s.Update(c.body.world)
		}
	}
	for _, l := range r.links { // what was sent is under way from now on
		if err := l.Poll(); err != nil {
			r.fail(err)
		}
	}
}

// serverTalks sends each client a message of its own, and all an event in every tenth frame.
func (r *steadyRun) serverTalks() {
	for _, c := range r.clients {
		m := rpcOrder{Client: uint32(c.client.ID()), Serial: uint64(r.frame)}
		r.check(netcode.Send(r.server, netcode.To(c.client.ID()), &m))
		c.newSent++
	}
	if r.frame%10 == 0 {
		r.eventsSent++
		m := steadyEvent{Number: r.eventsSent, Twice: 2 * r.eventsSent}
		r.eventsSentSum += m.Number ^ m.Twice<<1
		r.check(netcode.Send(r.server, netcode.ToAll(), &m))
	}
}

// clientTalks sends the server an input, and an order in every tenth frame.
func (r *steadyRun) clientTalks(c *steadyClient) {
	m := rpcOrder{Client: uint32(c.client.ID()), Serial: uint64(r.frame)}
	r.check(netcode.Send(c.client, netcode.ToServer(), &m))
	r.inputsSent++
	if r.frame%10 == 5 {
		r.ordersSent++
		m := steadyEvent{Number: r.ordersSent, Twice: uint64(r.frame)}
		r.ordersSentSum += m.Number ^ m.Twice<<1
		r.check(netcode.Send(c.client, netcode.ToServer(), &m))
	}
}

func (r *steadyRun) check(err error) {
	if err != nil {
		r.fail(err)
	}
}

// warmUp plays until nothing was allocated for five seconds of the game. That it stays so is what play then has to find out.
func (r *steadyRun) warmUp() {
	runtime.GC() // what connecting took; the collector's own helpers settle meanwhile
	var before, after runtime.MemStats
	for range steadyWarmUp {
		r.playFrame(true)
	}
	quiet := 0
	for r.warm = steadyWarmUp; r.warm < steadyWarmest && quiet < steadyQuiet; r.warm += tickHz {
		runtime.ReadMemStats(&before)
		for range tickHz {
			r.playFrame(true)
		}
		if runtime.ReadMemStats(&after); after.Mallocs == before.Mallocs {
			quiet += tickHz
		} else {
			quiet = 0
		}
	}
}

// play warms up, then counts what is allocated in so many frames. Nothing here runs beside the game, so it gets one processor:
// with more the runtime starts threads for itself when the machine is busy, and they would be counted.
func (r *steadyRun) play(frames int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r.warmUp()
	r.say("warm after %d s of the game, measuring %d s", r.warm/tickHz, frames/tickHz)
	r.socket.on = true
	for _, c := range r.clients {
		c.socket.on = true
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for range frames {
		start := time.Now()
		r.playFrame(true)
		r.slowest = max(r.slowest, float64(time.Since(start)))
	}
	r.measuredNanoseconds = float64(time.Since(began))
	runtime.ReadMemStats(&after)
	r.frames = frames
	r.allocations, r.bytes = float64(after.Mallocs-before.Mallocs), float64(after.TotalAlloc-before.TotalAlloc)
	r.cycles = float64(after.NumGC - before.NumGC)
	r.socket.on = false
	for _, c := range r.clients {
		c.socket.on = false
	}
	return r.fault
}

// verify lets everything arrive and compares: all worlds, all events and orders, and how many of the others came.
func (r *steadyRun) verify() error {
	for _, l := range r.links {
		l.SetLink(transport.Link{Delay: steadyRoundTrip / 2})
	}
	for range steadySettle {
		r.playFrame(false)
	}
	if r.fault != nil {
		return r.fault
	}
	schema := r.server.Protocol().Schema()
	want := netecs.DigestStore(r.server.Store(), schema, func(wire.NetworkID) bool { return true })
	for i, c := range r.clients {
		if reason := c.client.Err(); reason != nil {
			return fmt.Errorf("client %d: %w", i, reason)
		}
		if got := netecs.Digest(c.body.world, c.client.Protocol().Schema()); got != want {
			return fmt.Errorf("client %d's world is %016x, the server's %016x", i, got, want)
		}
		if c.events != r.eventsSent || c.sum != r.eventsSentSum {
			return fmt.Errorf("client %d got %d of %d events, the sum %d should be %d", i, c.events, r.eventsSent, c.sum, r.eventsSentSum)
		}
		if !mostCame(c.news, c.newSent) {
			return fmt.Errorf("client %d got %d of %d messages", i, c.news, c.newSent)
		}
	}
	if r.orders != r.ordersSent || r.ordersSum != r.ordersSentSum {
		return fmt.Errorf("the server got %d of %d orders, the sum %d should be %d", r.orders, r.ordersSent, r.ordersSum, r.ordersSentSum)
	}
	if !mostCame(r.inputs, r.inputsSent) {
		return fmt.Errorf("the server got %d of %d inputs", r.inputs, r.inputsSent)
	}
	return nil
}

// mostCame tells if as many unreliable messages arrived as the loss lets expect, and no more than were sent.
func mostCame(came, sent int) bool {
	return came <= sent && float64(came) >= (1-5*steadyLoss)*float64(sent)
}

package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

const (
	rpcTarget   = 16.0 // times the byte queue, at the server, in and out each (T10)
	rpcMessages = 30000
	rpcClients  = 64
	rpcWarmUp   = 30 // frames
	rpcHeader   = 4  // bytes that the byte queue puts before a message: its size, stage and type
	rpcBody     = 16
)

var errRPCQuota = fmt.Errorf("a server takes at most 1024 messages from one sender and frame: -e 1..1024 times -c")

// rpcStages are those in which the messages are handled, in the order of the frame.
func rpcStages() [4]tick.Stage {
	return [...]tick.Stage{tick.FixedUpdate, tick.PreUpdate, tick.Update, tick.PreLateUpdate}
}

// rpcOrder is a message of 16 bytes.
type rpcOrder struct {
	Client uint32 // who sends it, or is sent it
	Check  uint32
	Serial uint64
}

// sum returns the checksum of a message, over all its bytes.
func (m *rpcOrder) sum() uint64 { return m.Serial ^ uint64(m.Client)<<32 ^ uint64(m.Check)<<20 }

// rpcTally is the messages that came to one end, by stage.
type rpcTally struct {
	count [tick.NumStages]int
	sum   [tick.NumStages]uint64
	wrong int // for somebody else, or from somebody else than they say
}

// countOrder counts a message.
func (t *rpcTally) countOrder(stage tick.Stage, m *rpcOrder) {
	t.count[stage]++
	t.sum[stage] += m.sum()
}

// runRPC measures what 30 000 messages of 16 bytes a frame cost a server that 64 clients are connected to: those that come in,
// from the datagrams to the handlers, and those that go out, from Send to the datagrams. The anchors are queues of bytes that
// keep none of the promises: one for each stage, with a table of handlers, and one for each client, cut into packets.
func runRPC(o options) error {
	messages, clients := cmp.Or(o.entities, rpcMessages), cmp.Or(o.clients, rpcClients)
	if messages < clients || messages > 1024*clients {
		return errRPCQuota
	}
	r, err := newRPCRun(messages, clients)
	if err != nil {
		return err
	}
	if err := r.measure(o.budget); err != nil {
		return err
	}
	r.printRPC(o)
	return nil
}

// rpcRun is a server and its clients, and the mail between them, which no network delays or loses.
type rpcRun struct {
	messages int
	now      time.Duration
	server   *netcode.Server
	clients  []*rpcClient
	toServer mail
	toClient mail
	serial   uint64

	in, sent rpcTally // what came to the server, and what the clients sent it
	put      func(to transport.Addr, datagram []byte)
	queues   rpcQueues
	fault    error

	ins, outs, anchorIns, anchorOuts []float64 // ns a message
	frames                           int
	allocations                      float64
}

// rpcClient is one client.
type rpcClient struct {
	client    *netcode.Client
	address   transport.Addr
	post      func(to transport.Addr, datagram []byte)
	got, sent rpcTally // what came, and what the server sent
}

// mail is the datagrams of one frame in one direction.
type mail struct {
	bytes   []byte
	letters []letter
}

// letter is a datagram; at is the address of the client, whichever direction.
type letter struct {
	at         transport.Addr
	start, end int
}

// put adds a datagram.
func (m *mail) put(at transport.Addr, datagram []byte) {
	start := len(m.bytes)
	m.bytes = append(m.bytes, datagram...)
	m.letters = append(m.letters, letter{at, start, len(m.bytes)})
}

func (m *mail) clear() { m.bytes, m.letters = m.bytes[:0], m.letters[:0] }

func rpcConfig(clients int) netcode.Config {
	return netcode.Config{TickRate: tickHz, SendBudget: -1, Clients: clients}
}

// rpcAddress returns the address of a client; index -1 is the server.
func rpcAddress(index int) transport.Addr {
	return transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(20000+index)))
}

func newRPCRun(messages, clients int) (*rpcRun, error) {
	r := &rpcRun{messages: messages}
	r.queues, r.put = newRPCQueues(clients), r.toClient.put
	atServer := netcode.NewProtocol()
	netcode.Handle(atServer, func(ctx *netcode.Context, m *rpcOrder) {
		if uint32(ctx.Sender) != m.Client {
			r.in.wrong++
		}
		r.in.countOrder(ctx.Stage, m)
	})
	var err error
	if r.server, err = netcode.NewServer(atServer, rpcConfig(clients)); err != nil {
		return nil, err
	}
	fault := func(err error) { r.fault = err }
	r.server.OnError(fault)
	for i := range clients {
		c := &rpcClient{address: rpcAddress(i)}
		c.post = func(_ transport.Addr, datagram []byte) { r.toServer.put(c.address, datagram) }
		atClient := netcode.NewProtocol()
		netcode.Handle(atClient, func(ctx *netcode.Context, m *rpcOrder) {
			if uint32(ctx.Local) != m.Client {
				c.got.wrong++
			}
			c.got.countOrder(ctx.Stage, m)
		})
		if c.client, err = netcode.NewClient(atClient, rpcConfig(1)); err != nil {
			return nil, err
		}
		c.client.OnError(fault)
		if err := c.client.Connect(rpcAddress(-1)); err != nil {
			return nil, err
		}
		r.clients = append(r.clients, c)
	}
	return r, r.connectAll()
}

// connectAll runs frames without messages until all are connected.
func (r *rpcRun) connectAll() error {
	for range framesToConnect {
		r.begin()
		for _, stage := range rpcStages() {
			steps.OfServer(r.server).Dispatch(stage)
		}
		steps.OfServer(r.server).Send()
		r.deliver()
		connected := 0
		for _, c := range r.clients {
			r.clientFrame(c, 0)
			if _, known := r.server.ClientStats(c.client.ID()); known && c.client.State() == netcode.Connected {
				connected++
			}
		}
		if connected == len(r.clients) {
			return r.fault
		}
	}
	return fmt.Errorf("the clients are not connected: %v %v", r.clients[0].client.Err(), r.fault)
}

// begin starts a frame of the server and gives it what the clients sent in the last one.
func (r *rpcRun) begin() {
	r.now += time.Second / tickHz
	steps.OfServer(r.server).BeginFrame(r.now)
	for _, l := range r.toServer.letters {
		steps.OfServer(r.server).Receive(l.at, r.toServer.bytes[l.start:l.end:l.end])
	}
}

// order makes the next message.
func (r *rpcRun) order(client netcode.ClientID) rpcOrder {
	r.serial++
	return rpcOrder{Client: uint32(client), Check: uint32(r.serial * 2654435761), Serial: r.serial * 0x9E3779B97F4A7C15}
}

// serverFrame is the measured part: a whole frame of the server. Each stage handles its messages and then sends a quarter of
// all outgoing ones, to each client in turn.
func (r *rpcRun) serverFrame(orders []rpcOrder, to []netcode.ClientID) (in, out time.Duration) {
	began := time.Now()
	r.begin()
	in = time.Since(began)
	from := 0
	for part, stage := range rpcStages() {
		began = time.Now()
		steps.OfServer(r.server).Dispatch(stage)
		middle := time.Now()
		end := len(orders) * (part + 1) / len(rpcStages())
		for i := from; i < end; i++ {
			if err := netcode.Send(r.server, netcode.To(to[i]), &orders[i]); err != nil {
				r.fault = err
			}
		}
		from = end
		in += middle.Sub(began)
		out += time.Since(middle)
	}
	began = time.Now()
	steps.OfServer(r.server).Send()
	return in, out + time.Since(began)
}

// deliver begins a frame of the clients and gives them what the server sent.
func (r *rpcRun) deliver() {
	r.toServer.clear()
	r.toClient.clear()
	steps.OfServer(r.server).Drain(r.put)
	for _, c := range r.clients {
		steps.OfClient(c.client).BeginFrame(r.now)
	}
	for _, l := range r.toClient.letters {
		c := r.clients[int(l.at.IP.Port())-20000]
		steps.OfClient(c.client).Receive(rpcAddress(-1), r.toClient.bytes[l.start:l.end:l.end])
	}
}

// clientFrame is the rest of a frame of one client, in which it sends so many messages, each for another stage than the one before.
func (r *rpcRun) clientFrame(c *rpcClient, messages int) {
	for _, stage := range rpcStages() {
		steps.OfClient(c.client).Dispatch(stage)
	}
	stages := rpcStages()
	for i := range messages {
		stage, m := stages[i%len(stages)], r.order(c.client.ID())
		if err := netcode.Send(c.client, netcode.ToServer(), &m, netcode.AtStage(stage)); err != nil {
			r.fault = err
		}
		r.sent.countOrder(stage, &m)
		r.queues.came(stage, &m)
	}
	steps.OfClient(c.client).Send()
	steps.OfClient(c.client).Drain(c.post)
}

// share returns the number of messages of one client.
func (r *rpcRun) share(client int) int {
	n := r.messages / len(r.clients)
	if client < r.messages%len(r.clients) {
		n++
	}
	return n
}

// measure runs frames for the budget, and a few before. All of a frame's messages are checked when it is over; the anchors have
// the same ones.
func (r *rpcRun) measure(budget time.Duration) error {
	orders, to := make([]rpcOrder, r.messages), make([]netcode.ClientID, r.messages)
	for _, samples := range []*[]float64{&r.ins, &r.outs, &r.anchorIns, &r.anchorOuts} {
		*samples = make([]float64, 0, 1<<16)
	}
	var before, after runtime.MemStats
	start := time.Now()
	for n := 0; n < rpcWarmUp+20 || time.Since(start) < budget && n < 1<<16; n++ {
		if n == rpcWarmUp {
			start = time.Now()
			runtime.ReadMemStats(&before)
		}
		if err := r.playFrame(n, orders, to); err != nil {
			return fmt.Errorf("frame %d: %w", n, err)
		}
		r.frames = n + 1 - rpcWarmUp
	}
	runtime.ReadMemStats(&after)
	r.allocations = float64(after.Mallocs-before.Mallocs) / float64(r.frames)
	return nil
}

// playFrame is one frame of all.
func (r *rpcRun) playFrame(n int, orders []rpcOrder, to []netcode.ClientID) error {
	stages := rpcStages()
	for i := range orders {
		c := r.clients[i%len(r.clients)]
		to[i], orders[i] = c.client.ID(), r.order(c.client.ID())
	}
	for part, from := 0, 0; part < len(stages); part++ {
		for ; from < len(orders)*(part+1)/len(stages); from++ {
			r.clients[from%len(r.clients)].sent.countOrder(stages[part], &orders[from])
		}
	}
	var anchorIn, anchorOut time.Duration
	if n%2 == 0 {
		anchorIn, anchorOut = r.queues.frame(orders)
	}
	in, out := r.serverFrame(orders, to)
	if n%2 == 1 {
		anchorIn, anchorOut = r.queues.frame(orders)
	}
	if n >= rpcWarmUp {
		each := float64(r.messages)
		r.ins, r.outs = append(r.ins, float64(in)/each), append(r.outs, float64(out)/each)
		r.anchorIns, r.anchorOuts = append(r.anchorIns, float64(anchorIn)/each), append(r.anchorOuts, float64(anchorOut)/each)
	}
	r.deliver()
	if err := r.checkOutcome(); err != nil {
		return err
	}
	r.queues.clear()
	for i, c := range r.clients {
		r.clientFrame(c, r.share(i))
		if c.got != c.sent {
			return fmt.Errorf("client %d was sent %+v and got %+v", c.client.ID(), c.sent, c.got)
		}
	}
	return r.fault
}

// checkOutcome compares what came to the server, and to the byte queues, with what the clients had sent before.
func (r *rpcRun) checkOutcome() error {
	if r.in != r.queues.in {
		return fmt.Errorf("the server got %+v, the byte queues %+v", r.in, r.queues.in)
	}
	if r.in != r.sent {
		return fmt.Errorf("the server was sent %+v and got %+v", r.sent, r.in)
	}
	return nil
}

// printRPC prints what comes in, what goes out, and both together.
func (r *rpcRun) printRPC(o options) {
	fastest := func(samples []float64) float64 { return slices.Min(samples) }
	line := func(name string, target float64, about string, value, anchor func(func([]float64) float64) float64) {
		o.report(result{
			Scenario: name, Value: value(median), Unit: "ns/message", Main: name == "rpc",
			Params: map[string]any{
				"messages": r.messages, "bytes": rpcBody, "stages": len(rpcStages()), "clients": len(r.clients), "frames": r.frames,
				"fastest": value(fastest), "fastest_anchor": anchor(fastest), "ratio_of_fastest": value(fastest) / anchor(fastest),
				"allocs_per_frame": r.allocations, "verified_messages": 2 * r.messages * r.frames, "anchor": about,
			},
		}.against(anchor(median)).ratioTarget(target, r.allocations == 0))
	}
	of := func(samples ...[]float64) func(func([]float64) float64) float64 {
		return func(f func([]float64) float64) (sum float64) {
			for _, s := range samples {
				sum += f(s)
			}
			return sum
		}
	}
	line("rpc.in", rpcTarget, "a byte queue for each stage and a table of handlers", of(r.ins), of(r.anchorIns))
	line("rpc.out", rpcTarget, "a byte queue for each client, cut into packets", of(r.outs), of(r.anchorOuts))
	line("rpc", rpcTarget, "both byte queues", of(r.ins, r.outs), of(r.anchorIns, r.anchorOuts))
}

package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

const (
	tickHz = 60
	// reachLimit is the longest wait of the clients for datagrams, in wall time. A missing one was dropped by a socket.
	reachLimit = 10 * time.Second
	// joinLimit is the time in which they must get the world for the first time.
	joinLimit = time.Minute
)

// tickConfig is the same for both ends of the tick scenario: no budget, and patience, because the virtual clock moves as
// fast as the machine can go.
func tickConfig(clients int, network realNetwork) netcode.Config {
	sent := 1 << 14
	if clients > 64 || network.classes > 0 {
		sent = peer.DefaultSentPackets // the memory of the records is for each client
	}
	return netcode.Config{
		TickRate: tickHz, SendBudget: -1, MaxEntities: 1 << 20, SentPackets: sent, Clients: max(clients, 1),
		HandshakeTimeout: time.Hour, SilenceTimeout: time.Hour,
	}
}

// farClients are the real clients of the tick scenario: each has a socket, a world, and decodes, applies and acknowledges.
type farClients struct {
	clients  []*farClient
	protocol *netcode.Protocol
	frames   int64
	network  realNetwork // it begins when all have joined
}

type farClient struct {
	client *netcode.Client
	body   *bodyWorld
	steps  []systems.System
	socket *heldSocket
	late   *lateSocket // behind socket; nil where there is no network
	start  tick.Tick   // of the connection: the world is empty until a later one was decoded
	fault  error
}

func newFarClients(count int, server string, exact, secured bool, network realNetwork) (*farClients, error) {
	to, err := transport.ParseAddr(server)
	if err != nil {
		return nil, err
	}
	f := &farClients{protocol: bodyProtocol(exact), network: network}
	for i := range count {
		c := &farClient{body: newBodyWorld(0, exact)}
		conn, err := udp.Listen("127.0.0.1:0", udp.Config{Queue: 4096, ReadBuffer: 8 << 20})
		if err != nil {
			return nil, err
		}
		if c.client, err = netcode.NewClient(f.protocol, tickConfig(1, network)); err != nil {
			return nil, err
		}
		c.client.OnError(func(err error) { c.fault = err })
		c.client.OnConnect(func(wire.ClientID) { c.start = c.client.Replica().Tick() })
		under, err := securedClient(conn, secured)
		if err != nil {
			return nil, err
		}
		c.socket = &heldSocket{socket: under}
		end := systems.Socket(c.socket)
		if network.classes > 0 {
			c.late = newLateSocket(c.socket, network, i)
			end = c.late
		}
		c.steps = systems.NewClient(c.client, end, f.now).Systems()
		for _, s := range c.steps {
			s.Initialize(c.body.world)
		}
		if err := c.client.Connect(to); err != nil {
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

// now is the far end's virtual clock: one tick for each round of frames.
func (f *farClients) now() time.Duration { return time.Duration(f.frames) * time.Second / tickHz }

// do carries out one command of the parent's.
func (f *farClients) do(command, argument string) (string, error) {
	switch command {
	case commandJoin:
		return f.join(), f.fault()
	case commandReach:
		var to tick.Tick
		var datagrams int64
		if _, err := fmt.Sscan(argument, &to, &datagrams); err != nil {
			return "", err
		}
		for _, c := range f.clients {
			c.late.begin(f.network)
		}
		return f.reach(to, datagrams), f.fault()
	case commandCalm:
		f.network.loss, f.network.jitter = 0, 0
		return "", nil
	case commandDigest:
		digests := make([]string, len(f.clients))
		for i, c := range f.clients {
			digests[i] = fmt.Sprintf("%016x", netecs.Digest(c.body.world, f.protocol.Schema()))
		}
		return strings.Join(digests, " "), nil
	}
	return "", fmt.Errorf("command %q", command)
}

// join runs frames until every client is connected and has applied the world for the first time.
func (f *farClients) join() string {
	for deadline := time.Now().Add(joinLimit); ; time.Sleep(time.Millisecond) {
		f.pump()
		f.frame()
		waiting := 0
		for _, c := range f.clients {
			if c.client.State() != netcode.Connected || c.client.Replica().Tick() <= c.start {
				waiting++
			}
		}
		if waiting == 0 || time.Now().After(deadline) {
			return fmt.Sprint(waiting)
		}
	}
}

// reach waits until all clients together have read that many datagrams in their life, so that nothing of the tick is
// still on its way, and then runs one frame. It answers with ticks behind to, and with datagrams read.
func (f *farClients) reach(to tick.Tick, datagrams int64) string {
	read := f.pump()
	for deadline := time.Now().Add(reachLimit); read < datagrams && time.Now().Before(deadline); read = f.pump() {
		runtime.Gosched()
	}
	f.frame()
	behind := tick.Tick(0)
	for _, c := range f.clients {
		behind = max(behind, to-c.client.Replica().Tick())
	}
	return fmt.Sprint(int64(behind), read)
}

// pump takes what waits in the sockets, and returns how many datagrams were ever read.
func (f *farClients) pump() (read int64) {
	for _, c := range f.clients {
		c.socket.pump()
		read += c.socket.read
	}
	return read
}

// frame runs one frame of every client.
func (f *farClients) frame() {
	f.frames++
	for _, c := range f.clients {
		c.late.passFrame(f.frames)
		for _, s := range c.steps {
			s.Update(c.body.world)
		}
	}
}

func (f *farClients) fault() error {
	for i, c := range f.clients {
		if c.fault != nil {
			return fmt.Errorf("client %d: %w", i, c.fault)
		}
		if reason := c.client.Err(); reason != nil {
			return fmt.Errorf("client %d: %w", i, reason)
		}
	}
	return nil
}

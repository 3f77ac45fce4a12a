package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// crowdClient is one client: its world and its socket.
type crowdClient struct {
	o      *options
	table  *Table
	number int // from 1 in this process; the server has numbers of its own
	now    func() time.Duration
	world  ecs.World
	net    *netcode.Client
	socket *udp.Conn
	runner *systems.Runner

	stopPage func() error // nil: no page

	newest   tick.Tick     // newest tick seen
	fresh    time.Duration // when it came
	reported time.Duration
	settled  *Settled // what the server says it stopped at, where the halves are apart, then
	hash     uint64   // of the world as it was judged last
	equal    bool     // that was the hash of settled
	ended    *errs.CloseError
	errors   complaints
	before   peer.Stats // at the last line of the table

	began time.Duration // when the connection came about
	last  time.Duration // the newest frame of it, with what was measured then
	rtt   time.Duration
	loss  float64
}

func newCrowdClient(o *options, table *Table, number int, server string, now func() time.Duration) (*crowdClient, error) {
	address, err := udp.Resolve(server)
	if err != nil {
		return nil, err
	}
	c := &crowdClient{o: o, table: table, number: number, now: now, world: ecs.NewWorld()}
	silence, keepAlive := o.timeouts()
	c.net, err = netcode.NewClient(newProtocol(o.trained, c.onSettled, nil), netcode.Config{
		Entities: o.entities, HandshakeTimeout: handshake, SilenceTimeout: silence, KeepAlive: keepAlive,
	})
	if err != nil {
		return nil, err
	}
	local := ":0"
	if address.IP.Addr().Is4() && address.IP.Addr().IsLoopback() {
		local = "127.0.0.1:0"
	}
	if c.socket, err = udp.Listen(local, udp.Config{}); err != nil {
		return nil, err
	}
	c.net.OnConnect(func(id wire.ClientID) {
		c.began = c.now()
		c.table.Say("client %d connected as %d", c.number, id)
	})
	c.net.OnDisconnect(c.onDisconnect)
	c.errors = complaints{table: table, who: fmt.Sprint("client ", number)}
	c.net.OnError(c.errors.hear)
	link, err := o.clientSocket(transport.Condition(c.socket, o.link(), o.seed+uint64(number), now), number, address)
	if err != nil {
		return nil, errors.Join(err, c.socket.Close())
	}
	group := systems.NewClient(c.net, link, now)
	if o.connect != "" && number == 1 { // The page shows the first client of the clients' half.
		if c.stopPage, err = live.ShowClient(group, nil, o.inspect, table.out); err != nil {
			return nil, errors.Join(err, c.socket.Close())
		}
	}
	c.runner = systems.NewRunner(&c.world, group, o.hz*framesPerTick)
	if err := c.net.Connect(address); err != nil {
		return nil, errors.Join(err, c.socket.Close())
	}
	return c, nil
}

func (c *crowdClient) onDisconnect(_ wire.ClientID, reason *errs.CloseError) {
	c.ended = reason
	if c.o.connect == "" && reason.Reason == errs.ReasonShuttingDown {
		return // the end of every run in one process
	}
	c.table.Say("client %d left: %v", c.number, reason)
}

// onSettled hears what the world has to come to. The server waits for a report that was made knowing this.
func (c *crowdClient) onSettled(_ *message.Context, m *Settled) {
	if c.settled == nil {
		settled := *m // the message is only lent
		c.settled = &settled
		c.reported = c.now() - reportEvery // report in this frame
	}
}

// frame runs all systems once.
func (c *crowdClient) frame() {
	if c.net.Closed() {
		return // the world stays as it was
	}
	c.runner.Step()
	if c.net.State() != netcode.Connected {
		return
	}
	c.last = c.now()
	c.rtt, _ = c.net.RTT()
	c.loss = c.net.Loss()
	if newest := c.net.Replica().Tick(); newest > c.newest {
		c.newest, c.fresh = newest, c.last
	}
	if c.o.connect != "" {
		c.tellHash()
	}
}

// tellHash lets a server in another process know what this world is, and compares it with what the server said.
func (c *crowdClient) tellHash() {
	if c.now()-c.reported < reportEvery {
		return
	}
	c.reported = c.now()
	if c.settled != nil && c.o.sabotage && c.number == 1 {
		c.sabotage()
	}
	state := c.judge()
	report := Report{Tick: int64(state.Tick), Hash: state.Hash, Entities: int32(state.Entities)}
	if c.settled != nil {
		report.Settled = c.settled.Tick
	}
	if err := netcode.Send(c.net, netcode.ToServer(), &report); err != nil {
		c.errors.hear(err)
	}
}

// judge compares the world as it is with what the server said it stopped at, if it did.
func (c *crowdClient) judge() worldState {
	state := c.state()
	c.hash = state.Hash
	c.equal = c.settled != nil && c.settled.Hash == state.Hash
	return state
}

// state is the client's world as it is.
func (c *crowdClient) state() worldState {
	return worldState{Tick: c.newest, Hash: netecs.Digest(&c.world, c.net.Protocol().Schema()), Entities: c.entities()}
}

// entities counts what the world holds of the server's.
func (c *crowdClient) entities() int {
	query := generic.NewFilter1[components.Replicated]().Query(&c.world)
	defer query.Close()
	return query.Count()
}

// verdict tells why a client that ran apart from its server did not come to the server's hash.
func (c *crowdClient) verdict() string {
	switch {
	case c.settled == nil:
		return fmt.Sprintf("the server never said what it came to (%v)", c.ended)
	default:
		return fmt.Sprintf("the world differs: it has hash %016x, the server %016x", c.hash, c.settled.Hash)
	}
}

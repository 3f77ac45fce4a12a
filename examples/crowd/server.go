package main

import (
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// crowdServer is the server's half: its world, the motion in it, its socket, and what is measured.
type crowdServer struct {
	o         *options
	table     *Table
	now       func() time.Duration
	world     ecs.World
	net       *netcode.Server
	socket    *udp.Conn
	ledger    ledger
	runner    *systems.Runner
	motion    *Motion
	recording *recording // nil: none
	meter     Meter

	reports map[wire.ClientID]Report // newest of each connected client, where the halves are apart
	told    time.Duration            // when the clients were told the server's hash last
	settled *Settled                 // what they are told, once motion has stopped; the hash is of what each may see
	allowed int                      // ticks that a client in step may be behind
	lately  census                   // of the ticks that it may be behind
	sights  *sights                  // nil: every client sees everything
	hashes  map[wire.ClientID]uint64 // what each client's world has to come to, once motion has stopped

	ticks   *Times
	rows    int // changed since the last line of the table
	counted int // ticks since then
	living  int // entities at the tick before
	churned int // spawns and despawns in the steady part
	steady  bool
	started time.Duration
	begun   time.Duration            // when the steady part began
	sent    map[wire.ClientID]uint64 // bytes sent to each client when the steady part began
	clients map[wire.ClientID]peer.Stats
	errors  complaints

	stopPage func() error // Nil: the server was not made.
}

func newCrowdServer(o *options, table *Table, motion []System, now func() time.Duration) (*crowdServer, error) {
	s := &crowdServer{
		o: o, table: table, now: now, world: ecs.NewWorld(), started: now(),
		reports: map[wire.ClientID]Report{}, hashes: map[wire.ClientID]uint64{}, sent: map[wire.ClientID]uint64{}, clients: map[wire.ClientID]peer.Stats{},
		ticks: newTimes(int(min(o.seconds, 3600)*float64(o.hz)) + o.hz),
	}
	var err error
	silence, keepAlive := o.timeouts()
	s.net, err = netcode.NewServer(newProtocol(o.trained, nil, s.onReport), netcode.Config{
		TickRate: o.hz, Clients: wire.MaxClients, Entities: o.entities,
		SendBudget: o.budget, SilenceTimeout: silence, KeepAlive: keepAlive,
	})
	if err != nil {
		return nil, err
	}
	s.allowed = o.allowance(s.net.Interval())
	if o.listen != "" {
		s.allowed += int(reportEvery/s.net.Interval()) + 1 // so old a report may be
	}
	s.lately = newCensus(s.allowed + 1)
	s.net.OnConnect(func(id wire.ClientID) { s.say("client %d connected", id) })
	if o.interest {
		s.seat()
	}
	s.net.OnDisconnect(s.onDisconnect)
	s.errors = complaints{table: table, who: "server"}
	s.net.OnError(s.errors.hear)
	address := o.listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	if s.socket, err = udp.Listen(address, udp.Config{}); err != nil {
		return nil, err
	}
	if o.record != "" {
		if err := s.record(o.record); err != nil {
			return s, err
		}
	}
	s.meter.Now = now
	s.motion = &Motion{Due: s.net.TickDue, Systems: motion}
	link, err := o.serverSocket(transport.Condition(s.socket, o.link(), o.seed, now))
	if err != nil {
		return s, err
	}
	if err := s.net.MayListen(link); err != nil {
		return s, err
	}
	s.ledger = ledger{Socket: link}
	group := systems.NewServer(s.net, &s.ledger, now)
	group.Add(tick.FixedUpdate, stopMeter{&s.meter}, s.motion, startMeter{&s.meter})
	var shown systems.Group
	if shown, s.stopPage, err = live.Show(group, o.inspect, s.table.out); err == nil {
		s.runner = systems.NewRunner(&s.world, shown, o.hz*framesPerTick)
	}
	return s, err
}

// seat lets clients see only what is near their seats.
func (s *crowdServer) seat() {
	schema := s.net.Protocol().Schema()
	grid := newGrid(schema)
	s.net.SetInterest(interest.New(grid, interest.Despawn))
	s.net.OnConnect(func(id wire.ClientID) {
		x, y, z := seat(id)
		grid.Look(id, float32(x), float32(y), float32(z))
	})
	s.sights = newSights(schema, s.allowed+1)
}

func (s *crowdServer) onReport(ctx *message.Context, m *Report) {
	if m.Settled >= s.reports[ctx.Sender].Settled { // else a later one overtook it
		s.reports[ctx.Sender] = *m
	}
}

func (s *crowdServer) onDisconnect(id wire.ClientID, reason *errs.CloseError) {
	delete(s.reports, id)
	delete(s.sent, id)
	delete(s.clients, id)
	delete(s.hashes, id)
	if s.sights != nil {
		delete(s.sights.clients, id)
	}
	s.say("client %d left: %v", id, reason)
}

// say prints what happened, unless the clients are in this process and say it themselves, by numbers of their own.
func (s *crowdServer) say(format string, args ...any) {
	if s.o.listen != "" {
		s.table.Say(format, args...)
	}
}

// frame runs all systems once. Time and allocations of the motion are the game's and not counted.
func (s *crowdServer) frame() {
	s.meter.Took, s.meter.Heap = 0, s.steady
	s.meter.Start()
	s.runner.Step()
	s.meter.Stop()
	if s.net.TickDue() {
		s.ticks.Add(s.meter.Took)
		s.lately.add(s.net.Store().Len())
		s.rows += s.net.Store().Changed()
		s.counted++
		if s.sights != nil {
			s.sights.look(s.net)
		}
		s.follow()
	}
	s.tellHash()
}

// follow counts who was born and who died in a tick.
func (s *crowdServer) follow() {
	store := s.net.Store()
	born := len(store.Births())
	if s.steady {
		s.churned += 2*born + s.living - store.Len()
	}
	s.living = store.Len()
}

// visibleTo tells which entities a client may see; nil is all.
func (s *crowdServer) visibleTo(client wire.ClientID) func(wire.NetworkID) bool {
	if s.sights == nil {
		return nil
	}
	return func(id wire.NetworkID) bool { return s.sights.visible(client, id) }
}

// fewest is the least number of entities that a client may have seen at any of the newest ticks.
func (s *crowdServer) fewest(client wire.ClientID) int {
	if s.sights == nil {
		return s.lately.fewest()
	}
	if c := s.sights.clients[client]; c != nil {
		return c.lately.fewest()
	}
	return 0
}

// hashFor returns the final hash of a client's world. It is constant once motion has stopped. For a new client it is
// unknown before the next tick, which computes the sight from its seat.
func (s *crowdServer) hashFor(client wire.ClientID) (hash uint64, known bool) {
	if s.sights == nil {
		return s.settled.Hash, true
	}
	if hash, known = s.hashes[client]; !known && s.sights.clients[client] != nil {
		hash, known = s.expected(client), true
		s.hashes[client] = hash
	}
	return hash, known
}

// expected is the hash of what a client may see now.
func (s *crowdServer) expected(client wire.ClientID) uint64 {
	return netecs.DigestStore(s.net.Store(), s.net.Protocol().Schema(), s.visibleTo(client))
}

// tellHash lets clients in other processes know, once motion has stopped, what their worlds have to come to.
func (s *crowdServer) tellHash() {
	if s.settled == nil || s.o.listen == "" || s.now()-s.told < reportEvery {
		return
	}
	s.told = s.now()
	for id := range s.net.Clients {
		hash, known := s.hashFor(id)
		if !known {
			continue
		}
		if err := netcode.Send(s.net, netcode.To(id), &Settled{Tick: s.settled.Tick, Hash: hash}); err != nil {
			s.errors.hear(err)
		}
	}
}

// state returns the captured state, as its clients should have it in the end.
func (s *crowdServer) state() worldState {
	store := s.net.Store()
	return worldState{
		Tick: s.net.Tick(), Hash: netecs.DigestStore(store, s.net.Protocol().Schema(), nil), Entities: store.Len(),
	}
}

// begin starts the steady part of the run: what is measured is measured from here.
func (s *crowdServer) begin() {
	s.steady, s.begun = true, s.now()
	s.ticks.Clear()
	for id := range s.net.Clients {
		stats, _ := s.net.ClientStats(id)
		s.sent[id] = stats.Packets.BytesSent
	}
}

// measured tells if the steady part has enough ticks to say something about them: a tenth of a second of them.
func (s *crowdServer) measured() bool {
	return s.steady && s.ticks.Len() >= max(1, int(min(s.o.seconds/4, 1)*float64(s.o.hz)))
}

// stop ends motion and with it the steady part, and tells what was measured in it.
func (s *crowdServer) stop(r *Result) {
	s.motion.Stop()
	state := s.state()
	s.settled = &Settled{Tick: int64(state.Tick), Hash: state.Hash}
	if s.sights != nil {
		r.Interest, r.Seen, r.Came, r.Went = true, s.sights.perClient(s.net), s.sights.came, s.sights.went
	} else {
		r.Seen = float64(state.Entities)
	}
	if !s.steady {
		return
	}
	s.steady = false
	r.Churn = float64(s.churned) / (s.now() - s.begun).Seconds()
	p50, p99 := s.ticks.Whole()
	r.TickP50, r.TickP99 = microseconds(p50), microseconds(p99)
	r.AllocsPerTick = float64(s.meter.Allocations) / float64(max(1, s.ticks.Len()))
	var bytes, clients float64
	for id, before := range s.sent {
		stats, ok := s.net.ClientStats(id)
		if !ok {
			continue
		}
		clients++
		bytes += float64(stats.Packets.BytesSent - before)
		r.RTT += inMilliseconds(stats.RTT)
		r.LossSeen += stats.Loss
	}
	if clients > 0 {
		r.KbitPerClient = bytes * 8 / 1000 / (s.now() - s.begun).Seconds() / clients
		r.RTT /= clients
		r.LossSeen /= clients
	}
}

// agrees tells if all connected clients have reported the server's hash.
func (s *crowdServer) agrees() bool { return s.disagreement() == "" }

// differs tells if a client has answered Settled with another hash than the server's.
func (s *crowdServer) differs() bool {
	for id := range s.net.Clients {
		if hash, known := s.hashFor(id); known && s.reports[id].Settled == s.settled.Tick && s.reports[id].Hash != hash {
			return true
		}
	}
	return false
}

// disagreement names the first connected client whose newest report is another world than the server's. Only answers to
// Settled count: a client that has not heard of it cannot tell yet that it is equal, and must not be sent away.
func (s *crowdServer) disagreement() string {
	connected := 0
	for id := range s.net.Clients {
		connected++
		report := s.reports[id]
		hash, known := s.hashFor(id)
		switch {
		case !known || report.Settled != s.settled.Tick:
			return fmt.Sprintf("client %d has not answered what its world came to", id)
		case report.Hash != hash:
			return fmt.Sprintf("client %d differs: it has hash %016x, the server %016x", id, report.Hash, hash)
		}
	}
	if connected == 0 {
		return "no client is connected"
	}
	return ""
}

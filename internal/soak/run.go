package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transfer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// phase is the course of a phase, which a run repeats. It injects faults until tick rest. Then the network is repaired and the
// world stops changing. The worlds are compared in tick compare. The rest lasts for the silence timeout of killed clients plus 3
// s.
type phase struct {
	ticks, rest, compare int
	silence              time.Duration
}

func longPhase() phase { return phase{2000, 1600, 1990, 10 * time.Second} }

// shortPhase returns a phase for fuzzing.
func shortPhase() phase { return phase{260, 100, 255, 2 * time.Second} }

// soak is one run.
type soak struct {
	o        options
	h        *harness
	net      *nettest.Net
	protocol *netcode.Protocol
	list     *collections.List[uint32]
	rooms    *interest.Rooms
	world    *world
	events   []event
	tick     int
	playing  bool
	link     transport.Link
	darkAll  int // end of the time when all links are down
	stopped  int // end of the time when the server is stopped
	calm     int // last tick with a fault on all links
	players  map[*nettest.Client]*player
	joined   int             // number of clients set up
	name     string          // identity of the client that joins next; "": none
	host     *netcode.Client // the player at the server
	liars    []*liar
	stranger *adversary.Stranger
	bodies   map[netcode.ClientID]ecs.Entity
	came     []netcode.ClientID
	left     []netcode.ClientID
	checks   checks
	injected map[string]int
	longest  time.Duration
}

// player is the state of an honest client.
type player struct {
	name   string // identity, "" for none
	leaves int    // tick in which it leaves; 0: never
	dark   int    // end of the time when its link is down
	narrow int    // end of the time when its link is narrow
	asleep int    // end of the time when it runs no frame
	flap   int    // end of the time when it changes rooms
	calm   int    // last tick with a fault on it
	session
}

// liar is a malicious client.
type liar struct {
	*adversary.Client
	lie   adversary.Lie[*adversary.Client]
	since int
}

func newSoak(o options) *soak {
	s := &soak{
		o: o, h: &harness{}, rooms: interest.NewRooms(), players: map[*nettest.Client]*player{},
		bodies: map[netcode.ClientID]ecs.Entity{}, injected: map[string]int{}, events: o.only, playing: true,
	}
	s.checks = newChecks(s)
	if o.all {
		s.events = draw(o)
	}
	s.protocol, s.list = protocol(s.checks.hear)
	s.link = transport.Link{
		Delay: 30 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: o.Loss, Reorder: o.Reorder, Duplicate: o.Dup, Corrupt: o.Corrupt,
	}
	if o.Burst > 0 {
		s.link.BurstLoss = transport.GilbertElliott{Enter: 1. / 200, Length: o.Burst}
	}
	s.net = nettest.New(s.h, nettest.Config{
		Protocol: s.protocol, Seed: o.Seed, Rate: ticksASecond, Link: s.link, Setup: s.setUp, SetupClient: s.setUpClient,
		Server: o.server(), Client: netcode.Config{SentPackets: 256}, Payload: func(int) []byte { return []byte(s.name) },
	})
	s.net.Server.Systems.Receive.Socket.(interface{ Reserve(int) }).Reserve(memory.QueueSize)
	s.newHost()
	for range o.Clients {
		s.join(0)
	}
	for i := range o.Adversaries {
		l := &liar{Client: adversary.NewClient(adversary.Config{
			Protocol: s.protocol, Conn: s.net.Listen(), Remote: s.net.Address(), Now: s.net.Now, Seed: o.Seed ^ uint64(i+1)<<32,
		})}
		s.liars = append(s.liars, l)
		s.net.Each(func() { s.lie(l, i) })
	}
	s.stranger = adversary.NewStranger(s.protocol, o.Seed, steps.OfServer(s.net.Server).Receive)
	s.net.Each(s.checks.server)
	s.net.OnSend(s.checks.sent)
	return s
}

// setUp sets up the server.
func (s *soak) setUp(g *systems.ServerSystems, w *ecs.World) {
	s.world = newWorld(s, w)
	secrets := interest.MaskOf[secret](s.protocol.Schema())
	if s.o.breaks == "I9" {
		secrets = snapshot.Mask{}
	}
	sight := interest.Any(s.rooms, interest.NewOwnerOnly(interest.OwnerConfig{}))
	g.Server.SetInterest(interest.New(interest.NewRows(sight, interest.OwnerRows(secrets)), interest.Despawn))
	g.Server.OnConnect(func(id netcode.ClientID) {
		s.checks.began(id)
		if g.Server.Returned(id) {
			s.injected["returned"]++
			return
		}
		s.came = append(s.came, id)
		s.rooms.Enter(id, interest.Room(1+id%rooms))
	})
	g.Server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	g.Server.OnLeave(func(id netcode.ClientID) { s.left = append(s.left, id) })
	g.Away.Then = systems.HandOver
	transfer.On(g.Server, s.files())
	g.Server.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) {
		if s.o.breaks == "I6" {
			reason = nil
		}
		s.checks.ended(id, reason)
	})
	g.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		room := interest.Room(1)
		for _, t := range s.world.all {
			if t.Entity == e {
				t.id, room = id, t.room
			}
		}
		s.rooms.Add(id, room)
	})
	predict.Simulate(g, predict.Config{}, &push{})
	g.Add(tick.PreLateUpdate, systems.Func(func(*ecs.World) {
		if g.Server.TickDue() {
			s.game(g.Server)
		}
	}))
}

// game runs the server's game for one tick.
func (s *soak) game(server *netcode.Server) {
	s.checks.writes()
	if !s.playing { // Sessions begin and end during the rest too; their bodies change in the next phase.
		return
	}
	for _, id := range s.came {
		s.bodies[id] = s.world.avatar(id)
	}
	for _, id := range s.left {
		if e, ok := s.bodies[id]; ok {
			s.world.RemoveEntity(e)
			delete(s.bodies, id)
		}
	}
	s.came, s.left = s.came[:0], s.left[:0]
	s.world.play()
	if s.tick%10 == 0 {
		for _, id := range slices.Sorted(server.Clients) {
			s.checks.say(id, func(m *word) error { return netcode.Send(server, netcode.To(id), m) })
		}
	}
}

// setUpClient sets up a client that predicts, sets inputs, writes its own components and sends messages.
func (s *soak) setUpClient(_ int, c *systems.ClientSystems, w *ecs.World) {
	s.joined++
	r := rand.New(rand.NewPCG(s.o.Seed, uint64(s.joined)))
	predict.Simulate(c, predict.Config{}, &push{})
	transfer.On(c.Client, s.files())
	mineID := ecs.ComponentID[mine](w)
	c.Add(tick.PreUpdate, systems.Func(func(w *ecs.World) {
		if c.Client.State() != netcode.Connected {
			return
		}
		push := int8(0)
		if s.playing {
			push = int8(r.IntN(256) - 128)
		}
		if err := input.Set(c.Client, &control{Push: push, Fire: s.playing && r.IntN(9) == 0}); err != nil {
			s.h.Errorf("input.Set: %v", err)
		}
		if !s.playing {
			return
		}
		for query := ecs.Select(w, ecs.All(mineID)); query.Next(); {
			if id, ok := c.ID(query.Entity()); ok && r.IntN(6) == 0 && mayWrite(c.Client, id) {
				*(*mine)(query.Get(mineID)) = mine{By: uint32(c.Client.ID()), V: r.Uint32()}
				if s.o.breaks == "I10" {
					(*mine)(query.Get(mineID)).By += 1000
				}
			}
		}
		if s.tick%10 == 3 {
			s.checks.say(c.Client.ID()|toServer, func(m *word) error { return netcode.Send(c.Client, netcode.ToServer(), m) })
		}
	}))
}

// join adds an honest client. Every second one has an identity.
func (s *soak) join(leaves int) {
	s.name = ""
	if s.joined%2 == 1 {
		s.name = fmt.Sprint("player ", s.joined)
	}
	c := s.net.Join()
	s.players[c] = &player{name: s.name, leaves: leaves, calm: s.tick}
}

// connect connects a client again.
func (s *soak) connect(c *nettest.Client) {
	_ = c.ConnectWith(s.net.Address(), []byte(s.players[c].name))
}

// lie runs one frame of a liar.
func (s *soak) lie(l *liar, number int) {
	lies := adversary.ClientLies()
	l.Step()
	if l.Reason() != nil || s.tick-l.since > 20*ticksASecond {
		l.Honest()
		l.Connect()
		l.since = s.tick
	}
	if l.lie.Name == "" {
		l.lie = lies[number%len(lies)]
	}
	if l.Connected() && l.lie.Name != "HaltAt" {
		l.lie.Tell(l.Client)
		if l.lie.Name == "Write" && len(s.world.all) > 0 {
			l.Write(s.world.targets(2)...)
		}
	}
}

// someone returns a random connected honest client, 0 if there is none.
func (s *soak) someone(r *rand.Rand) netcode.ClientID {
	var ids []netcode.ClientID
	for _, id := range slices.Sorted(s.net.Server.Clients) {
		if !s.isLiar(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || r.IntN(8) == 0 {
		return 0
	}
	return ids[r.IntN(len(ids))]
}

func (s *soak) isLiar(id netcode.ClientID) bool { return s.checks.liars[id] }

// run executes one run.
func run(o options) (r result) {
	s := newSoak(o)
	defer func() {
		if p := recover(); p != nil {
			if f, ok := p.(failure); ok {
				r.Failure = f.what
			} else {
				r.Failure = fmt.Sprintf("I7 Alive: panic: %v", p)
			}
		}
		s.report(&r)
	}()
	r.Seed = o.Seed
	next := 0
	for s.tick = range o.Ticks {
		for ; next < len(s.events) && s.events[next].Tick <= s.tick; next++ {
			if s.playing {
				s.inject(s.events[next])
			}
		}
		s.phase()
		s.sabotage()
		began := nanotime()
		s.net.Step()
		s.longest = max(s.longest, nanotime()-began)
		s.checks.clients()
		if s.h.Failed() {
			r.Failure = s.h.what
			break
		}
		if o.measures && (s.tick+1)%max(o.Ticks/10, 1) == 0 {
			s.measure(&r)
		}
	}
	return r
}

// report fills in a result.
func (s *soak) report(r *result) {
	r.Ticks, r.Hash = s.tick, fmt.Sprintf("%016x", s.net.TraceHash())
	if r.Failure == "" {
		r.Ticks++
	}
	r.Injected, r.Checked = s.injected, s.checks.count
	for _, l := range s.liars {
		for lie, n := range l.AllTold() {
			r.Injected["lie "+lie] += n
		}
	}
	maps.Copy(r.Injected, s.stranger.AllTold())
	links := s.net.LinkStats()
	for fault, n := range map[string]uint64{"lost": links.Lost, "doubled": links.Duplicated, "overtaken": links.Reordered, "damaged": links.Corrupted, "blacked out": links.BlackedOut} {
		r.Injected[fault] = int(n)
	}
	r.Injected["moved"], r.Injected["writes refused"] = int(s.net.Server.Stats().Migrated), int(s.net.Server.Stats().NotAllowed)
	r.Sessions = int(s.net.Server.Stats().Disconnected)
	r.Longest = s.longest.Seconds() * 1000
	if len(r.Heap) == 0 {
		r.Heap = []int{0}
	}
}

// used returns the heap in use after garbage collection.
func used() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// measure records the heap.
func (s *soak) measure(r *result) {
	r.Heap = append(r.Heap, used())
	if s.o.progress != nil {
		fmt.Fprintf(s.o.progress, "seed %d: tick %d, %d clients, %.1f MB, %d sessions ended\n",
			s.o.Seed, s.tick+1, len(s.net.Clients), float64(r.Heap[len(r.Heap)-1])/1e6, s.net.Server.Stats().Disconnected)
	}
}

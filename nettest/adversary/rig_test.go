package adversary_test

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

type position struct {
	X, Y float32 `net:"min=-64,max=64,step=0.01"`
}
type helm struct{ Turn float32 }
type control struct {
	Fire  bool `net:"event"`
	Stick int8
}
type word struct{ Number uint32 }
type query struct{ Number uint32 }
type reply struct{ Number uint32 }

// TestMain lets the garbage collector run seldom: most memory of these tests is of worlds that are over.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// busy is a server with six honest clients: walkers, a component that clients write, inputs, messages and questions.
type busy struct {
	t        *testing.T
	net      *nettest.Net
	protocol *netcode.Protocol
	ends     map[netcode.ClientID]errs.Reason
	came     []netcode.ClientID
	all      []ecs.Entity
	seen     []netcode.Tick
	at       []time.Duration // of the newest state of each client
	gap      time.Duration   // the longest time without new state at an honest client
	words    int
}

const honest = 6

func busyProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[helm](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	input.Register[control](p)
	netcode.Handle(p, func(*netcode.Context, *word) {})
	netcode.Answer(p, func(_ *netcode.Context, q *query, r *reply) error { r.Number = q.Number; return nil })
	return p
}

func newBusy(t *testing.T, seed uint64, server netcode.Config) *busy {
	b := &busy{t: t, protocol: busyProtocol(), ends: map[netcode.ClientID]errs.Reason{}}
	b.net = nettest.New(t, nettest.Config{
		Protocol: b.protocol, Clients: honest, Seed: seed, Rate: 30, Game: b.play, Server: server,
		Link: transport.Link{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .01},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.Server.OnConnect(func(id netcode.ClientID) { b.came = append(b.came, id) })
			s.Server.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) { b.ends[id] = reason.Reason })
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) { b.setUpClient(c, w) },
	})
	b.seen, b.at = make([]netcode.Tick, honest), make([]time.Duration, honest)
	require.True(t, b.net.RunUntil(3*time.Second, b.net.Connected))
	b.run(time.Second)
	b.gap = 0
	return b
}

// setUpClient lets an honest client play: it sets inputs, writes its own components, talks and asks.
func (b *busy) setUpClient(c *systems.ClientSystems, w *ecs.World) {
	c.Add(tick.Update, systems.Func(func(*ecs.World) {
		if c.Client.State() != netcode.Connected {
			return
		}
		require.NoError(b.t, input.Set(c.Client, &control{Stick: int8(b.net.Frame() % 100)}))
		if b.net.Frame()%10 == 0 {
			if netcode.Send(c.Client, netcode.ToServer(), &word{1}, netcode.Over(netcode.ReliableOrdered)) == nil {
				b.words++
			}
			_ = netcode.Call(b.t.Context(), c.Client, 0, &query{1}, func(*reply, error) {})
		}
		filter := generic.NewFilter1[helm]()
		for q := filter.Query(w); q.Next(); {
			if id, ok := c.ID(q.Entity()); ok && authority.MayWrite[helm](c.Client, id) {
				q.Get().Turn = float32(b.net.Frame() % 90)
			}
		}
	}))
}

// play moves entities, and gives each client one of its own.
func (b *busy) play(w *ecs.World, frame int) {
	bodies := generic.NewMap2[components.Replicated, position](w)
	for len(b.all) < 60 {
		b.all = append(b.all, bodies.NewWith(&components.Replicated{}, &position{X: float32(len(b.all))}))
	}
	ships := generic.NewMap4[components.Replicated, components.Owner, position, helm](w)
	for _, id := range b.came {
		ships.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &position{}, &helm{})
	}
	b.came = b.came[:0]
	at := generic.NewMap[position](w)
	for i, e := range b.all {
		at.Get(e).Y = float32((frame+i)%100) / 10
	}
	if frame%20 == 0 {
		_ = netcode.Send(b.net.Server.Server, netcode.ToAll(), &word{2}, netcode.Over(netcode.Reliable))
	}
}

// step runs a frame and measures how old the state of each honest client is.
func (b *busy) step() {
	b.net.Step()
	for i, c := range b.net.Clients[:honest] {
		now := b.net.Now()
		if r := c.Replica(); r != nil && r.Tick() > b.seen[i] {
			b.seen[i], b.at[i] = r.Tick(), now
		} else if b.at[i] > 0 {
			b.gap = max(b.gap, now-b.at[i])
		}
	}
}

func (b *busy) run(d time.Duration) {
	for end := b.net.Now() + d; b.net.Now() < end; {
		b.step()
	}
}

// unmoved fails unless the honest clients notice nothing, and one more joins in two seconds.
func (b *busy) unmoved(lie func()) {
	b.t.Helper()
	began := b.net.Now()
	newcomer := b.net.Join()
	for newcomer.State() != netcode.Connected {
		require.LessOrEqual(b.t, b.net.Now()-began, 2*time.Second, "an honest client joins in 2 s")
		lie()
		b.step()
	}
	require.LessOrEqual(b.t, b.gap, 300*time.Millisecond, "the longest time without new state")
	for i, c := range b.net.Clients[:honest] {
		require.Equal(b.t, netcode.Connected, c.State(), "client %d", i)
		require.NotContains(b.t, b.ends, c.ID())
		require.Zero(b.t, c.Stats().Malformed)
	}
	newcomer.Close()
	b.run(500 * time.Millisecond)
	b.net.Remove(newcomer)
}

// liar joins the server.
func (b *busy) liar(seed uint64) *adversary.Client {
	c := adversary.NewClient(adversary.Config{Protocol: b.protocol, Conn: b.net.Listen(), Remote: b.net.Address(), Now: b.net.Now, Seed: seed})
	b.net.Each(c.Step)
	return c
}

// flat fails unless the heap grew by less than a per cent and some noise.
func flat(t *testing.T, before int, told map[string]int) {
	t.Helper()
	now := alloctest.Heap(t)
	require.LessOrEqual(t, now, before+before/100+128<<10, fmt.Sprint("bytes on the heap; told: ", told))
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

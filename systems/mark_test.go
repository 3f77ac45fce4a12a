package systems_test

import (
	"fmt"
	mathrand "math/rand"
	"math/rand/v2"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func TestMarksOnlyServer(t *testing.T) {
	r := newRig(t)
	systems.Mark[position](r.server.Capture, ecs.Entity{}) // Before the first frame there is nothing to mark.
	r.server.Capture.MarkWorld()
	r.server.Capture.MarksOnly = true
	e := r.unmarked(t)
	systems.Mark[position](r.server.Capture, e)
	r.until(t, func() bool { seen, _ := r.seen(e); return seen.X == 5 })

	f := r.spawn()
	r.server.Capture.MarkWorld()
	r.until(t, func() bool { seen, _ := r.seen(f); return seen != nil })
}

// unmarked writes to an entity without a mark. The client does not receive the write.
func (r *rig) unmarked(t *testing.T) ecs.Entity {
	e := r.spawn()
	r.until(t, func() bool { seen, _ := r.seen(e); return seen != nil })
	at := (*position)(r.worlds[0].Get(e, ecs.ComponentID[position](r.worlds[0])))
	at.X = 5
	for range 60 {
		r.step()
	}
	seen, _ := r.seen(e)
	require.NotEqual(t, float32(5), seen.X, "nobody marked it")
	return e
}

// A Marker marks its components, also if it was made before the first frame. Components that cannot be marked panic when
// it is made.
func TestMarker(t *testing.T) {
	r := newRig(t)
	r.server.Capture.MarksOnly = true
	moved := r.server.Capture.Marker(generic.T1[position]()...)
	moved.Mark(ecs.Entity{})
	e := r.unmarked(t)
	moved.Mark(e)
	r.until(t, func() bool { seen, _ := r.seen(e); return seen.X == 5 })
	alloctest.Zero(t, 100, func() { moved.Mark(e) })

	require.PanicsWithValue(t, "netecs: a Marker of systems_test.notReplicated, which is not replicated: register it with netcode.Replicate",
		func() { r.server.Capture.Marker(generic.T[notReplicated]()) })
}

type notReplicated struct{ X float32 }

func TestCheckMarksReports(t *testing.T) {
	r := newRig(t)
	r.server.Capture.MarksOnly, r.server.Capture.CheckMarks = true, true
	e := r.spawn()
	r.until(t, func() bool { seen, _ := r.seen(e); return seen != nil })
	require.Empty(t, r.errors)
	(*position)(r.worlds[0].Get(e, ecs.ComponentID[position](r.worlds[0]))).X = 5
	for range 10 {
		r.step()
	}
	require.Len(t, r.errors, 1)
	var problem netecs.Problem
	require.ErrorAs(t, r.errors[0], &problem)
	require.Equal(t, netecs.UnmarkedWrite, problem.Kind)
}

type (
	twinSpeed  struct{ X, Y, Z, W float32 }
	twinHealth struct{ HP int16 }
	twinSlow   struct{ N uint32 }
	twinSlower struct{ N uint32 }
	twinSaid   struct{ N uint32 }
	twinAim    struct {
		At ecs.Entity `net:"entity"`
	}
	twinHeld struct{ ecs.Relation }
	twinTag  struct{}
)

// twinGame is a game's system that writes all kinds of components, and marks them if required.
type twinGame struct {
	random  *rand.Rand
	capture *systems.Capture
	marks   bool
	moved   systems.Marker
	bodies  []ecs.Entity
	world   *ecs.World
}

func (g *twinGame) Initialize(w *ecs.World) { g.world = w }

func (g *twinGame) Finalize(*ecs.World) {}

func (g *twinGame) Update(*ecs.World) {
	if len(g.bodies) < 20 || g.random.IntN(12) == 0 {
		g.change()
	}
	for _, k := range g.random.Perm(len(g.bodies))[:g.random.IntN(len(g.bodies)+1)] {
		g.write(g.bodies[k])
	}
}

// write writes a component of an entity, often with a value of some ticks ago.
func (g *twinGame) write(e ecs.Entity) {
	n := g.random.IntN(3)
	switch g.random.IntN(7) {
	case 0, 1:
		twinWrite(g, e, func(p *position) { p.X = float32(n) })
	case 2, 3:
		*twinGet[position](g, e) = position{X: float32(n), Y: g.random.Float32()}
		if v := twinGet[twinSpeed](g, e); v != nil {
			v.X, twinGet[twinHealth](g, e).HP = g.random.Float32(), int16(n)
		}
		if g.marks {
			g.moved.Mark(e)
		}
	case 4:
		twinWrite(g, e, func(s *twinSlow) { s.N = uint32(n) })
		twinWrite(g, e, func(s *twinSlower) { s.N = uint32(n) })
	case 5:
		other := g.bodies[g.random.IntN(len(g.bodies))]
		twinWrite(g, e, func(a *twinAim) { a.At = other })
		if held := ecs.ComponentID[twinHeld](g.world); g.world.Has(e, held) && other != e {
			g.world.Relations().Set(e, held, other)
			twinWrite(g, e, func(*twinHeld) {})
		}
	case 6:
		if s := twinGet[twinSaid](g, e); s != nil {
			s.N = uint32(n)
			systems.Mark[twinSaid](g.capture, e) // Not captured by comparison.
		}
	}
}

func twinGet[T any](g *twinGame, e ecs.Entity) *T {
	return (*T)(g.world.Get(e, ecs.ComponentID[T](g.world)))
}

// twinWrite writes a component that the entity may have, and marks it.
func twinWrite[T any](g *twinGame, e ecs.Entity, write func(*T)) {
	if c := twinGet[T](g, e); c != nil {
		write(c)
		if g.marks {
			systems.Mark[T](g.capture, e)
		}
	}
}

// change adds and removes entities and components.
func (g *twinGame) change() {
	if g.marks {
		g.capture.MarkWorld()
	}
	w := g.world
	for range g.random.IntN(30) {
		e := w.NewEntity(ecs.ComponentID[components.Replicated](w), ecs.ComponentID[position](w))
		for _, some := range [][]ecs.ID{
			{ecs.ComponentID[twinSpeed](w), ecs.ComponentID[twinHealth](w)}, {ecs.ComponentID[twinSlow](w), ecs.ComponentID[twinSlower](w)},
			{ecs.ComponentID[twinAim](w)}, {ecs.ComponentID[twinSaid](w)}, {ecs.ComponentID[twinHeld](w)}, {ecs.ComponentID[components.Rate](w)},
		} {
			if g.random.IntN(3) == 0 {
				w.Add(e, some...)
			}
		}
		if rate := twinGet[components.Rate](g, e); rate != nil {
			rate.Every = uint16(1 + g.random.IntN(3))
		}
		g.bodies = append(g.bodies, e)
	}
	for range g.random.IntN(20) {
		k := g.random.IntN(len(g.bodies) + 1)
		if k == len(g.bodies) || len(g.bodies) < 10 {
			return
		}
		if tag := ecs.ComponentID[twinTag](w); g.random.IntN(2) > 0 && !w.Has(g.bodies[k], tag) {
			w.Add(g.bodies[k], tag)
			continue
		}
		w.RemoveEntity(g.bodies[k])
		g.bodies[k] = g.bodies[len(g.bodies)-1]
		g.bodies = g.bodies[:len(g.bodies)-1]
	}
}

// listener is a socket that stores its server's datagrams, and loses some.
type listener struct {
	*memory.Conn
	random *rand.Rand
	sent   []string
}

func (l *listener) Send(to transport.Addr, datagram []byte) error {
	if l.sent = append(l.sent, fmt.Sprintf("%v %x", to, datagram)); l.random.IntN(10) == 0 {
		return nil
	}
	return l.Conn.Send(to, datagram)
}

// twinPlay is a server that sends to two clients.
func twinPlay(t *testing.T, seed uint64, marks bool) []string {
	e, p := newEnds(), netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[twinSpeed](p)
	netcode.Replicate[twinHealth](p)
	netcode.Replicate[twinSlow](p, netcode.Every(4))
	netcode.Replicate[twinSlower](p, netcode.Once())
	netcode.Replicate[twinSaid](p, netcode.Marked())
	netcode.Replicate[twinAim](p)
	netcode.Replicate[twinHeld](p)
	server, err := netcode.NewServer(p, netcode.Config{Random: mathrand.New(mathrand.NewSource(1))})
	require.NoError(t, err)
	server.OnError(func(error) {}) // Cycles of relations are reported in a different order.
	socket := &listener{Conn: e.listen(t, serverAddress), random: rand.New(rand.NewPCG(seed, 2))}
	group := systems.NewServer(server, struct{ systems.Socket }{socket}, e.clock)
	group.Capture.MarksOnly = marks
	game := &twinGame{random: rand.New(rand.NewPCG(seed, 1)), capture: group.Capture, marks: marks}
	game.moved = group.Capture.Marker(generic.T3[twinSpeed, twinHealth, position]()...)
	group.Add(tick.Update, game)
	e.run(e.world(), group)
	for k := range 2 {
		client, err := netcode.NewClient(p, netcode.Config{Random: mathrand.New(mathrand.NewSource(int64(2 + k)))})
		require.NoError(t, err)
		require.NoError(t, client.Connect(serverAddress))
		e.run(e.world(), systems.NewClient(client, e.listen(t, transport.Addr{}), e.clock))
	}
	for range 200 {
		e.step()
	}
	return socket.sent
}

// A server with marks for all writes sends the same datagrams as one that compares, for any game and any loss.
func TestMarksSendTheSameDatagrams(t *testing.T) {
	for seed := range uint64(16) {
		compared, marked := twinPlay(t, seed, false), twinPlay(t, seed, true)
		require.GreaterOrEqual(t, len(compared), 150)
		require.Equal(t, compared, marked, "seed %d", seed)
	}
}

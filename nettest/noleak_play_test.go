package nettest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// The components and messages of the game beside those of other tests.
type (
	leakSecret struct{ Marker uint32 } // The client under test may not see it of anybody.
	leakMine   struct{ Course int32 }  // Its owner writes it.
	leakChild  struct{ ecs.Relation }
	leakStick  struct{ X, Y int16 } // What a player does who has hidden entities alone.
	leakWord   struct {
		Number uint32
		Of     netcode.NetworkID `net:"entity"`
	}
	leakQuery struct {
		Number uint32
		Of     netcode.NetworkID `net:"entity"`
	}
	leakReply struct {
		Number uint32
		Of     netcode.NetworkID `net:"entity"`
	}
)

// leakEntity is an entity of the game.
type leakEntity struct {
	ecs.Entity
	id     netcode.NetworkID // zero until the first capture
	secret bool              // the client under test never sees it
	hidden bool              // the client does not see it now
	rated  bool
	blind  bool // it names somebody whom the client does not see, or nobody
}

// leakGame is one of two games that are the same to client 0.
type leakGame struct {
	*shelf
	t         *testing.T
	met       leakMet
	net       *nettest.Net
	which     uint64
	open      *rand.Rand // the same in both
	secret    *rand.Rand // another in each
	policy    *interest.Explicit
	down, up  transport.Link
	began     int
	frames    int
	alone     int // from this frame on no visible entity is born
	all       []*leakEntity
	heard     []string
	trace     []string
	byEntity  map[ecs.Entity]*leakEntity
	last      int // frame of the last birth or death: one for each capture, so that indexes are handed out alike
	questions uint32
}

func newLeakGame(t *testing.T, seed, which uint64, met leakMet) *leakGame {
	g := &leakGame{
		shelf: newShelf(), t: t, met: met, which: which, byEntity: map[ecs.Entity]*leakEntity{},
		open: rand.New(rand.NewPCG(seed, 1)), secret: rand.New(rand.NewPCG(seed, 2+which)), frames: 240,
	}
	p := g.protocol
	netcode.Replicate[aim](p)
	netcode.Replicate[leakSecret](p)
	netcode.Replicate[leakChild](p)
	netcode.Replicate[leakMine](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Handle(p, func(ctx *netcode.Context, m *leakWord) {
		if ctx.Local == 1 {
			g.heard = append(g.heard, fmt.Sprint(*m, ctx.Entity))
		}
	})
	netcode.Answer(p, func(ctx *netcode.Context, q *leakQuery, r *leakReply) error {
		r.Number, r.Of = q.Number, q.Of
		if q.Of.IsZero() || !g.net.Server.Visible(ctx.Sender, q.Of) {
			return errors.New("nobody")
		}
		return nil
	}, netcode.FromClient())
	input.Register[leakStick](p)
	input.Relay[leakStick](p)
	g.alone = g.frames/3 + g.open.IntN(g.frames/3)
	g.link()
	config := netcode.Config{SendBudget: []int{-1, -1, 3000}[g.open.IntN(3)]}
	if g.open.IntN(3) > 0 {
		g.policy = interest.NewExplicit()
	}
	g.net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: seed, Server: config, Game: g.play, Setup: g.setUp,
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			if i == 0 {
				c.Add(netcode.StageUpdate, &leakPlayer{g: g, c: c, random: rand.New(rand.NewPCG(seed, 9))})
			}
			if i >= 2 {
				c.Add(netcode.StageUpdate, call(func() { g.actSecretly(c.Client) }))
			}
		},
	})
	return g
}

// link chooses what the network does to the client under test.
func (g *leakGame) link() {
	of := func() transport.Link {
		return transport.Link{
			Delay: []time.Duration{0, 30, 90}[g.open.IntN(3)] * time.Millisecond, Jitter: 20 * time.Millisecond,
			Loss: []float64{0, .1, .4}[g.open.IntN(3)], Duplicate: .1, Reorder: .1,
		}
	}
	g.down, g.up = of(), of()
}

func (g *leakGame) address() transport.Addr {
	stats, _ := g.net.Server.ClientStats(1)
	return stats.Address
}

// setUp hides what is to be hidden: by a policy, or as soon as it is born.
func (g *leakGame) setUp(s *systems.ServerSystems, _ *ecs.World) {
	if g.policy != nil {
		hidden := interest.MaskOf[leakSecret](g.protocol.Schema())
		s.Server.SetInterest(interest.New(interest.NewRows(g.policy, func(_ *snapshot.Store, client netcode.ClientID, _ netcode.NetworkID) snapshot.Mask {
			if client == 1 {
				return hidden.Not()
			}
			return snapshot.AllRows()
		}), interest.Despawn))
	}
	s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		at := g.byEntity[e]
		at.id = id
		if g.policy != nil {
			g.policy.Show(2, id)
		}
		g.sight(at)
	})
}

// actSecretly has a player of hidden entities act.
func (g *leakGame) actSecretly(c *netcode.Client) {
	if c.State() != netcode.Connected || g.began == 0 {
		return
	}
	_ = input.Set(c, &leakStick{int16(g.secret.Uint32()), int16(g.secret.Uint32())})
	for _, e := range g.all {
		if e.secret && g.net.Server.Owner(e.id) == c.ID() {
			g.met["hidden inputs"]++
			return
		}
	}
}

// sight has the client see an entity, or not.
func (g *leakGame) sight(e *leakEntity) {
	switch {
	case e.id.IsZero():
	case g.policy == nil && e.hidden:
		g.net.Server.Hide(1, e.id)
	case g.policy == nil:
		g.net.Server.Show(1, e.id)
	case e.hidden:
		g.policy.Hide(1, e.id)
	default:
		g.policy.Show(1, e.id)
	}
}

func (g *leakGame) note(format string, args ...any) {
	g.trace = append(g.trace, fmt.Sprintf("frame %d ", g.net.Frame())+fmt.Sprintf(format, args...))
}

// some chooses an entity with a property, nil where there is none.
func (g *leakGame) some(r *rand.Rand, of func(e *leakEntity) bool) *leakEntity {
	all := slices.DeleteFunc(slices.Clone(g.all), func(e *leakEntity) bool { return !of(e) })
	if len(all) == 0 {
		return nil
	}
	return all[r.IntN(len(all))]
}

func isSecret(e *leakEntity) bool { return e.secret }
func isOpen(e *leakEntity) bool   { return !e.secret }
func isSeen(e *leakEntity) bool   { return !e.hidden && !e.id.IsZero() }

// leakPlayer is the game at the client under test: it goes by what it sees alone.
type leakPlayer struct {
	g      *leakGame
	c      *systems.ClientSystems
	random *rand.Rand
}

func (p *leakPlayer) Initialize(*ecs.World) {}
func (p *leakPlayer) Finalize(*ecs.World)   {}

// Update writes what is its own, and asks about anybody, also by ids that it guesses.
func (p *leakPlayer) Update(w *ecs.World) {
	g, client := p.g, p.c.Client
	if client.State() != netcode.Connected || g.began == 0 {
		return
	}
	mine := generic.NewFilter1[leakMine]().Query(w)
	for mine.Next() {
		if id, ok := p.c.ID(mine.Entity()); ok && authority.MayWrite[leakMine](client, id) && p.random.IntN(3) == 0 {
			mine.Get().Course = int32(p.random.IntN(1000))
			g.met["own writes"]++
		}
	}
	if p.random.IntN(6) > 0 {
		return
	}
	g.questions++
	id := netcode.NetworkID{Index: uint32(p.random.IntN(30)), Generation: 1 + uint32(p.random.IntN(2))}
	var how []netcode.How
	if p.random.IntN(3) == 0 {
		how = append(how, netcode.About(id))
	}
	number := g.questions
	err := netcode.Call(context.Background(), client, 0, &leakQuery{Number: number, Of: id}, func(r *leakReply, err error) {
		if err == nil {
			g.met["answers"]++
			g.heard = append(g.heard, fmt.Sprint(number, *r))
			return
		}
		g.met["refusals"]++
		g.heard = append(g.heard, fmt.Sprint(number, err))
	}, how...)
	if err != nil {
		g.heard = append(g.heard, fmt.Sprint(number, err))
	}
	_ = netcode.Send(client, netcode.ToServer(), &leakWord{Number: number, Of: id}, how...)
	_ = authority.Ask(client, id)
}

// set gives an entity a component, which it may have already.
func set[T any](w *ecs.World, e ecs.Entity, value T) {
	m := generic.NewMap1[T](w)
	if !w.Has(e, ecs.ComponentID[T](w)) {
		m.Assign(e, &value)
		return
	}
	*m.Get(e) = value
}

// lose takes a component from an entity, if it has it.
func lose[T any](w *ecs.World, e ecs.Entity) {
	if w.Has(e, ecs.ComponentID[T](w)) {
		m := generic.NewMap1[T](w)
		m.Remove(e)
	}
}

// hang makes an entity the child of another one, or of nobody.
func hang(w *ecs.World, e, parent ecs.Entity) { hangBy[leakChild](w, e, parent) }

// hangBy is hang with a relation of any type.
func hangBy[T any](w *ecs.World, e, parent ecs.Entity) {
	id := ecs.ComponentID[T](w)
	if !w.Has(e, id) {
		w.Add(e, id)
	}
	w.Relations().Set(e, id, parent)
}

// grouping puts an entity into a group.
func grouping(id int) components.Group { return components.Group{ID: uint32(id)} }

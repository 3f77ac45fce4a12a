package netecs_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// smoothed is a pair whose client shows positions and rotations some ticks late.
type smoothed struct {
	*pair
	smooth   *netecs.Smooth
	smoothID ecs.ID
	late     tick.Span
}

func newSmoothed(t testing.TB, p *pair) *smoothed {
	list := []replica.Interpolation{
		{Row: rowPosition, Twin: reflect.TypeFor[components.Smooth[position]]()},
		{Row: rowRotation, Twin: reflect.TypeFor[components.Smooth[rotation]]()},
	}
	for i := range list {
		in := &list[i]
		in.Speed, in.Teleport, in.Ahead = -1, -1, 100*time.Millisecond
		in.Blend = func() *quantize.Blend {
			b, err := quantize.NewBlend(p.schema.Plan(in.Row), quantize.BlendByKind)
			require.NoError(t, err)
			return b
		}
	}
	s := &smoothed{pair: p, late: 5 * tick.OneTick / 2}
	s.smooth = netecs.NewSmooth(p.apply, list, 30)
	s.smoothID = ecs.ComponentID[components.Smooth[position]](p.client.world)
	return s
}

// at is the presented moment.
func (s *smoothed) at() tick.Time { return s.tick.Begin().Add(-s.late) }

// shown are the x of all twins.
func (s *smoothed) shown() map[float32]int {
	seen := map[float32]int{}
	with := ecs.All(s.smoothID)
	for query := ecs.Select(s.client.world, &with); query.Next(); {
		seen[(*components.Smooth[position])(query.Get(s.smoothID)).Value.X]++
	}
	return seen
}

// Entities come and go on any index: exactly the entities of the presented moment are shown, at their places of then.
func TestSmoothShowsTheWorldOfItsMoment(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 4))
	s := newSmoothed(t, newPair(t))
	w := s.server.world
	var past []map[ecs.Entity]float32 // By tick.
	alive := map[ecs.Entity]bool{}
	var order []ecs.Entity
	for range 400 {
		if len(alive) < 30 {
			e := ecs.Spawn(w, nil, s.server.rep, s.server.pos, s.server.rot)
			get[rotation](s.server, e, s.server.rot).Q[3] = 1
			alive[e], order = true, append(order, e)
		}
		now := map[ecs.Entity]float32{}
		kept := order[:0]
		for _, e := range order {
			if random.IntN(25) == 0 {
				w.RemoveEntity(e)
				delete(alive, e)
				continue
			}
			kept = append(kept, e)
			s.server.position(e).X += float32(1+random.IntN(3)) * 0.25
			s.server.position(e).Y = float32(e.ID())
			now[e] = s.server.position(e).X
		}
		order = kept
		past = append(past, now)
		s.step()
		s.replica.MarkComplete(s.tick, s.tick+1)
		for _, part := range []tick.Span{0, tick.OneTick / 4, tick.OneTick / 2} {
			at := s.at().Add(part)
			s.smooth.Run(at)
			if at.Tick < 1 {
				require.Empty(t, s.shown())
				continue
			}
			want := map[float32]int{}
			from, to := past[at.Tick-1], past[min(int(at.Tick), len(past)-1)]
			for e, x := range from {
				if next, there := to[e]; there {
					x += float32(tick.Span(at.Fraction).Float()) * (next - x)
				}
				want[round(x)]++
			}
			got := map[float32]int{}
			for x, n := range s.shown() {
				got[round(x)] += n
			}
			require.Equal(t, want, got, "tick %d, at %v", s.tick, at)
		}
		s.same()
	}
	require.Empty(t, s.client.kinds())
	require.Greater(t, s.smooth.Stats().Appeared, uint64(200))
}

// round is x in steps that both ways of computing agree on.
func round(x float32) float32 { return float32(int(x*32+0.5)) / 32 }

func TestSmoothAllocatesNothing(t *testing.T) {
	p, all := scene(t, 1000)
	s := newSmoothed(t, p)
	turn := func() {
		move(p, all, 1)
		p.send()
		p.apply.Run()
		p.replica.MarkComplete(p.tick, p.tick+1)
	}
	for range 64 {
		turn()
		s.smooth.Run(s.at())
	}
	allocs := alloctest.Start(t)
	for range 20 {
		turn()
		allocs.Count(func() { s.smooth.Run(s.at()) })
	}
	allocs.Zero()
	require.Equal(t, uint64(len(all)), s.smooth.Stats().Appeared)
	before := s.smooth.Stats()
	for range 64 { // at rest
		p.step()
		p.replica.MarkComplete(p.tick, p.tick+1)
		s.smooth.Run(s.at())
	}
	after := s.smooth.Stats()
	require.Less(t, after.Written-before.Written, uint64(5*2*len(all)))
	require.Greater(t, after.Rested-before.Rested, uint64(50*len(all)))
}

// peered is a client's world that a server captures too.
type peered struct {
	*smoothed
	own   *netecs.Capture
	store *snapshot.Store
	told  []netecs.Problem
}

const peerTag = clientTag + 1

func newPeered(t testing.TB) *peered {
	p := &peered{smoothed: newSmoothed(t, newPair(t))}
	p.store = snapshot.NewStore(p.schema, snapshot.Config{})
	p.own = netecs.NewCapture(p.client.world, p.store, p.schema, peerTag, func(x netecs.Problem) { p.told = append(p.told, x) })
	return p
}

// frame is a tick of all that is in the client's world.
func (p *peered) frame() {
	p.step()
	p.replica.MarkComplete(p.tick, p.tick+1)
	p.smooth.Run(p.at())
	p.own.Run(p.tick)
}

// present is a client's entity that is shown, and the server's for it.
func (p *peered) present(ids ...ecs.ID) (server, client ecs.Entity) {
	server = ecs.Spawn(p.server.world, nil, append(ids, p.server.rep, p.server.pos)...)
	for range 5 {
		p.frame()
	}
	return server, p.pair.atClient(server)
}

func TestDelayedEntityIsNoNewEntityOfACapture(t *testing.T) {
	for _, ids := range []func(*side) []ecs.ID{
		func(*side) []ecs.ID { return nil },
		func(s *side) []ecs.ID { return []ecs.ID{s.child} }, // in a table of relations
	} {
		p := newPeered(t)
		for range 20 {
			e, shown := p.present(ids(p.server)...)
			require.False(t, p.client.replicated(shown).Gone())
			p.server.world.RemoveEntity(e)
			p.frame()
			require.True(t, p.client.world.Alive(shown))
			require.True(t, p.client.replicated(shown).Gone())
			require.True(t, p.client.replicated(shown).ID.IsZero())
			for range 5 {
				p.frame()
			}
			require.False(t, p.client.world.Alive(shown))
		}
		require.Zero(t, p.store.Len())
		require.Empty(t, p.client.kinds())
		require.Empty(t, p.told, "who manages the entities is on this world too")
	}
}

// A change that game code makes to the Replicated of an entity that is still shown is put right as for any other entity. A
// copy is an entity of its own.
func TestCopiesOfDelayedEntities(t *testing.T) {
	p := newPeered(t)
	e, shown := p.present()
	p.server.world.RemoveEntity(e)
	p.frame()
	gone := *p.client.replicated(shown)
	beside := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.pos)
	*p.client.replicated(beside) = gone
	*p.client.replicated(shown) = components.Replicated{}
	p.step()
	require.Equal(t, gone, *p.client.replicated(shown))
	require.Zero(t, *p.client.replicated(beside))
	require.ElementsMatch(t, []netecs.ProblemKind{netecs.OverwrittenReplicated, netecs.StaleReplicated}, p.client.kinds())
	p.frame()
	_, ok := p.own.ID(beside)
	require.True(t, ok)
	p.client.world.RemoveEntity(beside)

	e, shown = p.present()
	p.server.world.RemoveEntity(e)
	p.frame()
	columns := []ecs.ID{p.client.rep, p.client.pos, p.smoothed.smoothID}
	gone, at := *p.client.replicated(shown), *p.client.position(shown)
	p.frame()
	p.client.world.RemoveEntity(shown)
	there := ecs.Spawn(p.client.world, nil, columns...) // it lies in the very place
	*p.client.replicated(there), *p.client.position(there) = gone, at
	p.frame()
	p.frame()
	require.Equal(t, []netecs.ProblemKind{netecs.StaleReplicated}, p.client.kinds())
	_, ok = p.own.ID(there)
	require.True(t, ok)
	require.Empty(t, p.told)
}

// Whoever is still shown names nobody who is not there any more.
func TestDelayedEntityNamesLivingEntities(t *testing.T) {
	for name, remove := range map[string]func(p *peered, target, local ecs.Entity){
		"by the server": func(p *peered, target, _ ecs.Entity) { p.server.world.RemoveEntity(target) },
		"by the game":   func(p *peered, _, local ecs.Entity) { p.client.world.RemoveEntity(local) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeered(t)
			stays, here := p.present()
			goes, there := p.present()
			parent := ecs.Spawn(p.server.world, nil, p.server.rep)
			holder := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.pos, p.server.seeker, p.server.child)
			get[seeker](p.server, holder, p.server.seeker).Target = goes
			get[seeker](p.server, holder, p.server.seeker).Seen = [2]ecs.Entity{stays, goes}
			get[seeker](p.server, holder, p.server.seeker).Doubt = 7
			ecs.SetTarget(p.server.world, holder, p.server.child, goes)
			for range 5 {
				p.frame()
			}
			shown := p.pair.atClient(holder)
			names := func() seeker { return *get[seeker](p.client, shown, p.client.seeker) }
			require.Equal(t, seeker{Target: there, Seen: [2]ecs.Entity{here, there}, Doubt: 7}, names())

			p.server.world.RemoveEntity(holder)
			p.frame()
			require.True(t, p.client.replicated(shown).Gone())
			require.Equal(t, there, names().Target)
			require.Equal(t, there, ecs.Target(p.client.world, shown, p.client.child))
			p.late *= 4 // the holder stays longer than whom it names
			p.server.world.RemoveEntity(parent)
			remove(p, goes, there)
			for range 3 {
				p.frame()
				require.True(t, p.client.world.Alive(shown))
				require.Equal(t, seeker{Seen: [2]ecs.Entity{here, {}}, Doubt: 7}, names())
				require.Zero(t, ecs.Target(p.client.world, shown, p.client.child))
			}
			for range 20 {
				p.frame()
			}
			require.False(t, p.client.world.Alive(shown))
			require.False(t, p.client.world.Alive(there))
		})
	}
}

// An entity that names another may despawn in the same tick as the other, and it may name itself.
func TestNamedEntityDespawnsInTheSameTick(t *testing.T) {
	for _, first := range []bool{true, false} {
		p := newPeered(t)
		one, _ := p.present(p.server.seeker)
		other, _ := p.present(p.server.seeker)
		all := []ecs.Entity{one, other}
		for _, e := range all {
			get[seeker](p.server, e, p.server.seeker).Seen = [2]ecs.Entity(all)
		}
		p.frame()
		shown := []ecs.Entity{p.pair.atClient(one), p.pair.atClient(other)}
		require.Equal(t, [2]ecs.Entity(shown), get[seeker](p.client, shown[0], p.client.seeker).Seen)
		if first {
			p.server.world.RemoveEntity(one)
		}
		p.server.world.RemoveEntity(other)
		for range 10 {
			p.frame()
			for _, e := range shown {
				if !p.client.world.Alive(e) {
					continue
				}
				for _, named := range get[seeker](p.client, e, p.client.seeker).Seen {
					require.True(t, named.IsZero() || p.client.world.Alive(named))
				}
			}
		}
		require.False(t, p.client.world.Alive(shown[1]))
	}
}

// An entity of another server or client is reported once, unless that is on this world too.
func TestForeignEntitiesAreManagedByNobodyOfThisWorld(t *testing.T) {
	p := newPeered(t)
	p.present()
	stray := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.vel)
	*p.client.replicated(stray) = components.Replicated{ID: wire.NetworkID{Index: 1, Generation: 1}, World: 77}
	p.frame()
	p.frame()
	require.Equal(t, []netecs.ProblemKind{netecs.ForeignReplicated}, p.client.kinds())
	require.Len(t, p.told, 1)
	require.Equal(t, netecs.ForeignReplicated, p.told[0].Kind)
	require.Equal(t, stray, p.told[0].Local)

	local := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.pos)
	p.frame()
	require.Equal(t, peerTag, p.client.replicated(local).World)
	require.Empty(t, p.client.kinds(), "it is the server's of this world")
	p.own.Release()
	left := ecs.Spawn(p.client.world, nil, p.client.rep, p.client.rot)
	*p.client.replicated(left) = *p.client.replicated(local)
	p.step()
	p.step()
	kinds := p.client.kinds()
	require.NotEmpty(t, kinds, "that server is no more")
	for _, kind := range kinds {
		require.Equal(t, netecs.ForeignReplicated, kind)
	}
	require.LessOrEqual(t, len(kinds), 2, "each of the two entities once")
}

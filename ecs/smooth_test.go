package netecs_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
)

// smoothed is a pair whose client shows positions and rotations some ticks late.
type smoothed struct {
	*pair
	smooth *netecs.Smooth
	twin   ecs.ID
	late   tick.Span
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
	s.twin = ecs.ComponentID[components.Smooth[position]](p.client.world)
	return s
}

// at is the presented moment.
func (s *smoothed) at() tick.Time { return s.tick.Begin().Add(-s.late) }

// shown are the x of all twins.
func (s *smoothed) shown() map[float32]int {
	seen := map[float32]int{}
	with := ecs.All(s.twin)
	for query := s.client.world.Query(&with); query.Next(); {
		seen[(*components.Smooth[position])(query.Get(s.twin)).Value.X]++
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
			e := w.NewEntity(s.server.rep, s.server.pos, s.server.rot)
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
		s.replica.Whole(s.tick, s.tick+1)
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
		p.replica.Whole(p.tick, p.tick+1)
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
		p.replica.Whole(p.tick, p.tick+1)
		s.smooth.Run(s.at())
	}
	after := s.smooth.Stats()
	require.Less(t, after.Written-before.Written, uint64(5*2*len(all)))
	require.Greater(t, after.Rested-before.Rested, uint64(50*len(all)))
}

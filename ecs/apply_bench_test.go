package netecs_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Plain rows: 40 bytes of float32 that travel exactly.
type (
	plainPosition struct{ V [3]float32 }
	plainRotation struct{ V [4]float32 }
	plainVelocity struct{ V [3]float32 }
)

// plainScene is a client of n plain bodies, and the same bodies in a world that is written with World.Get through a
// dense table from network index to entity: the anchor.
type plainScene struct {
	store    *snapshot.Store
	view     *snapshot.View
	replica  *replica.Replica
	apply    *netecs.Apply
	ids      []wire.NetworkID
	tick     tick.Tick
	seq      uint64
	lanes    [3][]uint32
	buf      []byte
	order    []uint32 // network indexes in the order of arrival
	anchor   ecs.World
	reading  time.Duration
	entities []ecs.Entity // by network index
	comps    [3]ecs.ID
}

func newPlainScene(tb testing.TB, n int, scattered bool) *plainScene {
	var plans []*quantize.Plan
	for _, v := range []any{plainPosition{}, plainRotation{}, plainVelocity{}} {
		plan, err := quantize.Compile(reflect.TypeOf(v), reflect.TypeOf(v).Name())
		require.NoError(tb, err)
		plans = append(plans, plan)
	}
	schema := format.NewSchema(plans)
	s := &plainScene{store: snapshot.NewStore(schema, snapshot.Config{Entities: n}), buf: make([]byte, 1<<20)}
	s.view = snapshot.NewView(s.store, snapshot.Config{Entities: n})
	s.replica = replica.New(schema, snapshot.Config{Entities: n}, 0)
	world := ecs.NewWorld(1024)
	s.apply = netecs.NewApply(&world, s.replica, schema, clientTag, netecs.Hooks{}, nil)
	for i := range s.lanes {
		s.lanes[i] = make([]uint32, plans[i].Lanes())
	}
	for i := range n {
		s.order = append(s.order, uint32(i))
	}
	s.populate(n, scattered)
	s.anchor = ecs.NewWorld(1024)
	s.comps = [3]ecs.ID{
		ecs.ComponentID[plainPosition](&s.anchor), ecs.ComponentID[plainRotation](&s.anchor),
		ecs.ComponentID[plainVelocity](&s.anchor),
	}
	rep := ecs.ComponentID[components.Replicated](&s.anchor)
	s.entities = make([]ecs.Entity, n)
	for _, index := range s.order {
		s.entities[index] = s.anchor.NewEntity(rep, s.comps[0], s.comps[1], s.comps[2])
	}
	return s
}

// populate brings n bodies to the client: in the order of their ids, or in any, a few at a time.
func (s *plainScene) populate(n int, scattered bool) {
	s.advance(func() {
		for range n {
			id := s.store.Spawn()
			s.ids = append(s.ids, id)
			s.move(id, 1)
		}
	}, scattered)
	if scattered {
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(n, func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		few := max(n/1000, 4)
		for at := 0; at < n; at += few {
			for _, index := range s.order[at:min(at+few, n)] {
				s.view.Show(s.ids[index])
			}
			s.advance(func() {}, false)
			s.apply.Run()
		}
	}
	s.apply.Run()
}

func (s *plainScene) move(id wire.NetworkID, seed uint32) {
	for row, lanes := range s.lanes {
		for i := range lanes {
			lanes[i] = 0x3F800000 + seed + id.Index + uint32(i)
		}
		s.store.Set(id, row, lanes)
	}
}

// advance is a tick of the store that the replica receives.
func (s *plainScene) advance(change func(), hide bool) {
	s.tick++
	s.store.Begin(s.tick)
	change()
	s.store.Commit()
	s.view.Observe()
	for i := 0; hide && i < len(s.ids); i++ {
		s.view.Hide(s.ids[i])
	}
	for s.view.Pending() {
		s.seq++
		n := s.view.Write(s.buf, s.seq)
		if n == 0 {
			return
		}
		began := time.Now()
		if err := s.replica.Read(s.buf[:n]); err != nil {
			panic(err)
		}
		s.reading += time.Since(began)
		s.view.Acked(s.seq)
	}
}

// moveAll lets every body move.
func (s *plainScene) moveAll() {
	s.advance(func() {
		for _, id := range s.ids {
			s.move(id, uint32(s.tick))
		}
	}, false)
}

// anchorRow is a row of 42 bytes, as it would come out of a packet of nothing else.
type anchorRow struct {
	index uint32
	pos   plainPosition
	rot   plainRotation
	vel   plainVelocity
}

// get writes rows with World.Get through the dense table.
func (s *plainScene) get(rows []anchorRow) {
	for i := range rows {
		row := &rows[i]
		e := s.entities[row.index]
		*(*plainPosition)(s.anchor.Get(e, s.comps[0])) = row.pos
		*(*plainRotation)(s.anchor.Get(e, s.comps[1])) = row.rot
		*(*plainVelocity)(s.anchor.Get(e, s.comps[2])) = row.vel
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkApplyPlain holds an apply of every body against World.Get for the same number of rows, in turns, as medians. A row
// is the 40 bytes of one entity; receiving is Replica.Read.
func BenchmarkApplyPlain(b *testing.B) {
	for _, n := range []int{100, 1000, 10000, 100000} {
		for _, order := range []string{"ordered", "scattered"} {
			b.Run(fmt.Sprintf("n=%d/%s", n, order), func(b *testing.B) {
				s := newPlainScene(b, n, order == "scattered")
				rows := make([]anchorRow, n)
				for i := range rows {
					rows[i].index = uint32(i) // the order in which an update comes
				}
				var read, apply, get []float64
				per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n) }
				for b.Loop() {
					s.reading = 0
					s.moveAll()
					began := time.Now()
					s.apply.Run()
					applied := time.Now()
					s.get(rows)
					read, apply, get = append(read, per(s.reading)), append(apply, per(applied.Sub(began))), append(get, per(time.Since(applied)))
				}
				b.ReportMetric(median(apply), "ns/row")
				b.ReportMetric(median(read), "ns-receive/row")
				b.ReportMetric(median(get), "ns-anchor/row")
				b.ReportMetric(median(apply)/median(get), "ratio")
			})
		}
	}
}

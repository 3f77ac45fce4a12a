package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

type roundPlace struct{ X, Y, Z float32 }
type roundTurn struct{ Q [4]float32 }
type roundSpeed struct{ X, Y, Z float32 }

// roundSchema is that of bodies of 40 bytes.
func roundSchema(t testing.TB) *Schema {
	return NewSchema([]*wire.Plan{compile[roundPlace](t), compile[roundTurn](t), compile[roundSpeed](t)})
}

// roundStore has bodies of which some move in each tick.
func roundStore(t testing.TB, cfg Config, bodies int) (*Store, []wire.NetworkID) {
	s := NewStore(roundSchema(t), cfg)
	s.Begin(1)
	ids := make([]wire.NetworkID, bodies)
	for i := range ids {
		ids[i] = s.Spawn()
		moveBody(s, ids[i], uint32(i))
	}
	s.Commit()
	return s, ids
}

func moveBody(s *Store, id wire.NetworkID, v uint32) {
	s.Set(id, 0, []uint32{v, v + 1, v + 2})
	s.Set(id, 1, []uint32{v, v + 1, v + 2, v + 3})
	s.Set(id, 2, []uint32{v, v + 1, v + 2})
}

func TestDebugSizes(t *testing.T) {
	for _, g := range []struct{ bodies, every int }{{1000, 1}, {1000, 10}, {10000, 10}} {
		cfg := Config{Whole: true, Payload: 1181}
		s, ids := roundStore(t, cfg, g.bodies)
		v := NewView(s, cfg)
		r := rand.New(rand.NewPCG(1, 2))
		var moving []int
		for _, i := range r.Perm(len(ids))[:len(ids)/g.every] {
			moving = append(moving, i)
		}
		for k := range 2 {
			if k == 1 {
				s.Begin(2)
				for _, i := range moving {
					moveBody(s, ids[i], 77777)
				}
				s.Commit()
				v.Observe()
			}
			var sizes, records []int
			for seq := uint64(1); v.Pending(); seq++ {
				n := v.Write(make([]byte, 1181), uint64(1000*k)+seq)
				require.NotZero(t, n)
				sizes = append(sizes, n)
				records = append(records, v.sent.get(uint64(1000*k)+seq).records)
			}
			t.Log(g, sizes, records)
		}
	}
}

func TestDebugLevel(t *testing.T) {
	cfg := Config{Whole: true, Payload: 1181}
	s, ids := roundStore(t, cfg, 10000)
	v := NewView(s, cfg)
	for w := range v.unsent {
		v.unsent[w] = 0
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, i := range r.Perm(len(ids))[:1000] {
		v.unsent.set(uint32(i))
	}
	var rd round
	rd.begin(v, 1)
	for k := range 12 {
		begun := measure{codes: &s.schema.codes, rows: 3, bits: 30}
		left := rd.pick(s, begun, 1181)
		m := begun
		for _, index := range rd.picked {
			run := m.goesOn(index, 1, 7)
			m.add(s.schema, index, 1, 7, run && !left.take(m.n))
			rd.rest.unset(index)
		}
		t.Log(k, len(rd.picked), left, m.size(), rd.even, rd.picked[len(rd.picked)-4:])
	}
}

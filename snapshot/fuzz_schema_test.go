package snapshot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The rows of the fuzzers' schema behind those of the simulation: a rotation, exact floats, a component with an extrapolation of its own, numbers
// that are expected to go on, and the name of an entity.
const (
	fuzzTurn = rowPosition + 1 + iota
	fuzzExact
	fuzzFall
	fuzzFuse
	fuzzLink
	fuzzRows
)

type (
	fuzzPlace struct{ X, Y, Z float32 }
	fuzzBody  struct {
		X, Y int16 `net:"min=-2000,max=2000"`
	}
	fuzzBurns struct {
		Left uint16  `net:"extrapolate=linear"`
		Heat float32 `net:"extrapolate=previous"`
	}
)

// falls is the extrapolation of a body that falls, which its steps are counted in.
func falls(extrapolated []uint32, v *quantize.Baselines) {
	if v.Before == nil {
		return
	}
	for i := range extrapolated {
		extrapolated[i] = v.Base[i] + uint32(int64(int32(v.Base[i]-v.Before[i]))*v.Age/max(v.Span, 1))
	}
	extrapolated[1] -= uint32(v.Age * (v.Age + v.Span) / 2)
}

func fuzzPlans(t testing.TB) []*quantize.Plan {
	fall := compile[fuzzBody](t)
	fall.ExtrapolateBy("falls", falls)
	return []*quantize.Plan{
		compile[simFrozen](t), compile[simHealth](t), compile[simPosition](t),
		compile[benchRotation](t), compile[fuzzPlace](t), fall, compile[fuzzBurns](t), compile[sequenceLink](t),
	}
}

// fuzzSchema has rows of every kind, and tables that were trained on them.
func fuzzSchema(t testing.TB) *Schema {
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, false)
	schema, err := format.NewSchemaWith(fuzzPlans(t), counting)
	require.NoError(t, err)
	random, turns := rand.New(rand.NewPCG(3, 3)), fuzzTurns(t)
	cfg := Config{Window: 16, SentPackets: 64}
	store := NewStore(schema, cfg)
	store.Watch(counting.Count)
	view := NewView(store, cfg)
	var ids []wire.NetworkID
	for seq := uint64(1); seq < 400; seq++ {
		store.Begin(tick.Tick(seq))
		for range 6 {
			pastOp(random, store, turns, &ids)
		}
		store.Commit()
		view.Observe()
		if view.Write(make([]byte, 300), seq) > 0 && random.IntN(3) > 0 {
			view.Acked(seq)
		}
	}
	tables, err := trainer.BuildKnown(10)
	require.NoError(t, err)
	require.Greater(t, len(tables.All()), 12, "the tables of few rows were trained")
	schema, err = format.NewSchemaWith(fuzzPlans(t), tables.Over(delta.Shipped()))
	require.NoError(t, err)
	return schema
}

// fuzzTurns is rotations, one behind the other, as bodies have them one tick after the other.
func fuzzTurns(t testing.TB) (turns [][]uint32) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t), compile[benchVelocity](t)})
	for _, rows := range circles(schema, 1, 64) {
		turns = append(turns, rows[1])
	}
	return turns
}

// fuzzLanes returns the lanes of a row of the fuzzers' schema for a tick: now and then lanes that nobody expects, and else
// lanes that go on as before.
func fuzzLanes(random *rand.Rand, store *Store, turns [][]uint32, id wire.NetworkID, row int, ids []wire.NetworkID) []uint32 {
	now, odd := uint32(store.Tick()), random.Uint32N(4) == 0
	float := func(f float32) uint32 {
		if odd {
			f *= float32(random.NormFloat64())
		}
		return math.Float32bits(f)
	}
	switch row {
	case rowHealth:
		return []uint32{random.Uint32N(101)}
	case fuzzTurn:
		if odd {
			now = random.Uint32()
		}
		return turns[(now+id.Index)%uint32(len(turns))]
	case fuzzExact:
		return []uint32{float(float32(now%1024) / 7), float(float32(id.Index)), float(-1e-30)}
	case fuzzFall:
		if odd {
			return []uint32{random.Uint32N(4001), random.Uint32N(4001)}
		}
		return []uint32{(now*3 + id.Index) % 4001, (4000 - now*now/2) % 4001}
	case fuzzFuse:
		return []uint32{(1<<16 - 1 - now*5) % (1 << 16), float(1.5)}
	case fuzzLink:
		to := wire.NetworkID{}
		if !odd {
			to = ids[random.IntN(len(ids))]
		}
		return []uint32{to.Index, to.Generation}
	}
	return []uint32{random.Uint32N(16), random.Uint32N(4)}
}

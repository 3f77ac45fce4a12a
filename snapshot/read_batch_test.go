package snapshot

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Rows as games quantise them: what goes on in a straight line, what turns, and a number.
type (
	batchPlace struct {
		X, Y, Z float32 `net:"min=-4,max=4,step=0.01"`
	}
	batchTurn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	batchHealth struct {
		Points uint8
		Angle  float32 `net:"angle,bits=10"`
	}
)

func batchSchema(t testing.TB) *Schema {
	return NewSchema([]*quantize.Plan{compile[batchPlace](t), compile[batchTurn](t), compile[batchHealth](t)})
}

// drawBatch goes on from what a row was: a bit in the same direction most often, up to the bounds, by a jump now and then.
func drawBatch(schema *Schema) func(random *rand.Rand, row int, before []uint32) []uint32 {
	return func(random *rand.Rand, row int, before []uint32) []uint32 {
		lanes := make([]uint32, schema.Plan(row).Lanes())
		switch {
		case row == 0:
			for i := range lanes {
				at := int(random.IntN(800))
				if before != nil && random.IntN(20) > 0 {
					at = int(before[i]) + random.IntN(9)*random.IntN(2) - 2*i
				}
				lanes[i] = uint32(min(max(at, 0), 800))
			}
		case row == 1:
			angle := random.Float64() * 2 * math.Pi
			if before != nil && random.IntN(20) > 0 {
				angle = float64(before[1]+before[2]+before[3])/300 + 0.05
			}
			sin, cos := math.Sincos(angle)
			turn := batchTurn{[4]float32{float32(sin * 0.6), float32(cos * 0.3), float32(sin * 0.8), float32(cos * 0.9)}}
			schema.Plan(row).Quantise(unsafe.Pointer(&turn), lanes)
		default:
			copy(lanes, before)
			lanes[random.IntN(2)] = uint32(random.IntN(200))
		}
		return lanes
	}
}

// What is read in batches is what is read record by record: with lives that come and go, rows that rest, loss, reordering and repetition.
func TestBatchesAreTheirRecords(t *testing.T) {
	schema := batchSchema(t)
	met := playRunTwins(t, schema, drawBatch(schema))
	require.Greater(t, met.deltas, 20, "hardly a record was read in a batch")
	require.NotZero(t, met.covered)
	require.NotZero(t, met.settled)
}

// batchGame is what a client has received when a list arrives.
func batchGame(t testing.TB) (cfg Config, schema *Schema, past, next [][]byte) {
	cfg, schema = Config{Window: 8, SentPackets: 64, Entities: runEntities}, batchSchema(t)
	store, draw, random := NewStore(schema, cfg), drawBatch(schema), rand.New(rand.NewPCG(5, 12))
	view, seq := NewView(store, cfg), uint64(0)
	var ids []wire.NetworkID
	for s := range 6 {
		store.Begin(store.Tick() + 1)
		for i := range 100 {
			if s == 0 {
				ids = append(ids, store.Spawn())
			}
			for row := range 3 {
				store.Set(ids[i], row, draw(random, row, store.Row(ids[i], row)))
			}
		}
		store.Commit()
		view.Observe()
		next = nil
		for view.Pending() {
			buf := make([]byte, 1100)
			seq++
			next = append(next, buf[:view.Write(buf, seq)])
			if s < 5 {
				view.Acked(seq)
			}
		}
		if s < 5 {
			past = append(past, next...)
		}
	}
	return cfg, schema, past, next
}

// What is damaged is refused by both, or read alike: with each bit changed, and cut off anywhere.
func TestBatchesAreRefusedWhole(t *testing.T) {
	cfg, schema, past, next := batchGame(t)
	twins := newRunTwins(schema, cfg)
	for _, p := range past {
		require.True(t, twins.read(t, p))
	}
	payload, step := next[0], 1
	if testing.Short() {
		step = 7
	}
	for n := 0; n < len(payload); n += step {
		twins.read(t, payload[:n])
	}
	refused := twins.fast.stats.Malformed
	for bit := 0; bit < 8*len(payload); bit += step {
		payload[bit/8] ^= 1 << (bit % 8)
		one := newRunTwins(schema, cfg)
		for _, p := range past {
			require.True(t, one.read(t, p))
		}
		one.read(t, payload)
		require.Equal(t, holding(one.slow), holding(one.fast), "bit %d", bit)
		refused += one.fast.stats.Malformed
		payload[bit/8] ^= 1 << (bit % 8)
	}
	require.NotZero(t, refused)
	require.True(t, twins.read(t, payload))
	require.NotEmpty(t, twins.fast.stage.runs)
	require.NotEqual(t, 0, int(twins.fast.stage.runs[0].base), "nothing was read in a batch")
	twins.same(t, runEntities)
}

// FuzzBatches holds that whatever is read in batches is the same read record by record.
func FuzzBatches(f *testing.F) {
	cfg, schema, past, next := batchGame(f)
	for k, payload := range next {
		addEdits(f, byte(k), len(payload))
	}
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		if len(edits) > mostEdits {
			return
		}
		twins := newRunTwins(schema, cfg)
		for _, r := range []*Replica{twins.fast, twins.slow} {
			for _, p := range past {
				require.NoError(t, r.Read(p))
			}
		}
		twins.read(t, edited(next[int(which)%len(next)], edits))
		require.Equal(t, holding(twins.slow), holding(twins.fast))
	})
}

// A record of a list is about the entity that R's record was about, though another lives at its index now: that one stays.
func TestBatchesAreOfWhoWasThere(t *testing.T) {
	cfg, schema, past, next := batchGame(t)
	twins := newRunTwins(schema, cfg)
	for _, p := range past {
		require.True(t, twins.read(t, p))
	}
	buf := make([]byte, 100)
	w := wire.NewBitWriter(buf)
	w.Write(7, 16)
	w.Write(0, 3) // neither a resync nor despawns nor lists
	symbol, raw, bits := gapSymbol(20, true)
	schema.codes.gap.Write(&w, 0, symbol)
	w.Write(raw, bits)
	w.Bool(false)
	w.Var(2)
	w.Write(1, uint(schema.Rows()))
	schema.Plan(0).WriteRow(&w, []uint32{1, 2, 3})
	schema.codes.gap.Write(&w, 0, gapEnd)
	require.True(t, twins.read(t, buf[:w.Finish()]))
	require.EqualValues(t, 2, twins.fast.Entity(20).ID.Generation)
	require.True(t, twins.read(t, next[0]))
	require.EqualValues(t, 2, twins.fast.Entity(20).ID.Generation)
	require.Equal(t, []uint32{1, 2, 3}, twins.fast.Row(20, 0))
	twins.same(t, runEntities)
}

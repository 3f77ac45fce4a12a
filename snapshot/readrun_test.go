package snapshot

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Rows of exact floats, as in runs.
type (
	runPlace struct{ X, Y, Z float32 }
	runTurn  struct{ Q [4]float32 }
	runHeat  struct{ C float32 }
)

func runSchema(t testing.TB) *Schema {
	return NewSchema([]*quantize.Plan{compile[runPlace](t), compile[runTurn](t), compile[runHeat](t)})
}

// runTwins are replicas that read the same. One reads what could be a run record by record.
type runTwins struct{ fast, slow *Replica }

func newRunTwins(schema *Schema, cfg Config) runTwins {
	w := runTwins{fast: NewReplica(schema, cfg, 1), slow: NewReplica(schema, cfg, 1)}
	w.slow.apart = true
	return w
}

// read gives both a payload, holds that they make the same of it, and says whether it was good.
func (w *runTwins) read(t require.TestingT, payload []byte) bool {
	fast, slow := w.fast.Read(payload), w.slow.Read(payload)
	require.True(t, errors.Is(fast, slow) || errors.Is(slow, fast), "%v, not %v", fast, slow)
	return fast == nil
}

// same holds everything against each other that can be asked of them.
func (w *runTwins) same(t require.TestingT, entities uint32) {
	a, b := w.fast, w.slow
	require.Equal(t, b.stats, a.stats)
	require.Equal(t, b.newest, a.newest)
	require.Equal(t, b.Len(), a.Len())
	require.Equal(t, b.Changed(), a.Changed())
	wanted, _ := b.WantResync()
	got, _ := a.WantResync()
	require.Equal(t, wanted, got)
	oldest := a.newest - 3*a.window
	for index := range entities {
		require.Equal(t, b.Entity(index), a.Entity(index))
		for row := range a.schema.Rows() {
			require.Equal(t, b.Row(index, row), a.Row(index, row), "row %d of %d", row, index)
		}
		for at := max(oldest, 1); at <= a.newest; at++ {
			rows, base, ok := b.RecordAt(index, at)
			fastRows, fastBase, fastOK := a.RecordAt(index, at)
			require.Equal(t, []any{rows, base, ok}, []any{fastRows, fastBase, fastOK}, "%d at %d of %d", index, at, a.newest)
			for row := range a.schema.Rows() {
				lanes, ok := b.BaseAt(index, row, at)
				fastLanes, fastOK := a.BaseAt(index, row, at)
				require.Equal(t, []any{lanes, ok}, []any{fastLanes, fastOK}, "row %d of %d at %d of %d", row, index, at, a.newest)
			}
		}
	}
	for at := max(oldest, 1); at <= a.newest; at++ {
		list, ok := b.ListAt(at)
		fastList, fastOK := a.ListAt(at)
		require.Equal(t, []any{list, ok}, []any{fastList, fastOK})
	}
}

// runServer plays a server of many alike entities, of which some come, go, rest, change their rows or are hidden.
type runServer struct {
	random *rand.Rand
	store  *Store
	view   *View
	ids    []wire.NetworkID
	seq    uint64
	draw   func(random *rand.Rand, row int, before []uint32) []uint32 // makes the next lanes of a row, before being nil for a new one; nil: floats
}

const runEntities = 150

func (s *runServer) set(id wire.NetworkID, row int) {
	if s.draw != nil {
		s.store.Set(id, row, s.draw(s.random, row, s.store.Row(id, row)))
		return
	}
	lanes := make([]uint32, s.store.schema.Plan(row).Lanes())
	for i := range lanes {
		lanes[i] = 0x3F80_0000 + uint32(s.random.IntN(3)) // often what it was
	}
	s.store.Set(id, row, lanes)
}

// turn plays a tick and returns its payloads.
func (s *runServer) turn() (payloads [][]byte) {
	s.store.Begin(s.store.Tick() + 1 + tick.Tick(s.random.IntN(20)/18*s.random.IntN(9)))
	for s.random.IntN(6) > 0 && len(s.ids) < runEntities {
		id := s.store.Spawn()
		s.ids = append(s.ids, id)
		for row := range 3 {
			if row < 2 || s.random.IntN(8) == 0 {
				s.set(id, row)
			}
		}
	}
	all := s.random.IntN(2) == 0
	for i := 0; i < len(s.ids); i++ {
		id := s.ids[i]
		switch n := s.random.IntN(120); {
		case n == 0:
			s.store.Despawn(id)
			s.ids[i] = s.ids[len(s.ids)-1]
			s.ids = s.ids[:len(s.ids)-1]
		case n == 1:
			s.view.Hide(id)
		case n < 5:
			s.view.Show(id)
		case n == 5:
			s.store.Remove(id, s.random.IntN(3))
		case n == 6:
			s.set(id, 2)
		case all || n < 40:
			for m := s.store.Mask(id); m != 0; m &= m - 1 {
				s.set(id, m.next())
			}
		}
	}
	s.store.Commit()
	s.view.Observe()
	for range 4 {
		buf := make([]byte, 1400)
		n := s.view.Write(buf, s.seq+1)
		if n == 0 {
			break
		}
		s.seq++
		payloads = append(payloads, buf[:n])
	}
	return payloads
}

// TestRunsAreTheirRecords holds what is read as runs against the same records read one by one: over lives that come and go,
// rows that rest, loss, reordering, repetition and acknowledgements that seldom arrive.
func TestRunsAreTheirRecords(t *testing.T) {
	runs := playRunTwins(t, runSchema(t), nil)
	require.NotZero(t, runs.read, "no runs were read")
	require.NotZero(t, runs.covered, "no lives of runs were left to be written")
	require.NotZero(t, runs.settled, "no versions of runs were left to be put together")
}

// runCounts is what twins met.
type runCounts struct {
	read, deltas     int // runs, and how often there was one that is coded against something
	covered, settled int
}

// playRunTwins plays games of which twins hold the same, and returns what they met.
func playRunTwins(t *testing.T, schema *Schema, draw func(*rand.Rand, int, []uint32) []uint32) (met runCounts) {
	count := 12
	if testing.Short() {
		count = 4
	}
	for seed := range uint64(count) {
		cfg := Config{Window: 8, SentPackets: 64, Entities: runEntities}
		store := NewStore(schema, cfg)
		random := rand.New(rand.NewPCG(seed, 11))
		s := &runServer{random: random, store: store, view: NewView(store, cfg), draw: draw}
		twins := newRunTwins(schema, cfg)
		if seed%4 == 1 {
			twins.fast.covers.most = 3
		}
		acks := []int{0, 1, 8}[seed%3]
		var late [][]byte
		for turn := range 60 {
			first := s.seq + 1
			for i, p := range s.turn() {
				switch random.IntN(12) {
				case 0: // lost
					continue
				case 1:
					late = append(late, p)
					continue
				case 2:
					twins.read(t, p)
				}
				if twins.read(t, p) && random.IntN(10) < acks {
					s.view.Acked(first + uint64(i))
				}
				met.read += len(twins.fast.stage.runs)
				for _, u := range twins.fast.past.block(twins.fast.stage.block.tick).runs {
					if u.base != tick.None {
						met.deltas++
					}
				}
			}
			if len(late) > 0 && random.IntN(3) == 0 {
				twins.read(t, late[random.IntN(len(late))])
			}
			if epoch, want := twins.fast.WantResync(); want {
				s.view.Resync(epoch, s.seq+1)
			}
			if random.IntN(40) == 0 {
				twins.fast.Lose()
				twins.slow.Lose()
			}
			if turn%4 == 3 {
				met.covered += len(twins.fast.covers.list)
				for _, b := range twins.fast.past.blocks {
					met.settled += len(b.runs) - b.settled
				}
				twins.same(t, runEntities+4)
				twins.fast.ClearChanged()
				twins.slow.ClearChanged()
			}
		}
	}
	return met
}

// TestRunsAreRefusedWhole holds that a damaged run is refused like its records, and then has no effect: cut off, with padding that
// is not zero, with none, with a number that is not finite, beyond the last index.
func TestRunsAreRefusedWhole(t *testing.T) {
	schema := runSchema(t)
	cfg := Config{Window: 8, SentPackets: 64, Entities: runEntities}
	store := NewStore(schema, cfg)
	s := &runServer{random: rand.New(rand.NewPCG(5, 11)), store: store, view: NewView(store, cfg)}
	twins := newRunTwins(schema, cfg)
	for range 3 {
		for _, p := range s.turn() {
			require.True(t, twins.read(t, p))
		}
	}
	payload := s.turn()[0]
	for bit := range 8 * len(payload) {
		payload[bit/8] ^= 1 << (bit % 8)
		twins.read(t, payload)
		payload[bit/8] ^= 1 << (bit % 8)
	}
	for n := range payload {
		twins.read(t, payload[:n])
	}
	require.True(t, twins.read(t, payload))
	require.NotEmpty(t, twins.fast.stage.runs)
	twins.same(t, runEntities)
	require.Greater(t, twins.fast.stats.Malformed, uint64(len(payload)))

	whole := []struct {
		name  string
		index uint32
		n, at int    // records behind the first, and what is said that they are
		pad   uint64 // what the padding is
		lane  uint32
		legal bool
	}{
		{name: "legal", n: 2, at: 2, lane: 1, legal: true},
		{name: "none", n: 0, at: 0},
		{name: "cut off", n: 1, at: 2, lane: 1},
		{name: "padding", n: 1, at: 1, pad: 1, lane: 1},
		{name: "not finite", n: 1, at: 1, lane: 0x7F80_0000},
		{name: "to the last index", index: MaxEntities - 2, n: 1, at: 1, lane: 1, legal: true},
		{name: "beyond the last index", index: MaxEntities - 2, n: 2, at: 2, lane: 1},
	}
	for _, c := range whole {
		buf := make([]byte, 200)
		w := wire.NewBitWriter(buf)
		w.Write(1, 16)
		w.Bool(false) // resynced
		w.Bool(false) // despawns
		w.Bool(false) // lists
		symbol, raw, bits := gapSymbol(c.index, true)
		schema.codes.gap.Write(&w, 0, symbol)
		w.Write(raw, bits)
		w.Bool(false)
		w.Var(1)
		w.Write(uint64(Mask(0).With(2)), uint(schema.Rows()))
		w.Write(1, 32)
		w.Bool(true)
		w.Write(c.pad, uint(-w.Bits()&7))
		w.Write(uint64(c.at), 8)
		for range c.n {
			w.Write(uint64(c.lane), 32)
		}
		schema.codes.gap.Write(&w, 0, gapEnd)
		payload := buf[:w.Finish()]
		twins := newRunTwins(schema, cfg)
		require.Equal(t, c.legal, twins.read(t, payload), c.name)
		require.Equal(t, c.legal, twins.fast.Len() == 1+c.n, c.name)
		if !c.legal {
			require.Zero(t, twins.fast.Len(), c.name)
		}
	}
}

// FuzzRuns holds that whatever is read as runs is the same read record by record.
func FuzzRuns(f *testing.F) {
	schema := runSchema(f)
	cfg := Config{Window: 8, SentPackets: 64, Entities: runEntities}
	store := NewStore(schema, cfg)
	s := &runServer{random: rand.New(rand.NewPCG(3, 11)), store: store, view: NewView(store, cfg)}
	var past [][]byte
	for range 4 {
		past = append(past, s.turn()...)
	}
	next := s.turn()
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

// mostEdits bounds the inputs of fuzzers that edit a real payload. The fuzzer makes an input that reaches new code as short as it
// can, by up to n * n executions: whole payloads of 1300 bytes kept it from anything else.
const mostEdits = 60

// edited is a payload with edits: three bytes each, the place and what is changed there, or for 0 that it ends there. With an even
// first byte the edits are themselves the payload.
func edited(payload, edits []byte) []byte {
	if len(edits) == 0 || edits[0]&1 == 0 {
		return edits[min(1, len(edits)):]
	}
	payload = slices.Clone(payload)
	for rest := edits[1:]; len(rest) >= 3 && len(payload) > 0; rest = rest[3:] {
		at := (int(rest[0])<<8 | int(rest[1])) % len(payload)
		if rest[2] == 0 {
			payload = payload[:at]
			continue
		}
		payload[at] ^= rest[2]
	}
	return payload
}

// addEdits adds a payload as it is, cut, and changed in some places.
func addEdits(f *testing.F, which byte, length int) {
	f.Add(which, []byte{1})
	f.Add(which, []byte{1, byte((length - 1) >> 8), byte(length - 1), 0})
	for at := 3; at < min(length, 60); at += 8 {
		f.Add(which, []byte{1, 0, byte(at), 0x40})
	}
	f.Add(which, []byte{0, 1, 2, 3, 4})
}

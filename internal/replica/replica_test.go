package replica

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Rows of exact floats, as in runs.
type (
	runPlace struct{ X, Y, Z float32 }
	runTurn  struct{ Q [4]float32 }
	runHeat  struct{ C float32 }
)

func runSchema(t testing.TB) *format.Schema {
	return format.NewSchema([]*quantize.Plan{compile[runPlace](t), compile[runTurn](t), compile[runHeat](t)})
}

// runServer plays a server of many alike entities, of which some come, go, rest, change their rows or are hidden.
type runServer struct {
	random *rand.Rand
	store  *snapshot.Store
	view   *snapshot.View
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
	lanes := make([]uint32, s.store.Schema().Plan(row).Lanes())
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
			for m := s.store.Mask(id); !m.IsZero(); m = m.Rest() {
				s.set(id, m.Lowest())
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

// A run is refused whole: cut off, with padding that is not zero, with no record, with a number that is not finite, beyond the last
// index.
func TestRunsAreRefusedWhole(t *testing.T) {
	schema := runSchema(t)
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
		{name: "to the last index", index: format.MaxEntities - 2, n: 1, at: 1, lane: 1, legal: true},
		{name: "beyond the last index", index: format.MaxEntities - 2, n: 2, at: 2, lane: 1},
	}
	for _, c := range whole {
		buf := make([]byte, 200)
		w := wire.NewBitWriter(buf)
		w.Write(1, 16)
		w.Bool(false) // resynced
		w.Bool(false) // despawns
		w.Bool(false) // lists
		symbol, raw, bits := format.GapSymbol(c.index, true)
		schema.Codes.Gap.Write(&w, 0, symbol)
		w.Write(raw, bits)
		w.Bool(false)
		w.Var(1)
		schema.WriteMask(&w, format.Bit(2), format.Mask{})
		w.Write(1, 32)
		w.Bool(true)
		w.Write(c.pad, uint(-w.Bits()&7))
		w.Write(uint64(c.at), 8)
		for range c.n {
			w.Write(uint64(c.lane), 32)
		}
		schema.Codes.Gap.Write(&w, 0, format.GapEnd)
		payload := buf[:w.Finish()]
		r := New(schema, format.Config{Window: 8}, 1)
		require.Equal(t, c.legal, r.Read(payload) == nil, c.name)
		require.Equal(t, c.legal, r.Len() == 1+c.n, c.name)
		if !c.legal {
			require.Zero(t, r.Len(), c.name)
		}
	}
}

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

func batchSchema(t testing.TB) *format.Schema {
	return format.NewSchema([]*quantize.Plan{compile[batchPlace](t), compile[batchTurn](t), compile[batchHealth](t)})
}

// drawBatch goes on from what a row was: a bit in the same direction most often, up to the bounds, by a jump now and then.
func drawBatch(schema *format.Schema) func(random *rand.Rand, row int, before []uint32) []uint32 {
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

// Replicas follow a server over loss, reordering, repetition, resyncs and acknowledgements that seldom arrive. All that is held is what
// the server has as of its tick.
func TestReplicaFollowsTheServer(t *testing.T) {
	batches := batchSchema(t)
	playReplica(t, runSchema(t), nil)
	playReplica(t, batches, drawBatch(batches))
}

// playReplica plays games with a server and compares what a replica holds with the server's history.
func playReplica(t *testing.T, schema *format.Schema, draw func(*rand.Rand, int, []uint32) []uint32) {
	count := 12
	if testing.Short() {
		count = 4
	}
	for seed := range uint64(count) {
		cfg := format.Config{Window: 8, SentPackets: 64, Entities: runEntities}
		store := snapshot.NewStore(schema, cfg)
		random := rand.New(rand.NewPCG(seed, 11))
		s := &runServer{random: random, store: store, view: snapshot.NewView(store, cfg), draw: draw}
		r := New(schema, cfg, 1)
		acks := []int{0, 1, 8}[seed%3]
		var late [][]byte
		seen := map[*byte]bool{}
		// The packet layer drops what it has read. Here a repeated payload may be refused, and must change nothing.
		read := func(p []byte) error {
			malformed, again := r.stats.Malformed, seen[&p[0]]
			seen[&p[0]] = true
			err := r.Read(p)
			if again {
				r.stats.Malformed = malformed
			}
			return err
		}
		for range 60 {
			first := s.seq + 1
			for i, p := range s.turn() {
				switch random.IntN(12) {
				case 0: // lost
					continue
				case 1:
					late = append(late, p)
					continue
				case 2:
					_ = read(p)
				}
				if read(p) == nil && random.IntN(10) < acks {
					s.view.Acked(first + uint64(i))
				}
			}
			if len(late) > 0 && random.IntN(3) == 0 {
				_ = read(late[random.IntN(len(late))])
			}
			if epoch, want := r.WantResync(); want {
				s.view.Resync(epoch, s.seq+1)
			}
			if random.IntN(40) == 0 {
				r.Lose()
			}
			require.Zero(t, r.stats.Malformed)
			requireHistory(t, r, s)
		}
	}
}

// requireHistory compares the newest rows of a replica with those of the server as of the same tick.
func requireHistory(t *testing.T, r *Replica, s *runServer) {
	for e := range r.All {
		for m := e.Mask; !m.IsZero(); m = m.Rest() {
			row := m.Lowest()
			if want, err := s.store.RowAt(e.ID, row, e.Tick); err == nil {
				require.Equal(t, want, r.Row(e.ID.Index, row), "row %d of %s as of %d", row, e.ID, e.Tick)
			}
		}
	}
}

// Whatever is damaged comes to the same in a build without fast paths: with each bit changed, and cut off anywhere.
func TestDamagedPayloadsComeToTheSame(t *testing.T) {
	cfg, schema, past, next := batchGame(t)
	payload, hash := next[0], fnv.New64a()
	read := func(payload []byte) error {
		r := New(schema, cfg, 1)
		for _, p := range past {
			require.NoError(t, r.Read(p))
		}
		err := r.Read(payload)
		fmt.Fprintln(hash, r.Stats(), holding(r))
		return err
	}
	refused := 0
	for n := 0; n < len(payload); n += 7 {
		require.Error(t, read(payload[:n]))
	}
	for bit := 0; bit < 8*len(payload); bit += 7 {
		payload[bit/8] ^= 1 << (bit % 8)
		if read(payload) != nil {
			refused++
		}
		payload[bit/8] ^= 1 << (bit % 8)
	}
	require.NotZero(t, refused)
	require.NoError(t, read(payload))
	require.Equal(t, uint64(damagedHash), hash.Sum64(), "%#x", hash.Sum64())
}

// damagedHash is of all that TestDamagedPayloadsComeToTheSame reads.
const damagedHash = 0x79f4a39936e6db5a

// batchGame returns the packets that a client has received when a list arrives, and the packets of
// the tick of that list.
func batchGame(t testing.TB) (cfg format.Config, schema *format.Schema, past, next [][]byte) {
	cfg, schema = format.Config{Window: 8, SentPackets: 64, Entities: runEntities}, batchSchema(t)
	store, draw, random := snapshot.NewStore(schema, cfg), drawBatch(schema), rand.New(rand.NewPCG(5, 12))
	view, seq := snapshot.NewView(store, cfg), uint64(0)
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

// A record of a list is about the entity of R's record. An entity that lives at its index now stays as it is.
func TestListedRecordIsAboutTheEntityOfR(t *testing.T) {
	cfg, schema, past, next := batchGame(t)
	r := New(schema, cfg, 1)
	for _, p := range past {
		require.NoError(t, r.Read(p))
	}
	buf := make([]byte, 100)
	w := wire.NewBitWriter(buf)
	w.Write(7, 16)
	w.Write(0, 3) // neither a resync nor despawns nor lists
	symbol, raw, bits := format.GapSymbol(20, true)
	schema.Codes.Gap.Write(&w, 0, symbol)
	w.Write(raw, bits)
	w.Bool(false)
	w.Var(2)
	w.Write(1, uint(schema.Rows()))
	schema.Plan(0).WriteRow(&w, []uint32{1, 2, 3})
	schema.Codes.Gap.Write(&w, 0, format.GapEnd)
	require.NoError(t, r.Read(buf[:w.Finish()]))
	require.EqualValues(t, 2, r.Entity(20).ID.Generation)
	require.NoError(t, r.Read(next[0]))
	require.EqualValues(t, 2, r.Entity(20).ID.Generation)
	require.Equal(t, []uint32{1, 2, 3}, r.Row(20, 0))
}

// compile compiles the plan of a component type.
func compile[T any](t testing.TB) *quantize.Plan {
	t.Helper()
	plan, err := quantize.Compile(reflect.TypeFor[T](), reflect.TypeFor[T]().Name())
	require.NoError(t, err)
	return plan
}

// holding is all that can be seen of a replica, but for counters and the wish for a resync.
func holding(r *Replica) string {
	text := fmt.Append(nil, r.Tick(), r.Len(), r.Changed(), r.epoch)
	for e := range r.All {
		text = fmt.Append(text, e)
		for m := e.Mask; !m.IsZero(); m = m.Rest() {
			text = fmt.Append(text, r.Row(e.ID.Index, m.Lowest()))
		}
	}
	return string(text)
}

// A despawn of what the guard admitted nothing of begins no life: it would take memory.
func TestDespawnsUnderAGuardBeginNoLife(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		r := New(runSchema(t), format.Config{}, 1)
		if guarded {
			r.Guard(func(wire.NetworkID, format.Mask) bool { return true })
		}
		for i := range uint32(100) {
			r.despawn(wire.NetworkID{Index: i, Generation: 3}, 5)
		}
		require.Equal(t, guarded, len(r.lives) == 0)
	}
}

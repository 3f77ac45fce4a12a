package snapshot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// fuzzing has the parts that the states of all seeds share.
type fuzzing struct {
	schema *Schema
	turns  [][]uint32
}

func newFuzzing(t testing.TB) *fuzzing { return &fuzzing{fuzzSchema(t), fuzzTurns(t)} }

// fuzzPast is a replica in a random state, and the packets of a server that come next.
type fuzzPast struct {
	replica *replica.Replica
	deltas  int // rows of what comes next that travel as what differs
	next    [][]byte
	may     map[wire.NetworkID]Mask // what the guard lets through, where there is one
}

const pastPackets = 6

// pastOf builds the state that a seed stands for: a random game of some ticks, of which the client has decoded some packets
// and acknowledged some of these, and may have lost its past meanwhile. Twice the same seed gives twice the same.
func pastOf(t testing.TB, f *fuzzing, seed uint64, guarded bool) *fuzzPast {
	random := rand.New(rand.NewPCG(seed, 7))
	cfg := Config{Window: 8 + tick.Tick(random.IntN(40)), SentPackets: 64}
	start := []tick.Tick{0, 65500, 1<<32 - 20}[random.IntN(3)]
	store := NewStore(f.schema, cfg)
	view := NewView(store, cfg)
	p := &fuzzPast{replica: replica.New(f.schema, cfg, start+1), may: map[wire.NetworkID]Mask{}}
	if guarded {
		p.replica.Guard(func(id wire.NetworkID, rows Mask) bool { return rows.Within(p.may[id]) && !p.may[id].IsZero() })
	}
	var ids []wire.NetworkID
	ticks := random.IntN(60)
	heard := 1 + random.IntN(4) // one in so many packets is lost, but with 1 none
	for seq := uint64(1); len(p.next) < pastPackets; seq++ {
		store.Begin(start + tick.Tick(seq))
		if seq == 1 && random.IntN(2) == 0 {
			ids = scattered(random, store)
		}
		for range random.IntN(6) {
			pastOp(random, store, f.turns, &ids)
		}
		for _, id := range ids {
			p.may[id] = format.FromWords(1<<fuzzRows - 1)
		}
		store.Commit()
		view.Observe()
		buf, deltas := make([]byte, 300), view.Stats().Deltas
		buf = buf[:view.Write(buf, seq)]
		if int(seq) > ticks {
			p.next, p.deltas = append(p.next, buf), p.deltas+int(view.Stats().Deltas-deltas)
			continue
		}
		if len(buf) == 0 || heard > 1 && random.IntN(heard) == 0 {
			continue
		}
		if err := p.replica.Read(buf); err == nil && random.IntN(4) > 0 {
			view.Acked(seq)
		}
		if random.IntN(200) == 0 {
			p.replica.Lose()
		}
	}
	if random.IntN(2) == 0 {
		p.replica.ClearChanged()
	}
	for _, id := range ids { // the rights to write them went to somebody else
		if random.IntN(12) == 0 {
			delete(p.may, id)
		}
	}
	return p
}

// scattered is entities of several pages, of one or many each.
func scattered(random *rand.Rand, store *Store) (ids []wire.NetworkID) {
	for index := range 4 * format.PageEntities {
		id := store.Spawn()
		if every := 1 << (2 * (index / format.PageEntities)); index%every != 0 || index%format.PageEntities >= 16 {
			defer store.Despawn(id)
			continue
		}
		store.Set(id, rowPosition, []uint32{random.Uint32N(16), random.Uint32N(4)})
		ids = append(ids, id)
	}
	return ids
}

// pastOp does one thing to a world.
func pastOp(random *rand.Rand, store *Store, turns [][]uint32, ids *[]wire.NetworkID) {
	if len(*ids) == 0 || len(*ids) < 12 && random.IntN(4) == 0 {
		rows, many := bit(rowPosition).Union(format.FromWords(uint64(random.IntN(1<<fuzzRows))).Minus(bit(rowFrozen))), 1
		if random.IntN(2) == 0 {
			rows, many = bit(fuzzExact), 1+random.IntN(4) // which go in runs
		}
		for range many {
			id := store.Spawn()
			*ids = append(*ids, id)
			for m := rows; !m.IsZero(); m = m.Rest() {
				store.Set(id, m.Lowest(), fuzzLanes(random, store, turns, id, m.Lowest(), *ids))
			}
		}
		return
	}
	i := random.IntN(len(*ids))
	id := (*ids)[i]
	switch random.IntN(12) {
	case 0:
		store.Despawn(id)
		*ids = append((*ids)[:i], (*ids)[i+1:]...)
	case 1:
		store.Remove(id, 1+random.IntN(fuzzRows-1))
	case 2:
		store.Set(id, rowFrozen, nil)
	case 3:
		store.SetGroup(id, random.Uint32N(3))
	case 4: // a row that it may not have had
		row := 1 + random.IntN(fuzzRows-1)
		store.Set(id, row, fuzzLanes(random, store, turns, id, row, *ids))
	default: // some of those that it has
		for m := store.Mask(id).Intersect(format.FromWords(uint64(random.IntN(1 << fuzzRows)))).Minus(bit(rowFrozen)); !m.IsZero(); m = m.Rest() {
			store.Set(id, m.Lowest(), fuzzLanes(random, store, turns, id, m.Lowest(), *ids))
		}
	}
}

// holding is all that can be seen of a replica, but for counters and the wish for a resync.
func holding(r *replica.Replica) string {
	text := fmt.Append(nil, r.Tick(), r.Len(), r.Changed())
	for e := range r.All {
		text = fmt.Append(text, e)
		for m := e.Mask; !m.IsZero(); m = m.Rest() {
			text = fmt.Append(text, r.Row(e.ID.Index, m.Lowest()))
		}
	}
	return string(text)
}

// mutated returns the packet that the input of a fuzzer stands for. If its first byte is even, the packet is the rest of
// the input. If it is odd, the packet is one of the state's own next packets: the rest of the input changes bytes of it, by
// place and difference, and cuts it.
func mutated(p *fuzzPast, payload []byte) []byte {
	if len(payload) == 0 || payload[0]&1 == 0 || len(p.next) == 0 {
		return payload[min(1, len(payload)):]
	}
	packet := append([]byte(nil), p.next[int(payload[0]>>1)%len(p.next)]...)
	for rest := payload[1:]; len(rest) >= 2 && len(packet) > 0; rest = rest[2:] {
		if rest[1] == 0 {
			packet = packet[:int(rest[0])%(len(packet)+1)]
			continue
		}
		packet[int(rest[0])%len(packet)] ^= rest[1]
	}
	return packet
}

// readAgainst brings any packet to the state of a seed. It must not panic, and takes no more memory than its caps. If it is refused nothing of it is there, on the surface or below: the packets
// that come next mean the same as to a twin that was spared it. It returns the replica that read it.
func readAgainst(t *testing.T, f *fuzzing, seed uint64, payload []byte, guarded bool) (*fuzzPast, error) {
	p, twin := pastOf(t, f, seed, guarded), pastOf(t, f, seed, guarded)
	packet := mutated(p, payload)
	before := holding(p.replica)
	require.Equal(t, holding(twin.replica), before, "the same seed, the same state")
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	err := p.replica.Read(packet)
	runtime.ReadMemStats(&end)
	for e := range p.replica.All {
		for m := e.Mask; !m.IsZero(); m = m.Rest() {
			row := m.Lowest()
			require.True(t, row < f.schema.Rows(), "only rows that there are")
			require.NotNil(t, p.replica.Row(e.ID.Index, row), "an entity has the rows that its mask says")
		}
	}
	took, most := end.TotalAlloc-start.TotalAlloc, uint64(1<<18+256*len(packet))
	if err == nil {
		if took > most {
			require.LessOrEqual(t, took, most+64*reach(p.replica))
		}
		return p, nil
	}
	require.LessOrEqual(t, took, most, "for nothing, next to nothing")
	require.True(t, errors.Is(err, replica.ErrMalformed) || errors.Is(err, replica.ErrStale) || errors.Is(err, replica.ErrBaseline) || errors.Is(err, replica.ErrGuarded))
	require.Equal(t, before, holding(p.replica), "%v: nothing of it is there", err)
	for i, packet := range p.next {
		if len(packet) == 0 {
			continue
		}
		want, got := twin.replica.Read(packet), p.replica.Read(packet)
		require.Equal(t, want, got, "packet %d that follows", i)
		require.Equal(t, holding(twin.replica), holding(p.replica), "packet %d that follows", i)
	}
	return p, err
}

// reach is the number of places of the tables by index: they go up to the highest index that was named, also by a despawn.
func reach(r *replica.Replica) uint64 {
	for index := MaxEntities - 1; index >= 0; index-- {
		if !r.Entity(uint32(index)).ID.IsZero() {
			return uint64(index) + 1
		}
	}
	return 0
}

// addPast adds real packets, whole and damaged, of many states.
func addPast(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, []byte{byte(2*(seed%pastPackets) + 1)})
		f.Add(seed, []byte{1, byte(seed), 1, byte(3 * seed), 0x80})
		f.Add(seed, []byte{3, byte(2 * seed), 0})
		f.Add(seed, []byte{0, byte(seed), 0, 0, 0xFF, 0xFF, byte(7 * seed)})
	}
}

// FuzzRead reads mutated packets against random baselines.
func FuzzRead(f *testing.F) {
	addPast(f)
	all := newFuzzing(f)
	f.Fuzz(func(t *testing.T, seed uint64, payload []byte) {
		if len(payload) <= 1200 {
			_, _ = readAgainst(t, all, seed, payload, false)
		}
	})
}

// FuzzGuardedRead is FuzzRead for what clients write to a server: beside that, nothing is taken in that the guard forbids, and
// what was never heard of leaves no trace.
func FuzzGuardedRead(f *testing.F) {
	addPast(f)
	all := newFuzzing(f)
	f.Fuzz(func(t *testing.T, seed uint64, payload []byte) {
		if len(payload) > 1200 {
			return
		}
		p, err := readAgainst(t, all, seed, payload, true)
		if err != nil {
			return
		}
		before := pastOf(t, all, seed, true).replica
		for e := range p.replica.All {
			if before.Entity(e.ID.Index) != e {
				require.NotZero(t, p.may[e.ID], "%v is not the sender's to write", e.ID)
				require.Zero(t, e.Mask.Minus(p.may[e.ID]))
			}
		}
	})
}

// The states that seeds stand for are of many kinds, and so is what becomes of the packets: else the fuzzers prove little.
func TestStatesOfFuzzing(t *testing.T) {
	all, met := newFuzzing(t), map[string]int{}
	for seed := range uint64(120) {
		for _, payload := range [][]byte{{1}, {1, 2, 0x10}, {3, 9, 1}, {5, 7, 0}} {
			p, err := readAgainst(t, all, seed, payload, seed%2 == 0)
			met[fmt.Sprint(err)]++
			if p.replica.Len() > 8 {
				met["many"]++
			}
			if _, want := p.replica.WantResync(); want {
				met["lost"]++
			}
			if err == nil {
				met["rows as what differs"] += p.deltas
			}
			for e := range p.replica.All {
				for m := e.Mask; !m.IsZero(); m = m.Rest() {
					met[all.schema.Plan(m.Lowest()).Name()]++
				}
			}
		}
	}
	t.Log(met)
	for _, want := range []string{"<nil>", replica.ErrMalformed.Error(), replica.ErrBaseline.Error(), replica.ErrGuarded.Error(), "many", "lost", "rows as what differs"} {
		require.Greater(t, met[want], 5, want)
	}
	for row := range all.schema.Rows() {
		require.Greater(t, met[all.schema.Plan(row).Name()], 60, "entities with row %d", row)
	}
}

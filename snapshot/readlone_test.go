package snapshot

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sequelEntities all move in most ticks, and a payload of sequelRoom has a fourth of them.
const sequelEntities, sequelRoom = 44, 340

// sequelServer plays a server whose payloads are mostly one run each.
type sequelServer struct{ runServer }

func newSequelServer(schema *Schema, cfg Config, seed uint64) *sequelServer {
	store := NewStore(schema, cfg)
	return &sequelServer{runServer: runServer{random: rand.New(rand.NewPCG(seed, 31)), store: store, view: NewView(store, cfg)}}
}

// turn plays a tick and returns its payloads. Of most ticks all that happens is that everything moves.
func (s *sequelServer) turn(odd bool) (payloads [][]byte) {
	skipped := tick.Tick(0)
	if odd && s.random.IntN(25) == 0 {
		skipped = tick.Tick(s.random.IntN(40)) // some of them all that a replica keeps
	}
	s.store.Begin(s.store.Tick() + 1 + skipped)
	for len(s.ids) < sequelEntities && (len(s.ids) == 0 || s.random.IntN(4) > 0) {
		id := s.store.Spawn()
		s.ids = append(s.ids, id)
		s.set(id, 0)
		s.set(id, 1)
	}
	if odd && s.random.IntN(12) == 0 {
		at := s.random.IntN(len(s.ids))
		switch id := s.ids[at]; s.random.IntN(8) {
		case 0:
			s.store.Despawn(id)
			s.ids = slices.Delete(s.ids, at, at+1)
		case 1:
			s.view.Hide(id)
		case 2:
			s.set(id, 2)
		case 3:
			s.store.Remove(id, 2)
		default:
			for _, id := range s.ids {
				s.view.Show(id)
				s.store.Remove(id, 2)
			}
		}
	}
	for _, id := range s.ids {
		for m := s.store.Mask(id); m != 0; m &= m - 1 {
			s.set(id, m.next())
		}
	}
	s.store.Commit()
	s.view.Observe()
	for {
		buf := make([]byte, sequelRoom)
		n := s.view.Write(buf, s.seq+1)
		if n == 0 {
			return payloads
		}
		s.seq++
		payloads = append(payloads, buf[:n])
	}
}

// TestSequelsAreReadAsAnyPayload holds what is read on where the payload before ended against the same read the long way, and
// record by record: in all that a replica keeps, over loss, reordering, repetition, lives that come and go, and resyncs.
func TestSequelsAreReadAsAnyPayload(t *testing.T) {
	schema, sequels, firsts, count := runSchema(t), 0, 0, 9
	if testing.Short() {
		count = 3
	}
	for seed := range uint64(count) {
		cfg := Config{Window: 8, SentPackets: 256, Entities: sequelEntities}
		s, twins := newSequelServer(schema, cfg, seed), newRunTwins(schema, cfg)
		var late [][]byte
		for turn := range 90 {
			payloads := s.turn(seed > 1)
			if s.random.IntN(8) == 0 {
				s.random.Shuffle(len(payloads), func(i, j int) { payloads[i], payloads[j] = payloads[j], payloads[i] })
			}
			for _, p := range payloads {
				switch s.random.IntN(40) * int(min(seed, 1)) {
				case 1: // lost
					continue
				case 2:
					late = append(late, p)
					continue
				case 3:
					twins.read(t, p)
				case 4:
					if len(late) > 0 {
						twins.read(t, late[s.random.IntN(len(late))])
					}
				case 5:
					twins.same(t, sequelEntities) // somebody asks: covers end
				}
				require.True(t, twins.read(t, p))
				twins.alike(t)
			}
			if seed%3 == 2 && turn%45 == 44 {
				twins.fast.Lose()
				twins.long.Lose()
				twins.slow.Lose()
			}
			if epoch, want := twins.fast.WantResync(); want {
				s.view.Resync(epoch, s.seq+1)
			}
			if turn%5 == 4 {
				twins.same(t, sequelEntities)
				twins.fast.ClearChanged()
				twins.long.ClearChanged()
				twins.slow.ClearChanged()
			}
		}
		require.Greater(t, twins.sequels, 5, "of seed %d", seed)
		sequels, firsts = sequels+twins.sequels, firsts+twins.firsts
	}
	require.Greater(t, sequels, 50*count)
	require.Greater(t, firsts, 10*count)
}

// sequelOnItsWay gives replicas that have read all in front of a payload of a tick, the first or one that is a sequel, and that one.
func sequelOnItsWay(t testing.TB, schema *Schema, part int, resynced bool) (start func(t require.TestingT) runTwins, payload []byte) {
	cfg := Config{Window: 8, SentPackets: 256, Entities: sequelEntities}
	s := newSequelServer(schema, cfg, 9)
	var past [][]byte
	for turn := range 30 { // so that the memory of ticks that have left is there
		if turn == 3 && resynced {
			s.view.Resync(1, s.seq+1)
		}
		past = append(past, s.turn(false)...)
	}
	last := s.turn(false)
	require.Greater(t, len(last), 3)
	past = append(past, last[:part]...)
	return func(t require.TestingT) runTwins {
		twins := newRunTwins(schema, cfg)
		for _, r := range []*Replica{twins.fast, twins.long, twins.slow} {
			if resynced {
				r.ask()
			}
			for _, p := range past {
				require.NoError(t, r.Read(p))
			}
		}
		return twins
	}, last[part]
}

// sequelParts are a payload that begins a tick, and one that goes on.
func sequelParts() []int { return []int{0, 2} }

// TestDamagedSequels flips each bit of one, cuts it off anywhere, adds bytes, and changes what it says: that comes to what the long
// way makes of it, which is an error without effect or another legal payload.
func TestDamagedSequels(t *testing.T) {
	schema := runSchema(t)
	for _, part := range sequelParts() {
		for _, resynced := range []bool{false, true} {
			start, payload := sequelOnItsWay(t, schema, part, resynced)
			damageSequel(t, start, payload)
		}
	}
}

func damageSequel(t *testing.T, start func(t require.TestingT) runTwins, payload []byte) {
	short := 0
	try := func(payload []byte) {
		twins := start(t)
		twins.read(t, payload)
		twins.alike(t)
		short += twins.sequels + twins.firsts
	}
	try(payload)
	require.Equal(t, 1, short)
	for bit := range 8 * len(payload) {
		if bit%32 != 5 && bit > 8*leastLone && bit < 8*len(payload)-50 {
			continue // floats
		}
		damaged := slices.Clone(payload)
		damaged[bit/8] ^= 1 << (bit % 8)
		try(damaged)
	}
	for n := range payload {
		before := short
		try(payload[:n])
		require.Equal(t, before, short, "cut off at %d", n)
	}
	before := short
	try(append(slices.Clone(payload), 0))
	require.Equal(t, before, short)
	for word := 0; word+4 <= len(payload); word += 12 {
		damaged := slices.Clone(payload)
		binary.LittleEndian.PutUint32(damaged[word:], 0x7F80_0000)
		try(damaged)
	}
	require.Greater(t, short, 60, "most floats are as good as others")
}

// TestASequelThatIsRefusedLeavesNothing holds that floats that are not finite, the first of a payload or the last, refuse all of it.
func TestASequelThatIsRefusedLeavesNothing(t *testing.T) {
	schema := runSchema(t)
	for _, part := range sequelParts() {
		start, payload := sequelOnItsWay(t, schema, part, false)
		twins := start(t)
		k := min(part, twins.fast.covers.at) // a tick begins at the first cover
		next := &twins.fast.covers.list[k]
		require.True(t, twins.fast.foresee(payload))
		_, first := twins.fast.sequel.begins(payload, &schema.codes, next.index)
		_, from := schema.codes.wholeRun(payload, first, next.width)
		require.NotZero(t, from)
		for _, at := range []int{int(first), int(first) + 32*(next.width-1), 8 * from, 8*(len(payload)-schema.codes.endSize) - 32} {
			damaged := slices.Clone(payload)
			for i := range uint(32) {
				bit := uint(at) + i
				damaged[bit/8] = damaged[bit/8]&^(1<<(bit%8)) | byte(uint32(0x7F80_0001)>>i&1)<<(bit%8)
			}
			twins := start(t)
			before, living, newest := twins.fast.stats, twins.fast.Len(), twins.fast.newest
			require.ErrorIs(t, twins.fast.Read(damaged), ErrMalformed)
			before.Malformed++
			require.Equal(t, before, twins.fast.stats)
			require.Equal(t, living, twins.fast.Len())
			require.Equal(t, newest, twins.fast.newest)
			require.True(t, twins.goOn(payload), "nothing of it was in the way of the one that was meant")
		}
	}
}

// TestSequelsOfManyRows holds that components of which there are more than a sequel has room for are read the long way.
func TestSequelsOfManyRows(t *testing.T) {
	const most = wire.PeekBits - 4 // with a bit for the baseline, and three for the first generation
	for _, rows := range []int{1, most, most + 1, MaxRows} {
		plans := make([]*wire.Plan, rows)
		for i := range plans {
			plans[i] = compile[runHeat](t)
		}
		schema := NewSchema(plans)
		cfg := Config{Window: 8, SentPackets: 256, Entities: sequelEntities}
		store := NewStore(schema, cfg)
		view, twins := NewView(store, cfg), newRunTwins(schema, cfg)
		var ids []wire.NetworkID
		seq := uint64(0)
		for turn := range 30 {
			store.Begin(store.Tick() + 1)
			for i := range sequelEntities {
				if turn == 0 {
					ids = append(ids, store.Spawn())
				}
				store.Set(ids[i], 0, []uint32{uint32(turn*100 + i)})
				store.Set(ids[i], rows-1, []uint32{uint32(turn*100 + i)})
			}
			store.Commit()
			view.Observe()
			for view.Pending() {
				buf := make([]byte, 100)
				seq++
				require.True(t, twins.read(t, buf[:view.Write(buf, seq)]))
				twins.alike(t)
			}
		}
		twins.same(t, sequelEntities)
		require.Equal(t, rows <= most, twins.sequels > 0, "%d rows", rows)
	}
}

// TestNothingGoesOnWhereSomethingIsOtherwise holds that who goes on has looked at all that has to be as it was: where one thing is
// otherwise, in all replicas, the payload does what it does the long way.
func TestNothingGoesOnWhereSomethingIsOtherwise(t *testing.T) {
	schema := runSchema(t)
	start, payload := sequelOnItsWay(t, schema, 2, false)
	holdOtherwise(t, start, payload, map[string]func(r *Replica, k int){
		"those that follow are of another generation": otherGeneration,
		"those that follow have other rows":           otherRows,
		"no cover stands for the first of those that follow": func(r *Replica, k int) {
			bareSome(r, k, 0, 2)
			r.covers.list[k].skip(2)
		},
		"no cover stands for any that follows": func(r *Replica, k int) {
			bareSome(r, k, 0, r.covers.list[k].n)
			r.covers.drop(k)
		},
		"the cover in front ends before": func(r *Replica, k int) {
			last := &r.covers.list[k-1]
			bareSome(r, k-1, last.n-1, 1)
			last.n--
		},
		"there is no cover in front": func(r *Replica, k int) {
			bareSome(r, k-1, 0, r.covers.list[k-1].n)
			r.covers.drop(k - 1)
			r.covers.at--
		},
		"there are more covers than there may be":    func(r *Replica, _ int) { r.covers.most = 1 },
		"the versions before have been put together": func(r *Replica, _ int) { r.past.block(r.newest).settle() },
		"some of the versions before have been put together": func(r *Replica, _ int) {
			b := r.past.block(r.newest)
			first := b.runs[0]
			b.settle()
			first.n = 3
			b.enter(&first)
		},
		"there is no room for lanes":    func(r *Replica, _ int) { b := r.past.block(r.newest); b.lanes = slices.Clip(b.lanes) },
		"there is no room for versions": func(r *Replica, _ int) { b := r.past.block(r.newest); b.versions = slices.Clip(b.versions) },
		"there are as many parts as there may be": func(r *Replica, _ int) {
			for b := r.past.block(r.newest); len(b.parts) < maxParts; {
				b.open(1)
			}
		},
		"the lists of the tick are full": func(r *Replica, _ int) { r.past.block(r.newest).count = maxListedAt - 1 },
	})
}

// TestNoTickBeginsWhereSomethingIsOtherwise is the same of a payload that is the first of its tick.
func TestNoTickBeginsWhereSomethingIsOtherwise(t *testing.T) {
	schema := runSchema(t)
	start, payload := sequelOnItsWay(t, schema, 0, false)
	left := func(r *Replica) *block { return r.past.left[len(r.past.left)-1] }
	holdOtherwise(t, start, payload, map[string]func(r *Replica, k int){
		"those of the first cover are of another generation": func(r *Replica, _ int) { otherGeneration(r, 0) },
		"those of the first cover have other rows":           func(r *Replica, _ int) { otherRows(r, 0) },
		"no cover stands for the first of them": func(r *Replica, _ int) {
			bareSome(r, 0, 0, 2)
			r.covers.list[0].skip(2)
		},
		"the first cover ends among them": func(r *Replica, _ int) {
			c := &r.covers.list[0]
			bareSome(r, 0, 3, c.n-3)
			c.n = 3
		},
		"no cover stands for any":                 func(r *Replica, _ int) { r.uncover() },
		"there are more covers than there may be": func(r *Replica, _ int) { r.covers.most = 0 },
		"no tick has left its memory":             func(r *Replica, _ int) { r.past.left = nil },
		"there is no room for lanes":              func(r *Replica, _ int) { left(r).lanes = nil },
		"there is no room for versions":           func(r *Replica, _ int) { left(r).versions = nil },
		"there is no room for parts":              func(r *Replica, _ int) { left(r).parts = nil },
		"there is no room for lists":              func(r *Replica, _ int) { left(r).listed = nil },
		"another tick is still in its place": func(r *Replica, _ int) {
			r.past.blocks[int(r.newest+1)&(len(r.past.blocks)-1)] = &block{tick: r.newest}
			r.past.spare = block{
				lanes: make([]uint32, 0, 1000), versions: make([]version, 0, 100), parts: make([]listPart, 0, 8), listed: make([]listSpan, 0, 8),
			}
		},
	})
}

func otherGeneration(r *Replica, k int) {
	c := &r.covers.list[k]
	c.generation++
	for i := range c.n {
		r.lives[int(c.life)+i].generation++
	}
}

func otherRows(r *Replica, k int) {
	c := &r.covers.list[k]
	c.mask = c.mask.With(2)
	for i := range c.n {
		r.masks[int(c.index)+i] = c.mask
	}
}

// bareSome writes into lives what a cover stands for.
func bareSome(r *Replica, i, from, n int) {
	c := r.covers.list[i]
	c.skip(from)
	c.n = n
	r.write(c)
}

// holdOtherwise holds that a payload does the same on either way where something is altered, which the short way does not go then.
func holdOtherwise(t *testing.T, start func(t require.TestingT) runTwins, payload []byte, alters map[string]func(r *Replica, k int)) {
	for name, alter := range alters {
		twins := start(t)
		for _, r := range []*Replica{twins.fast, twins.long} {
			require.Positive(t, r.covers.at)
			alter(r, r.covers.at)
			r.sequel.forget()
		}
		twins.alike(t)
		require.False(t, twins.goOn(payload), name)
		if twins.fast.past.block(twins.fast.newest+1).tick <= twins.fast.newest { // else it has a place, of which nothing is known
			twins.alike(t)
		}
		require.NoError(t, twins.fast.Read(payload), name)
		require.NoError(t, twins.long.readLong(payload), name)
		twins.alike(t)
	}
	twins := start(t)
	require.True(t, twins.goOn(payload))
}

// FuzzReadLone holds that no payload at the beginning of a tick or in its midst does anything else when it is read the short way
// than the long way, or record by record.
func FuzzReadLone(f *testing.F) {
	schema := runSchema(f)
	var starts []func(t require.TestingT) runTwins
	var payloads [][]byte
	for k, part := range sequelParts() {
		start, payload := sequelOnItsWay(f, schema, part, false)
		starts, payloads = append(starts, start), append(payloads, payload)
		addEdits(f, byte(k), len(payload))
	}
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		if len(edits) > mostEdits {
			return
		}
		k := int(which) % len(starts)
		twins := starts[k](t)
		twins.read(t, edited(payloads[k], edits))
		twins.alike(t)
		require.Equal(t, holding(twins.slow), holding(twins.fast))
	})
}

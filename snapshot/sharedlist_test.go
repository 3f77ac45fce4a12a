package snapshot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// listTwin is a store with views that are written at a number of desks, by an
// order of their own: whatever that is, the same has to be written.
type listTwin struct {
	store   *Store
	views   []*View
	desks   []*Desk // none: the store's own
	prepare bool
	seqs    []uint64
	flights [][]listFlight

	together int // slots that were kept once with others, of all views, at most
	tied     int // ties of a view, at most
	had      int // bodies that a record had first, of those that were made where it was written
}

type listFlight struct {
	seq  uint64
	due  tick.Tick
	lost bool
}

// listGame is what a twin is made of, and how its clients differ.
type listGame struct {
	seed                 uint64
	clients, entities    int
	loss, personal, plan bool
	grouped, reordered   bool
	messages             bool // take room in some packets
	shares               bool // so much is alike that lists are shared at several desks too
	whole                bool // rows travel whole, and packets are shared instead of lists
	parts                bool // parts of lists are shared too
	between              bool // something of one client's own changes between the packets of a tick
	history              int  // bytes; so few that not all is held that records would lean on
}

func (g listGame) twin(t testing.TB, shared bool, desks int) *listTwin {
	cfg := Config{Window: 64, Entities: g.entities, Payload: 300, Whole: g.whole, HistoryBytes: g.history}
	w := &listTwin{store: NewStore(simSchema(t), cfg), prepare: desks > 1}
	for range desks {
		w.desks = append(w.desks, w.store.NewDesk())
		w.desks[0].lists.every = fourSize // the more marks, the more parts
	}
	for _, d := range append(w.desks, &w.store.desk) {
		d.least = 1 // short lists too may be gone through at once
	}
	if !shared {
		w.store.desk.lists.next, w.store.desk.rounds.alone, w.store.desk.apart = math.MaxInt64, true, true
	}
	for range g.clients {
		v := NewView(w.store, cfg)
		if v.cohorts.least = 1; !shared {
			v.cohorts.next = math.MaxInt64
		}
		w.views = append(w.views, v)
	}
	w.seqs, w.flights = make([]uint64, g.clients), make([][]listFlight, g.clients)
	return w
}

// holdersAreCounted proves that what several packets carried is held as often as
// it is referred to, and that what is used again nobody refers to.
func (w *listTwin) holdersAreCounted(t *testing.T) {
	held := map[*alike]int32{}
	for _, v := range w.views {
		for i := range v.sent.packets {
			if a := v.sent.packets[i].alike; a != nil {
				held[a]++
			}
		}
	}
	desks := append([]*Desk{&w.store.desk}, w.desks...)
	for _, d := range desks {
		for i := range d.lists.kept {
			if m := &d.lists.kept[i]; m.alike != nil {
				held[m.alike]++
			}
			if from := d.lists.kept[i].from; from != nil {
				held[from]++
			}
		}
		for i := range d.rounds.all {
			for k := range d.rounds.all[i].packets {
				if q := &d.rounds.all[i].packets[k]; q.alike != nil {
					held[q.alike]++
				}
			}
		}
	}
	for a, n := range held {
		require.Equal(t, n, a.holders.Load())
	}
	for _, a := range w.store.shared.spare {
		require.Zero(t, held[a])
		require.Zero(t, a.holders.Load())
	}
	require.Equal(t, w.store.shared.made, len(held)+len(w.store.shared.spare), "none is lost")
}

// parts is of how many lists a part was copied.
func (w *listTwin) parts() uint64 {
	n := w.store.desk.lists.parts
	for _, d := range w.desks {
		n += d.lists.parts
	}
	return n
}

// swept is how many entities of lists, and how many others, were gone through at once.
func (w *listTwin) swept() (listed, others uint64) {
	listed, others = w.store.desk.swept, w.store.desk.sweptOthers
	for _, d := range w.desks {
		listed, others = listed+d.swept, others+d.sweptOthers
	}
	return listed, others
}

// alike is how many entities of lists were asked about by words.
func (w *listTwin) alike() uint64 {
	n := w.store.desk.alike
	for _, d := range w.desks {
		n += d.alike
	}
	return n
}

// hadFirst is how many bodies of a tick, made at the desks that write, were made for a record or had by one since. What was prepared for all
// of them counts as used again from its first record on.
func (w *listTwin) hadFirst() (n int) {
	desks := w.desks
	if len(desks) == 0 {
		desks = []*Desk{&w.store.desk}
	}
	for _, d := range desks {
		for i := range d.bodies.arenas {
			for k := range d.bodies.arenas[i].entries[1:] {
				if e := &d.bodies.arenas[i].entries[1+k]; d.bodies.tick == w.store.tick && !e.fresh {
					n++
				}
			}
		}
	}
	return n
}

// uses is how often a record had a body that could be any client's, or asked for one in vain.
func (w *listTwin) uses() int {
	_, again := w.store.Shared()
	return int(again) + w.had
}

// play plays the game and returns every payload.
func (g listGame) play(w *listTwin) (payloads [][]byte) {
	r := rand.New(rand.NewPCG(g.seed, 5))
	var ids []wire.NetworkID
	for range 150 {
		s := w.store
		s.Begin(s.Tick() + 1)
		for len(ids) < g.entities {
			ids = append(ids, s.Spawn())
			s.Set(ids[len(ids)-1], rowHealth, []uint32{1})
		}
		for i, id := range ids {
			if (i*7+int(s.Tick()))%31 < 20 {
				s.Set(id, rowPosition, []uint32{uint32(r.IntN(16)), uint32(i & 3)})
			}
		}
		switch i := r.IntN(len(ids)); r.IntN(8) {
		case 0:
			s.Despawn(ids[i])
			ids[i] = s.Spawn()
		case 1:
			s.Set(ids[i], rowFrozen, nil)
		case 2:
			s.Remove(ids[i], rowPosition)
		case 3:
			if g.grouped {
				s.SetGroup(ids[i], uint32(r.IntN(3)))
			}
		}
		s.Commit()
		for i := range w.views {
			g.arrive(w, i, r, ids)
		}
		if w.prepare && s.Tick()%5 < 3 { // not in each tick: nothing of an earlier one is good for this one
			s.Prepare(w.views, len(w.desks), func(n int, part func(int)) {
				for i := n - 1; i >= 0; i-- {
					part(i)
				}
			})
		}
		for i := range w.views {
			payloads = g.send(w, i, r, ids, payloads)
		}
		w.had += w.hadFirst()
		n := 0
		for _, v := range w.views {
			n += v.cohorts.any.count()
			w.tied = max(w.tied, v.ties.n)
		}
		w.together = max(w.together, n)
	}
	return payloads
}

// arrive is what a client tells in a tick, and what is the game's with it.
func (g listGame) arrive(w *listTwin, i int, r *rand.Rand, ids []wire.NetworkID) {
	v, now := w.views[i], w.store.Tick()
	w.flights[i] = slices.DeleteFunc(w.flights[i], func(f listFlight) bool {
		switch {
		case f.due > now:
			return false
		case f.lost:
			v.Lost(f.seq)
		default:
			v.Acked(f.seq)
		}
		return true
	})
	if g.personal && r.IntN(20) == 0 {
		switch id := ids[r.IntN(len(ids))]; r.IntN(6) {
		case 0:
			v.Hide(id)
		case 1:
			v.Show(id)
		case 2:
			v.SetRows(id, Mask(0).With(rowPosition))
		case 3:
			v.SetRows(id, ^Mask(0))
		case 4:
			v.Again(id)
		case 5:
			v.Resync(v.epoch+1, w.seqs[i]+1)
		}
	}
	v.Observe()
	if g.plan {
		v.Plan(200 + 400*(i%3))
	}
}

// send writes a client's packets.
func (g listGame) send(w *listTwin, i int, r *rand.Rand, ids []wire.NetworkID, payloads [][]byte) [][]byte {
	v, desk := w.views[i], &w.store.desk
	if len(w.desks) > 0 {
		desk = w.desks[i%len(w.desks)]
	}
	for packets := 0; v.Pending() && (!g.plan || packets < 2); packets++ {
		if g.between && packets == 1 && r.IntN(5) == 0 { // what waits after that makes the next tick one without lists
			for range 20 {
				id := ids[r.IntN(len(ids))]
				v.SetRows(id, Mask(0).With(rowPosition))
				if r.IntN(4) > 0 {
					v.SetRows(id, ^Mask(0))
				}
			}
		}
		room := 300
		if g.messages && r.IntN(10) == 0 {
			room = 150 // messages took the rest
		}
		buf := make([]byte, room)
		w.seqs[i]++
		n := v.WriteAt(desk, buf, w.seqs[i])
		if n == 0 {
			break
		}
		f := listFlight{seq: w.seqs[i], due: w.store.Tick() + 2 + tick.Tick(i%2), lost: g.loss && r.IntN(15) == 0}
		if g.reordered {
			f.due += tick.Tick(r.IntN(3))
		}
		w.flights[i] = append(w.flights[i], f)
		payloads = append(payloads, buf[:n])
	}
	return payloads
}

func TestSharedListsAndDesksChangeNoBit(t *testing.T) {
	desks := []int{0, 1, 3}
	if testing.Short() {
		desks = []int{0, 3}
	}
	for name, g := range map[string]listGame{
		"alike":     {seed: 1, clients: 12, entities: 200, shares: true},
		"lossy":     {seed: 2, clients: 12, entities: 200, loss: true, parts: true},
		"messages":  {seed: 2, clients: 12, entities: 20, messages: true},
		"taken":     {seed: 9, clients: 12, entities: 200, messages: true, personal: true, parts: true},
		"personal":  {seed: 3, clients: 12, entities: 30, personal: true, shares: true},
		"planned":   {seed: 4, clients: 6, entities: 200, plan: true},
		"grouped":   {seed: 5, clients: 12, entities: 40, grouped: true, shares: true},
		"reordered": {seed: 6, clients: 12, entities: 150, reordered: true, loss: true, personal: true, messages: true},
		"tied":      {seed: 8, clients: 12, entities: 60, grouped: true, personal: true, loss: true, shares: true, parts: true},
		"many":      {seed: 7, clients: 40, entities: 20, loss: true, shares: true},
		"between":   {seed: 10, clients: 6, entities: 900, between: true},
		"forgotten": {seed: 10, clients: 6, entities: 600, history: 1, reordered: true},

		"whole, alike":     {seed: 11, clients: 12, entities: 200, shares: true, whole: true},
		"whole, lossy":     {seed: 12, clients: 12, entities: 200, loss: true, whole: true},
		"whole, messages":  {seed: 12, clients: 12, entities: 60, messages: true, whole: true},
		"whole, personal":  {seed: 13, clients: 12, entities: 30, personal: true, whole: true},
		"whole, planned":   {seed: 14, clients: 6, entities: 200, plan: true, whole: true},
		"whole, grouped":   {seed: 15, clients: 12, entities: 40, grouped: true, shares: true, whole: true},
		"whole, reordered": {seed: 16, clients: 12, entities: 150, reordered: true, loss: true, personal: true, messages: true, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			alone := g.twin(t, false, 0)
			want := g.play(alone)
			require.Zero(t, alone.store.ListsShared())
			for _, desks := range desks {
				twin := g.twin(t, true, desks)
				got := g.play(twin)
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.Equal(t, want[i], got[i], "payload %d of %d, %d desks", i, len(want), desks)
				}
				for i := range alone.views {
					require.Equal(t, alone.views[i].stats, twin.views[i].stats, "statistics of view %d", i)
					require.Equal(t, alone.views[i].ties.n, twin.views[i].ties.n, "ties of view %d", i)
					for index := range uint32(len(alone.views[i].slots)) {
						require.Equal(t, *alone.views[i].slot(index, new(slot)), *twin.views[i].slot(index, new(slot)), "slot %d of view %d", index, i)
						require.Equal(t, alone.views[i].wentAt(index), twin.views[i].wentAt(index), "slot %d of view %d", index, i)
					}
				}
				twin.holdersAreCounted(t)
				require.Equal(t, alone.uses(), twin.uses(), "records of bodies that are anybody's, at %d desks", desks)
				if desks == 0 { // how a body came to its second client is no matter, nor that there were too many to stay where they were
					_, want := alone.store.Shared()
					_, got := twin.store.Shared()
					require.Equal(t, want, got, "bodies that were used again")
				}
				if g.parts {
					require.NotZero(t, twin.parts(), "no part was copied: the test shows nothing")
				}
				if listed, others := twin.swept(); !g.whole && !g.plan && !g.grouped {
					require.NotZero(t, listed, "nothing was swept: the test shows nothing")
					require.NotZero(t, others, "nothing behind a list was swept: the test shows nothing")
					require.True(t, g.personal || g.between || twin.alike() > 0, "nothing was asked by words: the test shows nothing")
				}
				require.Equal(t, g.grouped, twin.tied > 0)
				require.True(t, twin.together > 0 || g.whole && g.plan, "there was no cohort: the test shows nothing")
				if g.shares && g.whole {
					require.NotZero(t, twin.store.roundsShared(), "nothing was shared: the test shows nothing")
				} else if g.shares {
					require.NotZero(t, twin.store.ListsShared(), "nothing was shared: the test shows nothing")
				}
			}
		})
	}
}

// TestListsThatNobodySharesAreSeldomKept: to keep what nobody asks for costs
// time in each tick.
func TestListsThatNobodySharesAreSeldomKept(t *testing.T) {
	g := listGame{seed: 8, clients: 1, entities: 50}
	w := g.twin(t, true, 0)
	g.play(w)
	require.EqualValues(t, longestPause, w.store.desk.lists.pause)
	g.clients = 2
	w = g.twin(t, true, 0)
	w.views[1].hideNew = true // it sees nothing at first
	kept := map[bool]int{}
	for range 300 {
		w.store.Begin(w.store.Tick() + 1)
		if w.store.Tick() == 1 {
			w.store.Spawn()
		}
		w.store.touch(0)
		w.store.Commit()
		for i, v := range w.views {
			if v.Observe(); i == 1 && w.store.Tick() == 150 {
				v.Show(wire.NetworkID{Index: 0, Generation: 1})
			}
			w.seqs[i]++
			if v.Write(make([]byte, 300), w.seqs[i]) > 0 {
				v.Acked(w.seqs[i])
			}
		}
		if w.store.desk.lists.n > 0 {
			kept[w.store.Tick() >= 170]++
		}
	}
	require.Less(t, kept[false], 30)
	require.Greater(t, kept[true], 120, "two clients that share are noticed within 16 ticks")
}

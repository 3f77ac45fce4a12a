package snapshot

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// listTwin is a store with views that are written in an order of their own: whatever that is, the same has to be written.
type listTwin struct {
	store   *Store
	views   []*View
	seqs    []uint64
	flights [][]listFlight

	together int // entities whose ack state was stored once with others, of all views, at most
	tied     int // ties of a view, at most
}

type listFlight struct {
	seq  uint64
	due  tick.Tick
	lost bool
}

// listGame has the settings of a twin, and the differences between its clients.
type listGame struct {
	seed                 uint64
	clients, entities    int
	loss, personal, plan bool
	grouped, reordered   bool
	messages             bool // take room in some packets
	shares               bool // so much is alike that lists are shared
	between              bool // something of one client's own changes between the packets of a tick
	history              int  // bytes; so few that not all is held that records would lean on
	ticks                int  // 0: 150
}

func (g listGame) twin(t testing.TB, shared bool) *listTwin {
	cfg := Config{Window: 64, Entities: g.entities, Payload: 300, HistoryBytes: g.history}
	w := &listTwin{store: NewStore(simSchema(t), cfg)}
	if !shared {
		w.store.cache.plain = true
	}
	for range g.clients {
		w.views = append(w.views, NewView(w.store, cfg))
	}
	w.seqs, w.flights = make([]uint64, g.clients), make([][]listFlight, g.clients)
	return w
}

// play plays the game and returns every payload.
func (g listGame) play(w *listTwin) (payloads [][]byte) {
	r := rand.New(rand.NewPCG(g.seed, 5))
	var ids []wire.NetworkID
	for range cmp.Or(g.ticks, 150) {
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
		for i := range w.views {
			payloads = g.send(w, i, r, ids, payloads)
		}
		n := 0
		for _, v := range w.views {
			for i := range v.pages {
				n += bits.OnesCount64(v.pages[i].members)
			}
			w.tied = max(w.tied, v.links.n)
		}
		w.together = max(w.together, n)
	}
	return payloads
}

// arrive makes the calls of a tick for one client: the acks and losses that the client tells, and
// the changes that the game makes to its view.
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
			v.See(id, Mask{}.With(rowPosition))
		case 3:
			v.See(id, AllRows())
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
	v := w.views[i]
	for packets := 0; v.Pending() && (!g.plan || packets < 2); packets++ {
		if g.between && packets == 1 && r.IntN(5) == 0 { // what waits after that makes the next tick one without lists
			for range 20 {
				id := ids[r.IntN(len(ids))]
				v.See(id, Mask{}.With(rowPosition))
				if r.IntN(4) > 0 {
					v.See(id, AllRows())
				}
			}
		}
		room := 300
		if g.messages && r.IntN(10) == 0 {
			room = 150 // messages took the rest
		}
		buf := make([]byte, room)
		w.seqs[i]++
		n := v.Write(buf, w.seqs[i])
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

func TestSharedPagesChangeNoBit(t *testing.T) {
	for name, g := range map[string]listGame{
		"alike":     {seed: 1, clients: 12, entities: 200, shares: true},
		"lossy":     {seed: 2, clients: 12, entities: 200, loss: true},
		"messages":  {seed: 2, clients: 12, entities: 20, messages: true},
		"taken":     {seed: 9, clients: 12, entities: 200, messages: true, personal: true},
		"personal":  {seed: 3, clients: 12, entities: 30, personal: true, shares: true},
		"planned":   {seed: 4, clients: 6, entities: 200, plan: true},
		"grouped":   {seed: 5, clients: 12, entities: 40, grouped: true, shares: true},
		"reordered": {seed: 6, clients: 12, entities: 150, reordered: true, loss: true, personal: true, messages: true},
		"tied":      {seed: 8, clients: 12, entities: 60, grouped: true, personal: true, loss: true, shares: true},
		"many":      {seed: 7, clients: 40, entities: 20, loss: true, shares: true},
		"between":   {seed: 10, clients: 6, entities: 900, between: true},
		"forgotten": {seed: 10, clients: 6, entities: 600, history: 1, reordered: true},
	} {
		t.Run(name, func(t *testing.T) {
			twin := g.requireAlike(t)
			require.Equal(t, g.grouped, twin.tied > 0)
			require.True(t, plain.On || twin.together > 0, "no page had members: the test shows nothing")
			if g.shares && !plain.On {
				require.NotZero(t, twin.store.PagesShared(), "nothing was shared: the test shows nothing")
			}
		})
	}
}

// requireAlike plays a game with fast paths: the same is written as by the plain twin. It returns the twin with fast paths.
func (g listGame) requireAlike(t *testing.T) *listTwin {
	alone, twin := g.twin(t, false), g.twin(t, true)
	want, got := g.play(alone), g.play(twin)
	require.Zero(t, alone.store.PagesShared())
	require.Equal(t, len(want), len(got))
	for i := range want {
		require.Equal(t, want[i], got[i], "payload %d of %d", i, len(want))
	}
	for i := range alone.views {
		requireUnseen(t, alone.views[i])
		require.Equal(t, alone.views[i].stats, twin.views[i].stats, "statistics of view %d", i)
		require.Equal(t, alone.views[i].links.n, twin.views[i].links.n, "ties of view %d", i)
		for index := range uint32(alone.views[i].indexes) {
			require.Equal(t, alone.views[i].ack(index), twin.views[i].ack(index), "ack state %d of view %d", index, i)
		}
	}
	return twin
}

// FuzzPages plays small games of any kind: pages and deltas that clients share, and deltas that are made together, change no bit.
func FuzzPages(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(seed*5), uint8(30*seed), uint8(1<<seed|1<<(seed/2)), seed%2 > 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, clients, entities, kind uint8, fewBytes bool) {
		g := listGame{seed: seed, clients: 1 + int(clients)%6, entities: 1 + int(entities)%80, ticks: 10}
		g.loss, g.personal, g.plan, g.grouped = kind&1 > 0, kind&2 > 0, kind&4 > 0, kind&8 > 0
		g.reordered, g.messages, g.between = kind&16 > 0, kind&32 > 0, kind&64 > 0
		if fewBytes {
			g.history = 1
		}
		g.requireAlike(t)
	})
}

// Texts that differ in one part of their key alone lie in different places of the table.
func TestTextsOfOneClientLieApart(t *testing.T) {
	for name, at := range map[string]func(n uint64) pageKey{
		"clients": func(n uint64) pageKey { return pageKey{ref: 100, near: 99, list: ^uint64(0), of: ^uint64(0), own: n} },
		"pages": func(n uint64) pageKey {
			return pageKey{ref: 100, near: 99, list: ^uint64(0), of: ^uint64(0), page: uint32(n)}
		},
		"rows": func(n uint64) pageKey { return pageKey{ref: 100, near: 99, of: 1, hidden: format.FromWords(n)} },
	} {
		places := map[uint64]bool{}
		for n := range uint64(256) {
			k := at(n)
			places[k.hash()%1024] = true
		}
		require.Greater(t, len(places), 180, name)
	}
}

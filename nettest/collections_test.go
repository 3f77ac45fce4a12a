package nettest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// thing is an element that names an entity and is rounded on its way.
type thing struct {
	Kind uint16
	Wear float32           `net:"min=0,max=1,step=0.01"`
	Of   netcode.NetworkID `net:"entity"`
}

// shelf is a protocol with a collection of each kind.
type shelf struct {
	protocol *netcode.Protocol
	list     *collections.List[thing]
	set      *collections.Set[uint32]
	table    *collections.Map[int16, thing]
}

func newShelf() *shelf {
	p := protocol()
	return &shelf{
		protocol: p, list: collections.NewList[thing](p, "things", collections.MaxElements(200)),
		set: collections.NewSet[uint32](p, "marks"), table: collections.NewMap[int16, thing](p, "table", collections.MaxBytes(900)),
	}
}

// model has the elements that the collections of one entity must have, in plain Go.
type model struct {
	list  []thing
	set   map[uint32]bool
	table map[int16]thing
}

// room is a game that changes the collections of its entities at random.
type room struct {
	*shelf
	t      *testing.T
	random *rand.Rand
	net    *nettest.Net
	alive  map[netcode.NetworkID]*model
	order  []netcode.NetworkID
	entity map[netcode.NetworkID]ecs.Entity
	heard  map[*nettest.Client]map[netcode.NetworkID][]thing
	ever   int
	whole  int // times that a client was told so
	single int // other changes that it was told of
	tops   int // collections that were full
}

func newRoom(t *testing.T, seed uint64, clients int, loss float64) *room {
	r := &room{
		shelf: newShelf(), t: t, random: rand.New(rand.NewPCG(seed, 1)), alive: map[netcode.NetworkID]*model{},
		entity: map[netcode.NetworkID]ecs.Entity{}, heard: map[*nettest.Client]map[netcode.NetworkID][]thing{},
	}
	r.net = nettest.New(t, nettest.Config{Protocol: r.protocol, Clients: clients, Seed: seed, Link: bad(0)})
	for _, c := range r.net.Clients {
		r.hear(c)
	}
	r.net.Server.Systems.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		r.alive[id] = &model{set: map[uint32]bool{}, table: map[int16]thing{}}
		r.entity[id] = e
		r.order = append(r.order, id)
		r.ever++
	})
	require.True(t, r.net.RunUntil(5*time.Second, r.net.Connected))
	r.net.SetLink(bad(loss))
	return r
}

// hear rebuilds the lists of a client from what it is told.
func (r *room) hear(c *nettest.Client) {
	lists := map[netcode.NetworkID][]thing{} // looked up only
	r.list.OnChange(c.Client, func(change collections.ListChange[thing]) {
		at := lists[change.Entity]
		r.single++
		switch change.What {
		case collections.ChangeWhole:
			r.whole++
			r.single--
			at = elements(r.list.Of(c.Client, change.Entity))
			_, here := c.Systems.Entity(change.Entity)
			require.True(r.t, here, "a collection before its entity")
		case collections.ChangeInserted:
			at = slices.Insert(at, change.Index, change.Value)
		case collections.ChangeSet:
			require.Equal(r.t, at[change.Index], change.Old)
			at[change.Index] = change.Value
		case collections.ChangeRemoved:
			require.Equal(r.t, at[change.Index], change.Value)
			at = slices.Delete(at, change.Index, change.Index+1)
		case collections.ChangeCleared:
			at = nil
		case collections.ChangeGone:
			delete(lists, change.Entity)
			require.False(r.t, r.list.Of(c.Client, change.Entity).Arrived())
			return
		}
		lists[change.Entity] = at
	})
	r.heard[c] = lists
}

func elements(l collections.ListOf[thing]) (all []thing) {
	for _, v := range l.All() {
		all = append(all, v)
	}
	return all
}

// spawn makes some entities in the server's world.
func (r *room) spawn(count int) {
	w := r.net.Server.World
	for range count {
		ecs.Spawn(w, nil, ecs.ComponentID[position](w), ecs.ComponentID[components.Replicated](w))
	}
}

// any is a random living entity.
func (r *room) any() (netcode.NetworkID, bool) {
	if len(r.order) == 0 {
		return netcode.NetworkID{}, false
	}
	return r.order[r.random.IntN(len(r.order))], true
}

func (r *room) kill() {
	if len(r.order) < 4 {
		return
	}
	i := r.random.IntN(len(r.order))
	id := r.order[i]
	r.order = slices.Delete(r.order, i, i+1)
	r.net.Server.World.RemoveEntity(r.entity[id])
	delete(r.alive, id)
	delete(r.entity, id)
}

func (r *room) thing() thing {
	v := thing{Kind: uint16(r.random.Uint32()), Wear: float32(r.random.IntN(101)) / 100}
	if r.random.IntN(3) == 0 {
		v.Of, _ = r.any()
	}
	return v
}

// play is one frame of the game: some changes, and rarely one of who is there and who sees it.
func (r *room) play(rate int) {
	for range r.random.IntN(rate + 1) {
		id, ok := r.any()
		if !ok {
			break
		}
		r.change(id)
	}
	switch r.random.IntN(60) {
	case 0:
		r.spawn(1 + r.random.IntN(2))
	case 1:
		r.kill()
	case 2, 3, 4:
		if id, ok := r.any(); ok {
			c := r.net.Clients[r.random.IntN(len(r.net.Clients))].ID()
			if !r.net.Server.Hide(c, id) || r.random.IntN(3) == 0 {
				r.net.Server.Show(c, id)
			}
		}
	case 5, 6, 7:
		if id, ok := r.any(); ok {
			r.net.Server.Show(r.net.Clients[r.random.IntN(len(r.net.Clients))].ID(), id)
		}
	}
}

// change does one thing to a collection and to its model.
func (r *room) change(id netcode.NetworkID) {
	m, s, v := r.alive[id], r.net.Server.Server, r.thing()
	list, set, table := r.list.Of(s, id), r.set.Of(s, id), r.table.Of(s, id)
	switch at := r.random.IntN(len(m.list) + 1); r.random.IntN(14) {
	case 0, 1, 2, 3:
		if err := list.Insert(at, v); err == nil {
			m.list = slices.Insert(m.list, at, v)
		} else {
			r.full(err, len(m.list))
		}
	case 4, 5:
		if err := list.Set(at, v); at < len(m.list) {
			require.NoError(r.t, err)
			m.list[at] = v
		} else {
			require.ErrorIs(r.t, err, collections.ErrNoElement)
		}
	case 6:
		if err := list.Remove(at); at < len(m.list) {
			require.NoError(r.t, err)
			m.list = slices.Delete(m.list, at, at+1)
		} else {
			require.ErrorIs(r.t, err, collections.ErrNoElement)
		}
	case 7:
		if r.random.IntN(20) == 0 {
			require.NoError(r.t, list.Clear())
			m.list = nil
		}
	case 8, 9:
		require.NoError(r.t, set.Add(uint32(at)))
		m.set[uint32(at)] = true
	case 10:
		require.NoError(r.t, set.Remove(uint32(at)))
		delete(m.set, uint32(at))
	case 11, 12:
		key := int16(r.random.IntN(600) - 300)
		if err := table.Set(key, v); err == nil {
			m.table[key] = v
		} else {
			r.full(err, len(m.table))
		}
	default:
		key := int16(r.random.IntN(600) - 300)
		require.NoError(r.t, table.Remove(key))
		delete(m.table, key)
	}
}

func (r *room) full(err error, have int) {
	var full *collections.FullError
	require.ErrorAs(r.t, err, &full)
	require.Equal(r.t, full.Elements, have)
	r.tops++
}

// check compares every client with the models: what it sees it has whole, and of nothing else it has anything.
func (r *room) check() error {
	for i, c := range r.net.Clients {
		if !c.Running() {
			continue
		}
		for _, id := range r.order {
			list, set, table := r.list.Of(c.Client, id), r.set.Of(c.Client, id), r.table.Of(c.Client, id)
			if !r.net.Server.Visible(c.ID(), id) {
				if list.Arrived() || set.Arrived() || table.Arrived() {
					return fmt.Errorf("client %d has something of %v, which it does not see", i, id)
				}
				continue
			}
			m := r.alive[id]
			if list.Arrived() != r.list.Of(r.net.Server.Server, id).Arrived() {
				return fmt.Errorf("client %d: list of %v: arrived %v", i, id, list.Arrived())
			}
			if got, want := elements(list), r.seen(c, m.list); !slices.EqualFunc(got, want, alike) {
				return fmt.Errorf("client %d: list of %v: %v, want %v", i, id, got, want)
			}
			if got := elements(list); !slices.Equal(got, r.heard[c][id]) {
				return fmt.Errorf("client %d: list of %v: %v, but was told of %v", i, id, got, r.heard[c][id])
			}
			if got, want := slices.Collect(set.All()), slices.Sorted(maps.Keys(m.set)); !slices.Equal(got, want) {
				return fmt.Errorf("client %d: set of %v: %v, want %v", i, id, got, want)
			}
			got, want := maps.Collect(table.All()), map[int16]thing{}
			for key, v := range m.table {
				want[key] = r.seen(c, []thing{v})[0]
			}
			if !maps.EqualFunc(got, want, alike) {
				return fmt.Errorf("client %d: table of %v: %v, want %v", i, id, got, want)
			}
		}
	}
	return nil
}

// seen returns the elements as a client may know them.
func (r *room) seen(c *nettest.Client, list []thing) []thing {
	list = slices.Clone(list)
	for i := range list {
		if !r.net.Server.Visible(c.ID(), list[i].Of) {
			list[i].Of = netcode.NetworkID{}
		}
	}
	return list
}

// alike allows for the rounding.
func alike(a, b thing) bool {
	d := a.Wear - b.Wear
	return a.Kind == b.Kind && a.Of == b.Of && d < 0.006 && d > -0.006
}

// settle runs until all clients have what they see.
func (r *room) settle() {
	r.t.Helper()
	r.net.Heal()
	var err error
	require.True(r.t, r.net.RunUntil(20*time.Second, func() bool { err = r.check(); return err == nil }), "%v", err)
	r.net.Run(time.Second) // and stays so
	require.NoError(r.t, r.check())
	require.Empty(r.t, r.net.Server.Stats().Malformed)
}

// Whatever the link does, and whoever comes, goes and looks away: in the end each client has the collections of what it
// sees, as a plain slice, a plain map and a plain set have them.
func TestCollectionsConverge(t *testing.T) {
	t.Parallel()
	for seed, loss := range []float64{0, .05, .1, .2, .3, .4} {
		t.Run(fmt.Sprintf("loss %v", loss), func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, uint64(seed)+77, 3, loss)
			r.spawn(6)
			for frame := range 60 * 12 {
				r.play(sized(6, 6))
				r.net.Step()
				switch frame {
				case 200, 500:
					r.hear(r.net.Join())
				case 600:
					r.net.Kill(r.net.Clients[0])
				}
			}
			r.settle()
			for _, c := range r.net.Clients[1:] {
				require.Equal(t, netcode.Connected, c.State(), "%v", c.Err())
				require.Zero(t, c.Stats().Malformed)
			}
			require.Greater(t, r.ever, 8)
			require.Positive(t, r.whole)
			require.Greater(t, r.single, 500)
		})
	}
}

// A collection of many packets comes whole to whoever joins late, also while it changes all the time and the send budget is
// small, and then follows by single changes.
func TestLargeCollectionForALateJoiner(t *testing.T) {
	t.Parallel()
	p := protocol()
	large := collections.NewList[uint64](p, "large", collections.MaxElements(20000), collections.MaxBytes(200000))
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 4, Link: bad(.1), Server: netcode.Config{SendBudget: 64 << 10},
	})
	var id netcode.NetworkID
	n.Server.Systems.OnSpawn(func(_ ecs.Entity, at netcode.NetworkID) { id = at })
	w := n.Server.World
	ecs.Spawn(w, nil, ecs.ComponentID[position](w), ecs.ComponentID[components.Replicated](w))
	require.True(t, n.RunUntil(5*time.Second, func() bool { return !id.IsZero() && n.Connected() }))
	list := large.Of(n.Server.Server, id)
	for i := range 20000 {
		require.NoError(t, list.Append(uint64(i)))
	}
	var full *collections.FullError
	require.ErrorAs(t, list.Append(0), &full)
	late := n.Join()
	whole, single, early := 0, 0, 0
	large.OnChange(late.Client, func(c collections.ListChange[uint64]) {
		if c.What == collections.ChangeWhole {
			whole++
			return
		}
		if single++; whole == 0 {
			early++
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	same := func() bool {
		mine := large.Of(late.Client, id)
		if mine.Len() != list.Len() {
			return false
		}
		for i, v := range mine.All() {
			if want, _ := list.At(i); want != v {
				return false
			}
		}
		return true
	}
	for range 60 * 8 {
		require.NoError(t, list.Remove(random.IntN(list.Len())))
		require.NoError(t, list.Insert(random.IntN(list.Len()), random.Uint64()))
		require.NoError(t, list.Set(random.IntN(list.Len()), random.Uint64()))
		n.Step()
	}
	require.Equal(t, 1, whole, "160 000 bytes at 64 KiB a second, and not begun anew for each change")
	require.Zero(t, early)
	require.Positive(t, single)
	n.Heal()
	require.True(t, n.RunUntil(10*time.Second, same))
	require.Equal(t, netcode.Connected, late.State())
	require.Zero(t, n.Server.Stats().QueueOverflows)
}

// A client that hears nothing for a while makes its queue full; it gets the collection whole afterwards, and its connection
// and the game's own messages do not suffer.
func TestCollectionsOfASlowClient(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 5, 2, 0)
	r.spawn(3)
	r.net.Run(time.Second)
	dead := transport.Link{Delay: 40 * time.Millisecond, Loss: 1}
	for round := range 3 {
		r.net.SetLink(dead)
		for range 60 * 3 {
			r.play(120)
			r.net.Step()
		}
		r.settle()
		for _, c := range r.net.Clients {
			require.Equal(t, netcode.Connected, c.State(), "round %d", round)
		}
	}
	require.Positive(t, r.tops, "some were full")
}

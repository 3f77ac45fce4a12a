package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// newTight is a duo whose packets are of this size, and the packet limit too.
func newTight(t *testing.T, payload int) *duo {
	d := newDuoOf(t, simSchema(t), Config{Window: 16, SentPackets: 64, Payload: payload})
	return d
}

// game plays one tick and sends nothing.
func (d *duo) game(s tick.Tick, game func()) {
	d.store.Begin(s)
	game()
	d.store.Commit()
	d.view.Observe()
}

// packet writes one of a size, nil when there is nothing to say.
func (d *duo) packet(size int) *simPacket {
	buf := make([]byte, size)
	n := d.view.Write(buf, d.seq+1)
	if n == 0 {
		return nil
	}
	d.seq++
	return &simPacket{seq: d.seq, tick: d.store.Tick(), payload: buf[:n]}
}

// flush sends all there is in packets of a size, every one of which arrives.
func (d *duo) flush(size int, each func()) {
	for p := d.packet(size); p != nil; p = d.packet(size) {
		d.ack(p)
		if each != nil {
			each()
		}
	}
}

func (d *duo) setHealth(id wire.NetworkID, n uint32) { d.store.Set(id, rowHealth, []uint32{n}) }

func (d *duo) health(id wire.NetworkID) uint32 {
	if row := d.replica.Row(id.Index, rowHealth); row != nil {
		return row[0]
	}
	return 0
}

func (d *duo) there(id wire.NetworkID) bool {
	e := d.replica.Entity(id.Index)
	return e.Alive && e.ID == id
}

// A bag, whose health is how many items are in it, and items that lie about: all
// of a group. A player sees as many as there are, whatever is lost, in packets
// that have room for one or two entities beside the others that move.
func TestPickedItemIsNeverSeenTwiceOrNotAtAll(t *testing.T) {
	for name, take := range map[string]func(d *duo, item wire.NetworkID){
		"the item dies":      func(d *duo, item wire.NetworkID) { d.store.Despawn(item) },
		"the item is hidden": nil,
	} {
		t.Run(name, func(t *testing.T) {
			d := newTight(t, 100)
			var others, items []wire.NetworkID
			var bag wire.NetworkID
			d.game(1, func() {
				for i := range 30 {
					others = append(others, d.spawn(uint32(i%16)))
				}
				bag = d.spawn(1)
				d.setHealth(bag, 0)
				d.store.SetGroup(bag, 5)
				for range 20 {
					items = append(items, d.spawn(2))
				}
			})
			d.flush(100, nil)
			lying := func() (n int) {
				for _, id := range items {
					if d.there(id) {
						n++
					}
				}
				return n
			}
			require.Equal(t, 20, lying())
			var flight []*simPacket
			for s := tick.Tick(2); s < 60; s++ {
				var hide wire.NetworkID
				d.game(s, func() {
					for i, id := range others {
						d.move(id, uint32(int(s)+i)%16)
					}
					if n := int(s) / 2; s%2 == 0 && n <= len(items) {
						d.store.SetGroup(items[n-1], 5) // what lies far away is in no group
						if n > 1 {
							d.store.SetGroup(items[n-2], 0) // nor is what is hidden any more
						}
					} else if s%2 == 1 && n <= len(items) {
						if hide = items[n-1]; take != nil {
							take(d, hide)
						}
						d.setHealth(bag, uint32(n))
					}
				})
				if take == nil {
					d.view.Hide(hide)
				}
				for range 2 {
					if p := d.packet(100); p != nil && (s%5 < 2 || s > 50) { // others are lost
						flight = append(flight, p)
					}
				}
				for len(flight) > 5 || s > 50 && len(flight) > 0 {
					d.ack(flight[0])
					flight = flight[1:]
					require.Equal(t, 20, lying()+int(d.health(bag)), "tick %d", s)
				}
				for seq := max(d.seq, 20) - 20; s%5 == 2 && seq+8 < d.seq; seq++ {
					d.view.Lost(seq)
				}
			}
			require.Zero(t, lying())
			require.Zero(t, d.view.Stats().TornGroups)
			require.Zero(t, d.view.links.n, "what is acknowledged is not tied")
		})
	}
}

// Two that die together are gone together, though packets have room for one
// despawn in their third.
func TestMembersThatDieTogetherAreGoneTogether(t *testing.T) {
	d := newTight(t, 64)
	var ids []wire.NetworkID
	d.game(1, func() {
		for i := range 60 {
			ids = append(ids, d.spawn(1))
			d.store.SetGroup(ids[i], uint32(1+i%30))
		}
	})
	d.flush(64, nil)
	d.game(2, func() {
		for _, id := range ids {
			d.store.Despawn(id)
		}
	})
	packets := 0
	d.flush(64, func() {
		packets++
		for i := range 30 {
			require.Equal(t, d.there(ids[i]), d.there(ids[i+30]), "group %d", i+1)
		}
	})
	require.Greater(t, packets, 1)
	require.Zero(t, d.replica.Len())
}

// An entity that leaves one group for another is tied to both.
func TestMemberThatChangesGroupsIsLinkedToBoth(t *testing.T) {
	d := newTight(t, 100)
	var chest, bag, item wire.NetworkID
	d.game(1, func() {
		chest, bag, item = d.spawn(1), d.spawn(2), d.spawn(3)
		d.store.SetGroup(chest, 1)
		d.store.SetGroup(item, 1)
		d.store.SetGroup(bag, 2)
	})
	d.flush(100, nil)
	d.game(2, func() {
		d.store.SetGroup(item, 2)
		d.move(item, 4)
		d.setHealth(chest, 99)
		d.setHealth(bag, 101)
	})
	lost := d.packet(100)
	require.NotNil(t, lost)
	require.Nil(t, d.packet(100), "all in one")
	d.game(3, func() { d.setHealth(bag, 102) })
	d.flush(100, func() {
		require.Equal(t, uint32(99), d.health(chest), "the bag brings the item, and this brings the chest")
		require.Equal(t, 4, d.x(item))
	})
	require.Equal(t, uint32(102), d.health(bag))
	require.Zero(t, d.view.links.n)
}

// Another entity at the index of a dead member tells of the death: so it comes
// with the group too.
func TestReplacementComesWithTheGroup(t *testing.T) {
	d := newTight(t, 100)
	var bag, item, next wire.NetworkID
	d.game(1, func() {
		bag, item = d.spawn(1), d.spawn(2)
		d.setHealth(bag, 0)
		d.store.SetGroup(bag, 5)
		d.store.SetGroup(item, 5)
	})
	d.flush(100, nil)
	d.game(2, func() { d.store.Despawn(item); d.setHealth(bag, 1) })
	require.NotNil(t, d.packet(100), "it is lost")
	d.game(3, func() { next = d.spawn(7) })
	require.Equal(t, item.Index, next.Index)
	d.flush(100, func() {
		require.Equal(t, d.there(item), d.health(bag) == 0)
		require.Equal(t, d.there(next), d.health(bag) == 1)
	})
	require.True(t, d.there(next))
	require.Zero(t, d.view.links.n)
	require.True(t, d.view.Synced())
}

// An entity delays nothing and waits for nothing in three cases: it belongs to no group any more,
// the client has got nothing of it, or the client keeps its last state.
func TestChangesThatLinkNothing(t *testing.T) {
	d := newTight(t, 100)
	var bag, left, unsent, kept wire.NetworkID
	d.game(1, func() {
		bag, left, kept = d.spawn(1), d.spawn(2), d.spawn(3)
		for _, id := range []wire.NetworkID{bag, left, kept} {
			d.store.SetGroup(id, 5)
		}
	})
	d.flush(100, nil)
	d.game(2, func() { d.store.SetGroup(left, 0) })
	require.Zero(t, d.view.links.n, "the client has all of it")
	d.game(3, func() { d.store.Despawn(left) })
	require.Zero(t, d.view.links.n, "it was in no group")
	d.flush(100, nil)
	d.game(4, func() { unsent = d.spawn(4); d.store.SetGroup(unsent, 5) })
	d.game(5, func() { d.store.Despawn(unsent) })
	require.Zero(t, d.view.links.n)
	d.game(6, func() { d.move(kept, 9); d.store.SetGroup(kept, 6) })
	require.Equal(t, 1, d.view.links.n)
	d.view.Keep(kept)
	require.Zero(t, d.view.links.n)
	d.flush(100, nil)
	d.game(7, func() { d.store.Despawn(kept); d.setHealth(bag, 1) })
	require.Equal(t, 1, d.view.links.n, "now it is owed")
	d.flush(100, nil)
	require.False(t, d.there(kept))
	require.Zero(t, d.view.links.n)
	require.True(t, d.view.Synced())
}

// An entity is hidden before it joins a group. Its despawn is tied to nothing, and the group does
// not wait for it.
func TestEntityHiddenBeforeItJoinedDelaysNothing(t *testing.T) {
	d := newTight(t, 100)
	var bag, hidden, other, item wire.NetworkID
	d.game(1, func() {
		bag, hidden, other, item = d.spawn(1), d.spawn(2), d.spawn(3), d.spawn(4)
		d.store.SetGroup(bag, 5)
		d.store.SetGroup(other, 6)
		d.store.SetGroup(item, 6)
	})
	d.flush(100, nil)
	d.view.Hide(hidden)
	d.game(2, func() { d.store.SetGroup(hidden, 5); d.store.Despawn(item) })
	require.NotNil(t, d.packet(100), "it is lost")
	d.game(3, func() { d.setHealth(bag, 7) })
	d.flush(100, nil)
	require.Equal(t, 1, d.view.links.n, "what makes it look for ties")
	require.Equal(t, uint32(7), d.health(bag))
}

// listDuos are two clients that share lists of forty entities, four of which are in
// group 5, and have all as of tick 5.
func listDuos(t *testing.T) (d [2]*duo, ids []wire.NetworkID) {
	cfg := Config{Window: 16, SentPackets: 64}
	store := NewStore(simSchema(t), cfg)
	for i := range d {
		d[i] = &duo{t: t, store: store, view: NewView(store, cfg), replica: replica.New(store.schema, cfg, 1)}
	}
	d[0].game(1, func() {
		for range 40 {
			ids = append(ids, d[0].spawn(1))
		}
		for _, id := range ids[20:24] {
			store.SetGroup(id, 5)
		}
	})
	for s := tick.Tick(2); s < 7; s++ {
		for i := range d {
			if d[i].view.Observe(); s == 2 {
				d[i].view.hideForAMoment(ids[0])
			}
			d[i].flush(1000, nil)
		}
		if s < 6 {
			d[0].game(s, func() { d[0].moveAll(ids, s) })
		}
	}
	require.NotZero(t, store.PagesShared())
	return d, ids
}

// hideForAMoment makes an entity one of which something has changed for the client
// alone, though nothing has.
func (v *View) hideForAMoment(id wire.NetworkID) {
	v.See(id, noComponent)
	v.See(id, AllRows())
}

func (d *duo) moveAll(ids []wire.NetworkID, s tick.Tick) {
	for _, id := range ids {
		d.move(id, uint32(s)%16)
	}
}

// A tied entity stays out of the lists that clients share, but only for the client for which it is
// tied.
func TestSharedListsLeaveOutLinkedEntities(t *testing.T) {
	needsFastPaths(t)
	d, ids := listDuos(t)
	d[0].game(6, func() { d[0].moveAll(ids, 6) })
	d[1].view.Observe()
	d[0].flush(1000, nil)
	require.NotNil(t, d[1].packet(1000), "it is lost")
	d[0].game(7, func() {
		d[0].store.SetGroup(ids[20], 0) // the second client lacks what it did in the group
		d[0].moveAll(ids, 7)
	})
	d[1].view.Observe()
	require.Equal(t, 1, d[1].view.links.n)
	for _, i := range []int{0, 1} {
		d[i].flush(200, func() {
			if x := d[i].x(ids[20]); x == 7 {
				require.Equal(t, 7, d[i].x(ids[21]), "client %d", i)
			}
		})
		require.True(t, d[i].view.Synced())
	}
}

// A view's ties take no memory that was not there, once it was.
func TestTiesAllocateNothingOnceWarm(t *testing.T) {
	d := newTight(t, 1200)
	var ids []wire.NetworkID
	d.game(1, func() {
		for i := range 200 {
			ids = append(ids, d.spawn(1))
			d.store.SetGroup(ids[i], uint32(1+i/4))
		}
	})
	buf := make([]byte, 1200)
	row, s, at, most := [1]uint32{7}, tick.Tick(2), 0, 0
	step := func() {
		d.store.Begin(s)
		for i := range 10 {
			at = (at + 4) % len(ids)
			d.store.Despawn(ids[at])
			d.setHealth(ids[at+1], uint32(s))
			id := d.store.Spawn()
			d.store.Set(id, rowHealth, row[:])
			ids[at] = id
			d.store.SetGroup(id, uint32(1+(at/4+i)%50))
		}
		d.store.Commit()
		d.view.Observe()
		most = max(most, d.view.links.n)
		for n := d.view.Write(buf, d.seq+1); n > 0; n = d.view.Write(buf, d.seq+1) {
			if d.seq++; s%3 == 0 { // the others are lost
				d.view.Acked(d.seq)
			}
		}
		if d.seq > 20 {
			d.view.Lost(d.seq - 10)
		}
		s++
	}
	for range 500 {
		step()
	}
	require.Greater(t, most, 20)
	alloctest.Zero(t, 100, step)
	require.LessOrEqual(t, len(d.view.links.nodes), linksEach*len(d.view.links.first)+1)
}

// A store that mirrors another one may hear of a death and of the next entity at that index in one tick: the end of the
// one is seen with what changed of its group then, however few records a packet has room for.
func TestAMirroredIndexThatDiesAndIsBornAtOnceKeepsItsTies(t *testing.T) {
	const others = 200
	d := newTight(t, 100)
	at := func(index, generation uint32) wire.NetworkID {
		return wire.NetworkID{Index: index, Generation: generation}
	}
	put := func(id wire.NetworkID, health uint32) {
		d.store.Mirror(id)
		d.setHealth(id, health)
	}
	dies, lives := at(others+1, 1), at(0, 1)
	d.game(1, func() {
		for i := range uint32(others + 2) {
			put(at(i, 1), 1)
		}
		d.store.SetGroup(dies, 7)
		d.store.SetGroup(lives, 7)
	})
	d.flush(100, nil)
	require.Zero(t, d.view.links.n)
	for s := tick.Tick(2); s < 20; s += 2 { // each time the index is another's, and what lives says how often
		next := at(dies.Index, uint32(s))
		d.game(s, func() {
			d.store.Mirror(next)
			d.setHealth(next, 1)
			for i := range uint32(others) {
				put(at(1+i, 1), uint32(s)*31+i*i)
			}
			d.setHealth(lives, uint32(s))
		})
		packets := 0
		d.flush(100, func() {
			packets++
			require.Equal(t, d.there(next), d.health(lives) == uint32(s), "tick %d, packet %d", s, packets)
		})
		require.Greater(t, packets, 1)
		require.True(t, d.there(next))
		require.Zero(t, d.view.links.n)
		d.game(s+1, func() { d.store.SetGroup(next, 7) })
		dies = next
	}
	require.Zero(t, d.view.Stats().TornGroups)

	// An entity that is born at this index is in no group, and was in none.
	d.game(20, func() { put(at(dies.Index, 20), 1); d.setHealth(lives, 20) })
	require.NotZero(t, d.view.links.n)
	d.flush(100, nil)
	d.view.Hide(at(dies.Index, 20))
	d.flush(100, nil)
	d.game(21, func() { put(at(dies.Index, 21), 1); d.store.SetGroup(at(dies.Index, 21), 7) })
	require.Zero(t, d.view.links.n, "the one before was in none")
	d.view.Hide(at(dies.Index, 21))
	d.game(22, func() { put(at(dies.Index, 22), 1); d.setHealth(lives, 22) })
	require.Zero(t, d.view.links.n, "the client has never seen the one that was in the group")
	d.flush(100, nil)
	require.True(t, d.there(at(dies.Index, 22)))
	require.True(t, d.view.Synced())
}

// An entity leaves a group and is shown in the same tick, but for a component: whether it has that one is nothing to what is sent
// together.
func TestHidingARowOfANewEntityLinksNothing(t *testing.T) {
	ties := func(has bool) int {
		d := newDuo(t)
		var a, b wire.NetworkID
		d.ack(d.at(1, func() {
			a, b = d.spawn(3), d.spawn(4)
			d.store.SetGroup(a, 1)
			d.store.SetGroup(b, 1)
		}))
		d.view.Hide(a)
		d.ack(d.at(2, nil))
		d.game(3, func() {
			if d.store.SetGroup(a, 0); !has {
				d.store.Remove(a, rowHealth)
			}
			d.move(b, 5)
		})
		d.view.Show(a)
		d.view.See(a, bit(rowHealth).Not())
		return d.view.links.n
	}
	require.Equal(t, ties(false), ties(true))
}

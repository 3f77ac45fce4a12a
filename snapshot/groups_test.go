package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestAGroupArrivesTogetherOrNotAtAll(t *testing.T) {
	d := newDuo(t)
	var a, b, c wire.NetworkID
	d.ack(d.at(1, func() {
		a, b, c = d.spawn(1), d.spawn(2), d.spawn(3)
		d.store.SetGroup(a, 5)
		d.store.SetGroup(c, 5)
	}))
	require.Equal(t, []uint32{a.Index, c.Index}, d.store.Members(5))
	require.Equal(t, uint32(5), d.store.Group(c))
	require.Zero(t, d.store.Group(b))

	d.at(2, func() { d.move(a, 11) })      // lost, not yet known to be
	p := d.at(3, func() { d.move(c, 13) }) // so a is not acknowledged at its newest
	require.Zero(t, d.view.Stats().TornGroups)
	d.ack(p)
	require.Equal(t, 13, d.x(c))
	require.Equal(t, 11, d.x(a), "the packet of c brings a with it")

	d.ack(d.at(4, func() { d.move(c, 14) }))
	require.Equal(t, 14, d.x(c))
}

func TestAcknowledgedMemberIsNotSentWithItsGroup(t *testing.T) {
	d := newDuo(t)
	var a, b wire.NetworkID
	d.ack(d.at(1, func() {
		a, b = d.spawn(1), d.spawn(2)
		d.store.SetGroup(a, 5)
		d.store.SetGroup(b, 5)
	}))
	before := d.view.Stats().Updates
	d.ack(d.at(2, func() { d.move(a, 9) }))
	require.Equal(t, before+1, d.view.Stats().Updates)
}

func TestLeavingAGroup(t *testing.T) {
	d := newDuo(t)
	var a, b wire.NetworkID
	d.at(1, func() {
		a, b = d.spawn(1), d.spawn(2)
		d.store.SetGroup(a, 5)
		d.store.SetGroup(b, 5)
		d.store.SetGroup(b, 0)
	})
	require.Equal(t, []uint32{a.Index}, d.store.Members(5))
	d.at(2, func() { d.store.Despawn(a) })
	require.Empty(t, d.store.Members(5))
	d.at(3, func() { a = d.spawn(1) })
	require.Zero(t, d.store.Group(a), "a new life is in no group")
	require.False(t, d.store.SetGroup(wire.NetworkID{Index: 77, Generation: 1}, 3))
}

// A group that would not fit a packet for a client that holds nothing is told
// at once, and its entities travel one by one rather than never.
func TestCase28AGroupTooLargeForAPacketIsSentOneByOne(t *testing.T) {
	schema := simSchema(t)
	one := recordBits(schema, bit(rowHealth), 1)
	for _, test := range []struct {
		name  string
		bytes int
		split bool
	}{
		{"fits exactly", (emptyBits + 2*one + 7) / 8, false},
		{"misses by a byte", (emptyBits+2*one+7)/8 - 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDuoOf(t, schema, Config{Window: 16, Payload: test.bytes})
			var ids []wire.NetworkID
			d.store.Begin(1)
			for i := range 2 {
				id := d.store.Spawn()
				d.store.SetGroup(id, 9)
				d.store.Set(id, rowHealth, []uint32{uint32(i)})
				ids = append(ids, id)
			}
			d.store.Commit()
			d.view.Observe()
			if test.split {
				require.Equal(t, []uint32{9}, d.store.LargeGroups())
			} else {
				require.Empty(t, d.store.LargeGroups())
			}
			d.store.ClearLargeGroups()
			buf := make([]byte, max(test.bytes, MinPayload))
			for seq := uint64(1); d.view.Pending(); seq++ {
				n := d.view.Write(buf, seq)
				require.NotZero(t, n, "never stuck")
				require.NoError(t, d.replica.Read(buf[:n]))
				d.view.Acked(seq)
			}
			for i, id := range ids {
				require.Equal(t, []uint32{uint32(i)}, d.replica.Row(id.Index, rowHealth))
			}
			require.True(t, d.view.Synced())
			require.Zero(t, d.view.Stats().TornGroups, "what was judged to fit does fit")
		})
	}
}

// A group that fits a packet of the server, and none of one client with smaller packets, is sent to that client one by one at once, and
// whole to the others.
func TestGroupTooLargeForTheSmallerPacketsOfOneClient(t *testing.T) {
	schema := simSchema(t)
	cfg := Config{Window: 16, Payload: 1000}
	store := NewStore(schema, cfg)
	store.Begin(1)
	for i := range 40 {
		id := store.Spawn()
		store.SetGroup(id, 9)
		store.Set(id, rowHealth, []uint32{uint32(i)})
	}
	store.Commit()
	require.Empty(t, store.LargeGroups())
	for payload, packets := range map[int]int{1000: 1, 100: 2, 2000: 1} {
		view, client := NewView(store, cfg), replica.New(schema, cfg, 1)
		view.SetPayload(payload)
		view.Observe()
		buf, seq := make([]byte, 1100), uint64(0)
		for view.Pending() {
			seq++
			n := view.Write(buf, seq)
			require.NotZero(t, n, "never stuck")
			require.LessOrEqual(t, n, payload)
			require.NoError(t, client.Read(buf[:n]))
			view.Acked(seq)
		}
		require.GreaterOrEqual(t, int(seq), packets)
		require.Equal(t, packets == 1, seq == 1)
		require.Equal(t, 40, client.Len())
		require.Zero(t, view.Stats().TornGroups)
	}
}

// Where the rest of a packet has no room for a group, it waits for the next
// packet and is not torn.
func TestCase28AGroupThatMissesTheSpaceWaitsForTheNextPacket(t *testing.T) {
	d := newDuo(t)
	d.store.Begin(1)
	for i := range 12 {
		d.store.SetGroup(d.spawn(uint32(i)), uint32(1+i/4))
	}
	d.store.Commit()
	d.view.Observe()
	var buf [MinPayload]byte // which has room for one group, and some of the next
	packets := 0
	for n := d.view.Write(buf[:], 1); n > 0; n = d.view.Write(buf[:], d.seq+1) {
		d.seq++
		packets++
		require.NoError(t, d.replica.Read(buf[:n]))
		for g := range 3 {
			have := 0
			for _, index := range d.store.Members(uint32(1 + g)) {
				if d.replica.Entity(index).Alive {
					have++
				}
			}
			require.Contains(t, []int{0, 4}, have, "group %d is torn", g+1)
		}
	}
	require.Equal(t, 12, d.replica.Len())
	require.Greater(t, packets, 1)
	require.Less(t, packets, 12)
	require.Zero(t, d.view.Stats().TornGroups)
}

func TestHiddenMembersDoNotHoldUpAGroup(t *testing.T) {
	d := newDuo(t)
	var a, b wire.NetworkID
	d.ack(d.at(1, func() {
		a, b = d.spawn(1), d.spawn(2)
		d.store.SetGroup(a, 5)
		d.store.SetGroup(b, 5)
	}))
	d.view.Hide(b)
	d.ack(d.at(2, func() { d.move(a, 9); d.move(b, 9) }))
	require.Equal(t, 9, d.x(a))
	require.False(t, d.replica.Entity(b.Index).Alive)
	d.ack(d.at(3, func() { d.move(a, 10); d.move(b, 10) })) // nothing ties the two any more
	require.Equal(t, 10, d.x(a))
	require.False(t, d.replica.Entity(b.Index).Alive)
}

// The part of a group that a client does not see takes no room. A client gets the group whole if the part that it sees
// fits a packet. Other clients get it entity by entity. It does not matter what each of them saw before.
func TestGroupIsWholeIfItsVisiblePartFits(t *testing.T) {
	schema := simSchema(t)
	d := newDuoOf(t, schema, Config{Window: 16, SentPackets: 32, Payload: (emptyBits + 2*recordBits(schema, bit(rowPosition).Union(bit(rowHealth)), 1) + 2*recordBits(schema, Mask{}, 1) + 7) / 8})
	var ids [40]wire.NetworkID
	d.store.Begin(1)
	for i := range ids {
		ids[i] = d.spawn(1)
		d.store.SetGroup(ids[i], 5)
	}
	d.store.Commit()
	require.Equal(t, []uint32{5}, d.store.LargeGroups())
	d.view.Observe()
	for _, id := range ids[2:] {
		d.view.Hide(id)
	}
	for s := tick.Tick(2); !d.view.Synced(); s++ {
		d.ack(d.at(s, nil))
	}
	x := uint32(1)
	brings := func() bool {
		x++
		now := d.store.Tick()
		d.at(now+1, func() { d.move(ids[0], x) }) // lost
		d.ack(d.at(now+2, func() { d.move(ids[1], x) }))
		require.Equal(t, int(x), d.x(ids[1]))
		brought := d.x(ids[0]) == int(x)
		d.view.Lost(d.seq - 1)
		for s := now + 3; !d.view.Synced(); s++ {
			d.ack(d.at(s, nil))
		}
		require.Equal(t, int(x), d.x(ids[0]))
		return brought
	}
	require.True(t, brings())
	for _, id := range ids[2:4] {
		d.view.Show(id)
	}
	require.False(t, brings(), "four are too many")
	d.view.See(ids[2], noComponent)
	d.view.See(ids[3], noComponent)
	require.True(t, brings(), "and so little of two of them is not")
	d.view.See(ids[2], AllRows())
	d.view.See(ids[3], AllRows())
	require.False(t, brings())
	d.view.Hide(ids[3])
	d.view.Hide(ids[2])
	require.True(t, brings())
	require.Zero(t, d.view.Stats().TornGroups)
}

func TestGroupsAllocateNothingOnceWarm(t *testing.T) {
	b := newBusy(t, 400)
	b.store.Begin(b.store.Tick() + 1)
	for i, id := range b.ids {
		b.store.SetGroup(id, uint32(1+i/8))
	}
	b.store.Commit()
	for range 300 {
		b.step(3)
	}
	alloctest.Zero(t, 100, func() { b.step(3) })
	require.True(t, b.view.Synced())
}

// Whether a group fits a packet is asked whenever a member comes, goes or gains a component, and is known once as many of them were
// looked at as fill one: a group of 10 000 that died in a tick once took a second of it.
func TestOnlyAsManyOfAGroupAreMeasuredAsFillAPacket(t *testing.T) {
	cfg := Config{Payload: 1000}
	store := NewStore(simSchema(t), cfg)
	store.Begin(1)
	var all []wire.NetworkID
	for i := range 2000 {
		id := store.Spawn()
		store.Set(id, rowHealth, []uint32{uint32(i)})
		store.SetGroup(id, 7)
		all = append(all, id)
	}
	store.Commit()
	require.Equal(t, []uint32{7}, store.LargeGroups())
	m := store.groups.members[7]
	record := recordBits(store.schema, store.rows.masks[0], 1)
	limit := 8 * cfg.Payload
	require.Greater(t, m.least(store, limit), limit)
	require.LessOrEqual(t, m.least(store, limit), limit+record, "no more are looked at")

	store.Begin(2)
	for len(all) > 1 && m.split { // the last that keeps it too large goes
		store.Despawn(all[0])
		all = all[1:]
	}
	store.Commit()
	require.Equal(t, emptyBits+len(all)*record, m.least(store, limit))
	require.LessOrEqual(t, m.least(store, limit), limit)
	require.Greater(t, m.least(store, limit)+record, limit, "one more does not fit")
}

// A group that does not fit an empty packet is sent one by one. What is noted as sent is what each packet has, also where others follow
// behind the place at which the group was taken back.
func TestATornGroupIsNotedAsItWasSent(t *testing.T) {
	d := newDuoOf(t, simSchema(t), Config{Window: 64, SentPackets: 64})
	ids := map[uint32]wire.NetworkID{}
	d.game(1, func() {
		for i := range uint32(120) {
			id := d.spawn(i % 16)
			ids[id.Index] = id
			if i%2 == 0 { // Others lie between its members.
				d.store.SetGroup(id, 5)
			}
		}
	})
	packets := 0
	for p := d.packet(MinPayload); p != nil; p = d.packet(MinPayload) {
		packets++
		came, sent, noted := map[uint32]bool{}, d.view.sent.get(p.seq), map[uint32]bool{}
		for index, id := range ids {
			came[index] = !d.there(id)
		}
		d.ack(p)
		for i := range sent.n {
			g := d.view.sent.group(sent, i)
			for of := g.of; of != 0; of &= of - 1 {
				noted[firstOf(g.word, of)] = true
			}
		}
		for index, id := range ids {
			require.Equal(t, came[index] && d.there(id), noted[index], "packet %d, entity %d", packets, index)
		}
	}
	require.Greater(t, packets, 3)
	require.NotZero(t, d.view.Stats().TornGroups)
	require.True(t, d.view.Synced())
}

// Against a map, over many rounds.
func TestGroupSetAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := groupSet{}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			g.clear()
			require.Empty(t, g.list)
			held, order := map[uint32]bool{}, []uint32(nil)
			step := rapid.SampledFrom([]uint32{1, 64, 1 << 16, 1 << 24}).Draw(t, "step")
			for _, n := range rapid.SliceOfN(rapid.Uint32Range(0, 99), 0, 200).Draw(t, "groups") {
				group := n*step + 1
				if g.add(group); !held[group] {
					held[group], order = true, append(order, group)
				}
			}
			require.ElementsMatch(t, order, g.list)
			if len(order) > 0 {
				require.Equal(t, order, g.list, "in the order in which they came")
			}
		}
	})
}

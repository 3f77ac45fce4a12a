package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// around is the tick and the x of both versions around a moment, -1 for none, and where the way begins.
func (d *duo) around(id wire.NetworkID, at tick.Time) (from, to, start int, s replica.Sample, ok bool) {
	s, ok = d.replica.Around(id, at)
	x := func(v *replica.Version) int {
		if row := v.Row(rowPosition); row != nil {
			return int(row[0])
		}
		return -1
	}
	return x(&s.From), x(&s.To), int(s.Start), s, ok
}

// The way to a version begins at the last whole tick that did not speak of the entity, or at the version before.
func TestAroundKnowsWhenTheWayBegan(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.deliver(d.at(1, func() { id = d.spawn(3) }))
	d.deliver(d.at(2, func() { d.move(id, 4) }))
	for s := tick.Tick(3); s < 9; s++ {
		d.at(s, nil)
	}
	d.deliver(d.at(9, func() { d.move(id, 5) }))

	from, to, start, _, ok := d.around(id, tick.Time{Tick: 5})
	require.True(t, ok)
	require.Equal(t, []int{4, 5, 2}, []int{from, to, start}, "as far as anyone knows")
	d.replica.MarkComplete(3, 8) // 8 is missing
	_, _, start, _, _ = d.around(id, tick.Time{Tick: 5})
	require.Equal(t, 7, start)
	d.replica.MarkComplete(8, 9)
	_, _, start, _, _ = d.around(id, tick.Time{Tick: 5})
	require.Equal(t, 8, start)
	d.replica.ClearComplete(8)
	_, _, start, _, _ = d.around(id, tick.Time{Tick: 5})
	require.Equal(t, 7, start)

	_, _, _, _, ok = d.around(id, tick.Time{Tick: 0, Fraction: 1 << 31})
	require.False(t, ok, "not yet")
	from, to, _, s, ok := d.around(id, tick.Time{Tick: 11})
	require.True(t, ok)
	require.Equal(t, []int{5, -1}, []int{from, to})
	require.False(t, s.Still)
	require.EqualValues(t, 2, s.Before.Tick)
	require.EqualValues(t, 7, s.BeforeStart)
	d.replica.MarkComplete(10, 26) // It travelled after 7 ticks last: it takes as many to know that it rests.
	_, _, _, s, _ = d.around(id, tick.Time{Tick: 11})
	require.True(t, s.Still)
	_, _, _, _, ok = d.around(wire.NetworkID{Index: id.Index, Generation: 9}, tick.Time{Tick: 5})
	require.False(t, ok)
}

// An entity that travels each third tick goes on evenly, whole ticks or not.
func TestAroundFollowsTheIntervalOfAnEntity(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.deliver(d.at(1, func() { id = d.spawn(0) }))
	for s := tick.Tick(2); s <= 13; s++ {
		if p := d.at(s, func() {
			if s%3 == 1 {
				d.move(id, uint32(s))
			}
		}); p != nil {
			d.deliver(p)
		}
	}
	d.replica.MarkComplete(1, 14)
	for _, at := range []tick.Tick{8, 10, 12} {
		_, to, start, _, _ := d.around(id, at.Begin())
		require.Equal(t, to-3, start)
	}
}

// Between two stretches of being there nothing is shown, and nothing slides from one to the other.
func TestAroundOfAnEntityThatGoesAndComes(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.deliver(d.at(1, func() { id = d.spawn(3) }))
	d.view.Hide(id)
	d.deliver(d.at(4, nil))
	d.view.Show(id)
	d.deliver(d.at(7, func() { d.move(id, 9) }))
	from, to, _, s, ok := d.around(id, tick.Time{Tick: 3})
	require.True(t, ok)
	require.Equal(t, []int{3, -1}, []int{from, to})
	require.True(t, s.Still)
	for at := tick.Tick(4); at < 7; at++ {
		_, _, _, _, ok = d.around(id, at.Begin())
		require.False(t, ok)
	}
	from, _, _, s, ok = d.around(id, tick.Time{Tick: 7})
	require.True(t, ok)
	require.Equal(t, 9, from)
	require.Zero(t, s.Before.Tick, "what was before it went says nothing of how it moves")
	_, ended := d.replica.Latest(id)
	require.EqualValues(t, 4, ended)
}

// A version that has left the history is still what an entity at rest is shown as.
func TestAroundOfAnEntityThatSleeps(t *testing.T) {
	d := newDuo(t)
	var id, other wire.NetworkID
	d.deliver(d.at(1, func() { id, other = d.spawn(3), d.spawn(4) }))
	for s := tick.Tick(2); s < 100; s++ {
		p := d.at(s, func() { d.move(other, uint32(s)) })
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	from, to, _, s, ok := d.around(id, tick.Time{Tick: 98})
	require.True(t, ok)
	require.Equal(t, []int{3, -1}, []int{from, to})
	require.True(t, s.Still)
	alloctest.Zero(t, 100, func() { d.replica.Around(other, tick.Time{Tick: 98}) })
}

func TestPayloadTick(t *testing.T) {
	d := newDuo(t)
	p := d.at(1<<16+5, func() { d.spawn(1) })
	require.EqualValues(t, 1<<16+5, replica.PayloadTick(p.payload, 1<<16))
	require.EqualValues(t, 5, replica.PayloadTick(p.payload, 1))
	require.Zero(t, replica.PayloadTick(p.payload[:1], 1))
	require.Zero(t, replica.PayloadTick([]byte{0xFF, 0xFF}, 1), "before the first")
}

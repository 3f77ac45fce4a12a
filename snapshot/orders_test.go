package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// A call to a view while a tick is open takes effect with the commit. The client gets all of the tick, and it does not
// get entities that were hidden meanwhile.
func TestAnOpenTickIsNotObserved(t *testing.T) {
	d := newDuo(t)
	var moved, shown, hidden, secret, late wire.NetworkID
	d.deliver(d.at(1, func() { moved, shown, hidden = d.spawn(1), d.spawn(1), d.spawn(1) }))
	d.view.Lost(d.seq) // so that something waits
	d.deliver(d.at(2, func() {
		require.True(t, d.view.Pending())
		d.view.Observe()
		d.move(moved, 7) // after the view was asked
		secret = d.spawn(1)
		d.view.Hide(secret)
		d.view.Hide(hidden)
		late = d.spawn(9)
		require.Zero(t, d.view.Write(make([]byte, 300), 1000), "what is said as of a tick has to be all of it")
	}))
	require.Equal(t, 7, d.x(moved))
	require.Equal(t, 9, d.x(late))
	require.Equal(t, -1, d.x(hidden))
	require.Equal(t, -1, d.x(secret))
	require.Zero(t, d.replica.Entity(secret.Index).ID, "not even that it is there")
	require.Equal(t, 1, d.x(shown))
}

// Each call takes effect after the commit, in the order of the calls.
func TestOrdersOfAnOpenTickAreObeyed(t *testing.T) {
	d := newDuo(t)
	var a, b, c, e wire.NetworkID
	d.deliver(d.at(1, func() {
		a, b, c = d.spawn(1), d.spawn(2), d.spawn(3)
		for _, id := range []wire.NetworkID{a, b, c} {
			d.setHealth(id, 5)
		}
	}))
	d.view.Acked(d.seq)
	d.deliver(d.at(2, func() {
		d.view.Hide(a)
		d.view.Show(a)
		d.view.SetRows(a, Mask{}.With(rowPosition))
		d.view.SetWeight(b, 3*NormalWeight)
		d.view.Keep(c)
		d.setHealth(b, 6)
		d.move(c, 8)
		d.view.ShowNew(false)
		e = d.spawn(4)
	}))
	require.Equal(t, 1, d.x(a))
	require.True(t, d.view.Visible(a))
	require.Equal(t, Mask{}.With(rowPosition), d.view.Rows(a))
	require.EqualValues(t, 6, d.health(b))
	require.EqualValues(t, 3*NormalWeight, d.view.weightOf(b.Index))
	require.True(t, d.view.Keeps(c))
	require.Equal(t, 3, d.x(c), "it stays as it was")
	require.Equal(t, -1, d.x(e))
	d.deliver(d.at(3, func() {
		d.view.ShowAll()
		d.move(c, 9)
		b = d.spawn(5)
	}))
	for id, want := range map[wire.NetworkID]int{a: 1, b: 5, c: 9, e: 4} {
		require.Equal(t, want, d.x(id))
	}
	require.Equal(t, AllRows(), d.view.Rows(a))
}

// Of what is said of all that comes, the last holds: what waits for the commit does not take back what was said after it.
func TestLastCallForANewEntityCounts(t *testing.T) {
	for name, c := range map[string]struct {
		say      func(v *View)
		now, new bool // who is born in the open tick is seen, and who is born in the next one
	}{
		"nothing":         {func(*View) {}, true, true},
		"no":              {func(v *View) { v.ShowNew(false) }, false, false},
		"yes, no":         {func(v *View) { v.ShowNew(true); v.ShowNew(false) }, false, false},
		"no, yes":         {func(v *View) { v.ShowNew(false); v.ShowNew(true) }, false, true},
		"all, no":         {func(v *View) { v.ShowAll(); v.ShowNew(false) }, true, false},
		"no, all":         {func(v *View) { v.ShowNew(false); v.ShowAll() }, true, true},
		"no, all, no, no": {func(v *View) { v.ShowNew(false); v.ShowAll(); v.ShowNew(false); v.ShowNew(false) }, true, false},
	} {
		d := newDuo(t)
		var first, now, next wire.NetworkID
		d.deliver(d.at(1, func() { first = d.spawn(1) }))
		d.deliver(d.at(2, func() {
			d.move(first, 2)
			c.say(d.view)
			now = d.spawn(1)
		}))
		require.Equal(t, c.now, d.view.Visible(now), name)
		require.Equal(t, c.now, d.x(now) == 1, name)
		d.deliver(d.at(3, func() {
			d.move(first, 3)
			next = d.spawn(1)
		}))
		require.Equal(t, c.new, d.view.Visible(next), name)
		require.Equal(t, c.new, d.x(next) == 1, name)
	}
}

// A view that is made while a tick is open sees all of it.
func TestAViewOfAnOpenTick(t *testing.T) {
	d := newDuo(t)
	var first, moved, late wire.NetworkID
	d.at(1, func() { moved = d.spawn(1) })
	d.deliver(d.at(2, func() {
		first = d.spawn(1)
		d.view = NewView(d.store, Config{Window: 16, SentPackets: 32})
		late = d.spawn(2)
		d.move(moved, 3)
	}))
	for id, want := range map[wire.NetworkID]int{first: 1, late: 2, moved: 3} {
		require.Equal(t, want, d.x(id))
	}
}

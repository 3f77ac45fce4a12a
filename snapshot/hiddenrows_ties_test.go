package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

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
		d.store.Begin(3)
		if d.store.SetGroup(a, 0); !has {
			d.store.Remove(a, rowHealth)
		}
		d.move(b, 5)
		d.store.Commit()
		d.view.Observe()
		d.view.Show(a)
		d.view.SetRows(a, bit(rowHealth).Not())
		return d.view.links.n
	}
	require.Equal(t, ties(false), ties(true))
}

package predict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// newHearer is a client at a tick that predicts an entity with a local component.
func newHearer(now netcode.Tick) (*client, netcode.NetworkID) {
	id := netcode.NetworkID{Index: 1, Generation: 1}
	all := &predictions{local: []localRow{newLocalRow[struct{ A uint8 }]()}, owner: -1, predicted: -1}
	c := &client{sim: &Simulation{all: all}, now: now, slots: []slot{{used: true, id: id}}, progress: make([]progress, 1), checked: make([]netcode.Tick, 1)}
	c.setNetworkID(id, 0)
	return c, id
}

// A hostile server answers about ticks that never come.
func TestLocalStateOfLaterTicksIsBounded(t *testing.T) {
	c, id := newHearer(1000)
	hear := func(at netcode.Tick) {
		c.hearLocals([]netcode.NetworkID{id}, &localsAnswer{Tick: at.Low(), Data: []byte{1, 1, 7}})
	}
	for range 5 {
		hear(1000 + Window)
		hear(1000 + Window - 1)
		hear(32000)
	}
	c.takeLocals()
	require.Len(t, c.locals.known, 5, "answers of the tick within the window wait")
	for len(c.locals.known) < knownAtMost {
		hear(1001)
	}
	c.takeLocals()
	c.locals.wanted = []netcode.NetworkID{id}
	require.False(t, c.locals.mayAsk(), "too many answers wait")
	c.locals.known = c.locals.known[:knownAtMost-1]
	require.True(t, c.locals.mayAsk())
}

// The low bits of a tick refer to the nearest tick to the client's own.
func TestLocalStateOfALongGame(t *testing.T) {
	for _, now := range []netcode.Tick{70_000, 1<<32 + 5, 1<<40 + 32768} {
		c, id := newHearer(now)
		c.hearLocals([]netcode.NetworkID{id}, &localsAnswer{Tick: (now - 9).Low(), Data: []byte{1, 1, 7}})
		require.Len(t, c.locals.known, 1)
		require.Equal(t, now-9, c.locals.known[0].tick)
	}
}

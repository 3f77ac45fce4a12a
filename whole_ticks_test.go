package netcode_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/consistent"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// TestHiddenStateIsNotRepaired loses packets with entities that are hidden then: no bytes of them are sent after that.
func TestHiddenStateIsNotRepaired(t *testing.T) {
	p := protocol()
	consistent.Register(p)
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	mover, x := r.spawn(0), float32(0)
	before := func(store *snapshot.Store) { x++; r.set(store, mover, x) }
	r.server.game = before
	r.run(time.Second)
	var dropped, after [][]byte
	drop := false
	r.tamper = func(from, to transport.Addr, packet []byte) []byte {
		switch {
		case from != r.server.conn.LocalAddr():
			return packet
		case drop:
			dropped = append(dropped, bytes.Clone(packet))
			return nil
		}
		after = append(after, bytes.Clone(packet))
		return packet
	}
	var ids []wire.NetworkID
	r.server.game = func(store *snapshot.Store) {
		before(store)
		for drop = true; len(ids) < 8; {
			ids = append(ids, store.Spawn())
			r.set(store, ids[len(ids)-1], 12345.678+float32(len(ids))*1.37)
		}
	}
	r.until(func() bool { return len(dropped) > 0 })
	r.server.game = before
	for _, id := range ids {
		require.True(t, r.server.Hide(c.ID(), id))
	}
	r.run(150 * time.Millisecond)
	drop, after = false, nil
	r.run(time.Second)
	for _, packet := range after {
		for k := 12; k+24 < len(dropped[0])-16; k++ {
			require.False(t, bytes.Contains(packet, dropped[0][k:k+24]), "bytes of hidden entities are sent after Hide")
		}
	}
}

// TestSavedTicksAreNotComplete has a budget for which the server saves: ticks whose state waits do not count as complete.
func TestSavedTicksAreNotComplete(t *testing.T) {
	p := protocol()
	consistent.Register(p)
	r := newRig(t, p, netcode.Config{SendBudget: 16 << 10})
	c := r.joined(p, netcode.Config{})
	random := rand.New(rand.NewPCG(1, 2))
	var ids []wire.NetworkID
	r.server.game = func(store *snapshot.Store) {
		for len(ids) < 150 {
			ids = append(ids, store.Spawn())
		}
		for _, id := range ids {
			r.set(store, id, random.Float32()*1000)
		}
	}
	r.run(5 * time.Second)
	wrong, seen := 0, map[tick.Tick]bool{}
	for range 600 {
		r.step()
		n := c.Newest()
		for at := n.Tick() - 10; at <= n.Tick()+10; at++ {
			if at > 0 && !seen[at] && n.Complete(at, at) {
				if seen[at] = true; n.Entity(ids[0].Index).Tick < at && n.Entity(ids[149].Index).Tick < at {
					wrong++ // All change in each tick.
				}
			}
		}
	}
	require.Zero(t, wrong, "ticks that count as complete without their changes, of %d", len(seen))
}

package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/snapshot"
)

// A server bounds one client alone, and both ends tell the state of their direction.
func TestSetBudgetBoundsOneClient(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	r := newRig(t, p, netcode.Config{})
	first, second := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{SendBudget: -1})
	r.run(time.Second)
	require.NoError(t, r.server.SetBudget(first.ID(), 6000))
	require.ErrorIs(t, r.server.SetBudget(77, 6000), netcode.ErrNotConnected)
	line := func(id netcode.ClientID) congestion.State {
		stats, ok := r.server.ClientStats(id)
		require.True(t, ok)
		return stats.Line
	}
	require.LessOrEqual(t, line(first.ID()).Rate, 6000+6000/96*28, "with IP and UDP of small packets")
	require.Equal(t, 16<<10, line(second.ID()).Rate, "the first rate")
	require.Equal(t, congestion.Application, line(second.ID()).Reason)
	require.Equal(t, congestion.Application, first.Line().Reason)
	require.Equal(t, congestion.State{}, second.Line(), "unlimited is not controlled")
	require.NoError(t, r.server.SetBudget(first.ID(), -1))
	require.Equal(t, congestion.State{}, line(first.ID()))
	require.NoError(t, r.server.SetBudget(first.ID(), 6000))
	r.run(time.Second)
	require.Positive(t, line(first.ID()).Rate)
}

// A client whose budget is too short for what changes is told so as the reason of its rate. A budget of 0 is that of Config.SendBudget.
func TestALineTellsThatItsBudgetIsSpent(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	var ids []netcode.NetworkID
	for i := range 400 {
		r.change(func(store *snapshot.Store) { ids = append(ids, store.Spawn()); r.set(store, ids[i], float32(i)) })
	}
	c := r.joined(p, netcode.Config{})
	r.server.game = func(store *snapshot.Store) {
		for i, id := range ids {
			r.set(store, id, float32(int(r.now/time.Millisecond)+i))
		}
	}
	sent := func() uint64 {
		before := r.server.Stats().Packets.BytesSent
		r.run(2 * time.Second)
		return r.server.Stats().Packets.BytesSent - before
	}
	require.NoError(t, r.server.SetBudget(c.ID(), 6000))
	require.Less(t, sent(), uint64(2*6000+2*2400))
	stats, _ := r.server.ClientStats(c.ID())
	require.Equal(t, congestion.Bound, stats.Line.Reason)
	require.NoError(t, r.server.SetBudget(c.ID(), 0))
	require.Greater(t, sent(), uint64(40_000))
}

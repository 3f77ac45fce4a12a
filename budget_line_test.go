package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/congestion"
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
	line := func(id netcode.ClientID) netcode.LineState {
		stats, ok := r.server.ClientStats(id)
		require.True(t, ok)
		return stats.Line
	}
	require.LessOrEqual(t, line(first.ID()).Rate, 6000+6000/96*28, "with IP and UDP of small packets")
	require.Equal(t, 64<<10, line(second.ID()).Rate)
	require.Equal(t, congestion.Application, line(second.ID()).Reason)
	require.Equal(t, congestion.Application, first.Line().Reason)
	require.Equal(t, netcode.LineState{}, second.Line(), "unlimited is not controlled")
	require.NoError(t, r.server.SetBudget(first.ID(), -1))
	require.Equal(t, netcode.LineState{}, line(first.ID()))
	require.NoError(t, r.server.SetBudget(first.ID(), 6000))
	r.run(time.Second)
	require.Positive(t, line(first.ID()).Rate)
}

package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
)

// Packing off changes what is sent and nothing else: the same game over the same bad network converges.
func TestConvergeWithPackingOff(t *testing.T) {
	t.Parallel()
	trace := map[bool]uint64{}
	for _, off := range []bool{false, true} {
		p := protocol()
		if off {
			p.Debug()
		}
		g := &churn{rest: 60 * 3, state: 11}
		n := nettest.New(t, nettest.Config{
			Protocol: p, Clients: 2, Seed: 11, Link: bad(.2), Game: g.play, Server: netcode.Config{SendBudget: -1},
		})
		n.Run(3 * time.Second)
		n.AssertConverge()
		require.True(t, n.Connected())
		require.NotZero(t, n.Clients[0].Replica().Stats().Records)
		require.Zero(t, n.Clients[0].Replica().Stats().Malformed)
		trace[off] = n.TraceHash()
	}
	require.NotEqual(t, trace[false], trace[true], "packing was really off")
}

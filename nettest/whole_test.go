package nettest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
)

// The same game over the same bad link comes to the same worlds whether rows travel whole or as what differs. Groups are
// whole, and nothing is asked for anew, for nothing is leaned on.
func TestWholeRowsComeToTheSame(t *testing.T) {
	const seconds = 3
	for _, percent := range []int{0, 20, 50} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %% lost, whole %v", percent, whole), func(t *testing.T) {
				t.Parallel()
				p := protocol()
				netcode.Replicate[twin](p)
				g := &twins{churn: churn{rest: 60 * seconds, state: 5}}
				n := nettest.New(t, nettest.Config{
					Protocol: p, Clients: 3, Seed: 5, Link: sweepLink(percent), Game: g.play, Server: netcode.Config{SendBudget: -1, Whole: whole},
				})
				for n.Now() < seconds*time.Second {
					n.Step()
					for _, c := range n.Clients {
						together(t, c)
					}
				}
				n.AssertConverge()
				require.True(t, n.Connected())
				for _, c := range n.Clients {
					require.Zero(t, c.Stats().Malformed)
					require.Zero(t, c.Stats().Resyncs)
					stats, ok := n.Server.ClientStats(c.ID())
					require.True(t, ok)
					require.False(t, whole && stats.Snapshot.Deltas > 0)
					require.NotZero(t, stats.Snapshot.Spawns)
				}
			})
		}
	}
}

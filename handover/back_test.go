package handover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/transport"
)

// TestAPlayerThatComesBackAtOnce moves a player on and back, while the first server does not know yet that it had arrived: it hears nothing
// of the first session.
func TestAPlayerThatComesBackAtOnce(t *testing.T) {
	r := two(t, late)
	require.True(t, r.run(3*time.Second, func() bool { return r.nodes[1].mover.Arrived(1) }))
	stats, ok := r.nodes[0].server.ClientStats(1)
	require.True(t, ok)
	r.nodes[0].conn.(*transport.Conditioner).SetLinkFrom(stats.Address, transport.Link{Loss: 1})
	require.True(t, r.run(3*time.Second, func() bool { return r.model.switches == 1 }))
	require.True(t, r.nodes[0].mover.Held(1))
	require.NoError(t, r.nodes[1].mover.Move(1, r.destination(r.nodes[0], 0)))
	r.wait(6 * time.Second)
	require.Zero(t, r.model.fails, "%v", r.model.errors)
	require.Equal(t, map[handover.Outcome]int{handover.Moved: 2}, r.model.moved, "%v", r.model.errors)
	require.Equal(t, 2, r.model.switches)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

func TestSeatsDiffer(t *testing.T) {
	taken := map[[3]int]bool{}
	for id := wire.ClientID(1); id <= 9; id++ {
		x, y, z := seat(id)
		taken[[3]int{x, y, z}] = true
		require.True(t, max(x, -x, y, -y) < halfWidth && z < ceiling)
	}
	require.Len(t, taken, 9)
}

// The server must come to what the dumb count says, each tick, or the crowd would compare with something else.
func TestGridAgreesWithSights(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "-clients 3", "-interest -entities 300 -churn 300")
	server := h.server.server
	compared := 0
	h.until("enough comings and goings", func() bool {
		for id := range server.net.Clients {
			if server.sights.clients[id] == nil {
				continue // no tick has come since it connected
			}
			for entity := range server.net.Store().All {
				require.Equal(t, server.sights.visible(id, entity), server.net.Visible(id, entity), "client %d, entity %v", id, entity)
				compared++
			}
		}
		return server.sights.went > 60
	})
	require.Greater(t, compared, 5000)
	require.False(t, server.sights.visible(99, wire.NetworkID{}))
	h.server.server.net.Close(0)
	h.until("the end", func() bool { return h.server.parted() && h.client.parted() })
}

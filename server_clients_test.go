package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// Clients whose ids share a place are found all the same, and none that is gone is.
func TestClientsAreFoundByTheirID(t *testing.T) {
	s, err := NewServer(NewProtocol(), Config{})
	require.NoError(t, err)
	sessions := map[wire.ClientID]*Session{}
	for _, id := range []wire.ClientID{1, 2, 1 + numNear, 1 + 2*numNear} {
		sessions[id] = &Session{id: id, state: connected}
		s.byID[id] = sessions[id]
	}
	for range 2 {
		for id, want := range sessions {
			require.Same(t, want, s.client(id))
		}
		require.Nil(t, s.client(3))
		require.Nil(t, s.client(0))
	}
	s.client(1)
	s.forget(sessions[1])
	require.Nil(t, s.client(1))
	require.Nil(t, s.near[1], "a session that is gone is not kept alive")
	s.client(1 + numNear)
	s.forget(sessions[1+2*numNear])
	require.Same(t, sessions[1+numNear], s.near[1], "another one's place")
	require.Nil(t, s.client(1+2*numNear))
	sessions[1+numNear].state = lingering
	require.Nil(t, s.client(1+numNear))
}

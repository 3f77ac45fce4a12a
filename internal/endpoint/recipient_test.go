package endpoint

import (
	"testing"

	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A recipient is what it was made of.
func TestRecipientKeepsItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := wire.ClientID(rapid.Uint32().Draw(t, "client"))
		entity := wire.NetworkID{Index: rapid.Uint32().Draw(t, "index"), Generation: rapid.Uint32().Draw(t, "generation")}
		require.Equal(t, client, To(client).client())
		require.Equal(t, client, ToAllBut(client).client())
		require.Equal(t, entity, ToOwner(entity).entity())
		require.Equal(t, entity, ToSeers(entity).entity())
	})
}

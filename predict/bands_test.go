package predict_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/snapshot"
)

// TestExactNamesWhatAClientPredicts: bands are not for entities that a client predicts without owning them.
func TestExactNamesWhatAClientPredicts(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Predicted](p)
	schema := p.Schema()
	store, exact := snapshot.NewStore(schema, snapshot.Config{}), predict.Exact(schema)
	store.Begin(1)
	plain, two, all := store.Spawn(), store.Spawn(), store.Spawn()
	set := func(id netcode.NetworkID, v components.Predicted) {
		lanes := make([]uint32, schema.Plan(0).Lanes())
		schema.Plan(0).Quantise(reflect.ValueOf(&v).UnsafePointer(), lanes)
		store.Set(id, 0, lanes)
	}
	set(two, components.Predicted{Client: 2})
	set(all, components.Predicted{})
	store.Commit()
	for client := netcode.ClientID(1); client <= 3; client++ {
		require.False(t, exact(store, client, plain))
		require.Equal(t, client == 2, exact(store, client, two))
		require.True(t, exact(store, client, all))
	}
	none := predict.Exact(netcode.NewProtocol().Schema())
	require.False(t, none(store, 1, all), "the protocol has no Predicted")
}

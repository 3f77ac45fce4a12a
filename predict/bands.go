package predict

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Exact returns a function for interest.BandsConfig.Exact. It exempts the entities that components.Predicted assigns to a
// client from distance bands, since a coarser value would count as a misprediction. Owned entities never have bands.
func Exact(schema *snapshot.Schema) func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) bool {
	row := schema.RowOf(reflect.TypeFor[components.Predicted]())
	return func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) bool {
		if row < 0 {
			return false
		}
		lanes := s.Row(id, row)
		if lanes == nil {
			return false
		}
		var p components.Predicted
		dequantise(schema.Plan(row), lanes, &p)
		return p.By(client)
	}
}

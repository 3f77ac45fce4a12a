package predict

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Exact returns the function for interest.BandsConfig.Exact of a game that predicts entities by components.Predicted: a client gets those that
// it predicts without distance bands, since a rounded value would count as a misprediction. The entities that it owns have no bands in any case.
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

package interest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

func TestOwnerOnlyEqualsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		config := OwnerConfig{ServersToAll: rapid.Bool().Draw(rt, "to all")}
		w := newWorld(t, NewOwnerOnly(config), Despawn)
		w.join(1)
		w.join(2)
		for range rapid.IntRange(1, 30).Draw(rt, "ticks") {
			give := func() {
				if len(w.living) > 0 {
					w.store.SetOwner(rapid.SampledFrom(w.living).Draw(rt, "id"), wire.ClientID(rapid.IntRange(0, 3).Draw(rt, "owner")))
				}
			}
			give() // between two captures
			w.step(func() {
				w.churn(rt)
				give()
			})
			for _, client := range w.clients {
				w.requireModel(client, func(id wire.NetworkID) bool {
					owner := w.store.Owner(id)
					return owner == client || owner == 0 && config.ServersToAll
				})
			}
		}
	})
}

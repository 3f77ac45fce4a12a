package interest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

func TestTeamsEqualTheirModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		explicit, own := NewExplicit(), NewOwnerOnly(OwnerConfig{})
		teams := NewTeams(Any(explicit, own))
		w := newWorld(t, teams, Despawn)
		in := map[wire.ClientID]Team{}
		for client := wire.ClientID(1); client <= 4; client++ {
			w.join(client)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "ticks") {
			w.step(func() {
				w.churn(rt)
				for range rapid.IntRange(0, 4).Draw(rt, "calls") {
					client := wire.ClientID(rapid.IntRange(1, 4).Draw(rt, "client"))
					what := rapid.IntRange(0, 4).Draw(rt, "what")
					switch {
					case what < 2:
						in[client] = Team(rapid.IntRange(0, 2).Draw(rt, "team"))
						teams.Join(client, in[client])
					case len(w.living) == 0:
					case what == 2:
						explicit.Show(client, rapid.SampledFrom(w.living).Draw(rt, "id"))
					case what == 3:
						explicit.Hide(client, rapid.SampledFrom(w.living).Draw(rt, "id"))
					case what == 4:
						w.store.SetOwner(rapid.SampledFrom(w.living).Draw(rt, "id"), client)
					}
				}
			})
			if rapid.IntRange(0, 9).Draw(rt, "leaves") == 0 {
				client := wire.ClientID(rapid.IntRange(1, 4).Draw(rt, "who"))
				w.leave(client)
				w.join(client)
				delete(in, client)
				w.judge()
			}
			for _, client := range w.clients {
				require.Equal(rt, in[client], teams.TeamOf(client))
				w.requireModel(client, func(id wire.NetworkID) bool {
					for member := wire.ClientID(1); member <= 4; member++ {
						if member == client || in[client] != 0 && in[member] == in[client] {
							if explicit.Shown(member, id) || w.store.Owner(id) == member {
								return true
							}
						}
					}
					return false
				})
			}
		}
		for client := wire.ClientID(1); client <= 4; client++ {
			w.leave(client)
		}
		require.Empty(rt, teams.members)
		require.Empty(rt, teams.clients)
	})
}

package interest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// Leaving one room must not take away what is shared through another one.
func TestEntityInSeveralRooms(t *testing.T) {
	r := NewRooms()
	w := newWorld(t, r, Despawn)
	w.join(1)
	var id wire.NetworkID
	w.step(func() { id = w.spawn(); r.Add(id, 5); r.Add(id, 6) })
	w.requireSees(1)
	r.Enter(1, 5)
	r.Enter(1, 6)
	w.step(nil)
	w.requireSees(1, id)
	require.True(t, r.Exit(1, 5))
	require.False(t, r.Exit(1, 5))
	w.step(nil)
	w.requireSees(1, id)
	require.True(t, r.Remove(id, 6))
	require.False(t, r.Remove(id, 6))
	w.step(nil)
	w.requireSees(1)
	r.Enter(1, 5)
	w.step(nil)
	w.requireSees(1, id)
	w.step(func() { w.kill(id) })
	require.False(t, r.Add(id, 7))
	require.False(t, r.Remove(id, 5))
	require.Empty(t, r.rooms)
	require.Empty(t, r.of)
	w.leave(1)
	require.Empty(t, r.clients)
	require.False(t, r.Exit(1, 5))
}

func TestRoomsEqualTheirModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := NewRooms()
		w := newWorld(t, r, Despawn)
		entities, clients := map[wire.NetworkID]map[Room]bool{}, map[wire.ClientID]map[Room]bool{}
		for client := wire.ClientID(1); client <= 3; client++ {
			w.join(client)
			clients[client] = map[Room]bool{}
		}
		for range rapid.IntRange(1, 30).Draw(rt, "ticks") {
			w.step(func() {
				w.churn(rt)
				for range rapid.IntRange(0, 4).Draw(rt, "moves") {
					room := Room(rapid.IntRange(0, 3).Draw(rt, "room"))
					client := wire.ClientID(rapid.IntRange(1, 3).Draw(rt, "client"))
					what := rapid.IntRange(0, 3).Draw(rt, "what")
					switch {
					case what == 0:
						r.Enter(client, room)
						clients[client][room] = true
					case what == 1:
						require.Equal(rt, clients[client][room], r.Exit(client, room))
						delete(clients[client], room)
					case len(w.living) == 0:
					case what == 2:
						id := rapid.SampledFrom(w.living).Draw(rt, "id")
						require.True(rt, r.Add(id, room))
						if entities[id] == nil {
							entities[id] = map[Room]bool{}
						}
						entities[id][room] = true
					case what == 3:
						id := rapid.SampledFrom(w.living).Draw(rt, "id")
						require.Equal(rt, entities[id][room], r.Remove(id, room))
						delete(entities[id], room)
					}
				}
			})
			for _, client := range w.clients {
				w.requireModel(client, func(id wire.NetworkID) bool {
					for room := range entities[id] {
						if clients[client][room] {
							return true
						}
					}
					return false
				})
			}
		}
	})
}

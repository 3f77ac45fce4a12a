package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
)

// watched runs a busy game under an interest; each second of it calls change.
func watched(t *testing.T, p *netcode.Protocol, seed uint64, loss float64, policy snapshot.Interest,
	spawned func(n *nettest.Net, id netcode.NetworkID), change func(n *nettest.Net, second int)) *nettest.Net {
	g := &churn{rest: 480, state: seed}
	var n *nettest.Net
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 3, Seed: seed, Link: bad(loss), Game: g.play, Server: netcode.Config{SendBudget: -1},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.Server.SetInterest(policy)
			s.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) {
				if spawned != nil {
					spawned(n, id)
				}
			})
		},
	})
	n.SetLink(bad(0))
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	n.SetLink(bad(loss))
	for second := range 8 {
		change(n, second)
		n.Run(time.Second)
	}
	return n
}

// held counts what a client holds.
func held(c *nettest.Client) int { return c.Replica().Len() }

// secret is a component that only some may see.
type secret struct{ Word uint64 }

// Each client has the secrets of its own entities and of no others, while all see where everybody is.
func TestComponentsOfOthersAreNotVisible(t *testing.T) {
	t.Parallel()
	p := protocol()
	netcode.Replicate[secret](p)
	schema := p.Schema()
	policy := interest.NewRows(interest.All(), interest.OwnerRows(interest.MaskOf[secret](schema)))
	n := watched(t, p, 12, .3, interest.New(policy, interest.Despawn), nil, func(n *nettest.Net, second int) {
		w := n.Server.World
		secrets := generic.NewMap2[secret, components.Owner](w)
		i := 0
		for e, id := range netecs.Entities(w) {
			if !ecs.Has(w, e, ecs.ComponentID[secret](w)) {
				secrets.Add(e)
			}
			word, owner := secrets.Get(e)
			word.Word = uint64(id.Index)<<32 | uint64(second)
			owner.Client = netcode.ClientID((i + second) % 4)
			i++
		}
	})
	n.Heal()
	n.Run(3 * time.Second)
	store, theirs, mine := n.Server.Store(), 0, 0
	for _, c := range n.Clients {
		require.Equal(t, store.Len(), held(c))
		words, places := generic.NewMap[secret](c.World), generic.NewMap[position](c.World)
		for e, id := range netecs.Entities(c.World) {
			require.True(t, store.Alive(id))
			require.True(t, places.Has(e))
			hidden := store.Owner(id) != c.ID()
			require.Equal(t, !hidden && store.Mask(id).Has(interest.RowOf[secret](schema)), words.Has(e), "%v", id)
			if words.Has(e) {
				require.Equal(t, store.Row(id, interest.RowOf[secret](schema))[1], id.Index)
				require.Equal(t, uint64(id.Index), words.Get(e).Word>>32)
				mine++
			} else {
				theirs++
			}
		}
	}
	require.Positive(t, mine)
	require.Greater(t, theirs, mine)
}

// A grid whose viewpoints walk about with entities: what comes back into sight comes in its newest state.
func TestGridFollowsAvatars(t *testing.T) {
	t.Parallel()
	for _, loss := range []float64{0, .3, .5} {
		p := protocol()
		grid := interest.NewGrid(interest.GridConfig{
			Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }),
			Enter:    3, Leave: 4, Near: 512, Far: 64,
		})
		n := watched(t, p, 13, loss, interest.New(grid, interest.Despawn), nil, func(n *nettest.Net, second int) {
			var ids []netcode.NetworkID
			for id := range n.Server.Store().All {
				ids = append(ids, id)
			}
			for i, c := range n.Clients {
				grid.Follow(c.ID(), ids[(7*second+11*i)%len(ids)])
			}
		})
		n.AssertConverge()
		for _, c := range n.Clients {
			require.True(t, held(c) > 0 && held(c) < n.Server.Store().Len(), "%d of %d", held(c), n.Server.Store().Len())
			require.NotZero(t, c.Replica().Stats().Despawns)
		}
	}
}

// A component that a client may not see is no difference, and one that it should not have is.
func TestConvergeGoesByTheComponentsThatAreShown(t *testing.T) {
	p := protocol()
	hidden := interest.MaskOf[health](p.Schema())
	rows := interest.NewRows(interest.All(), func(_ *snapshot.Store, client netcode.ClientID, _ netcode.NetworkID) snapshot.Mask {
		if client == 1 {
			return snapshot.AllRows()
		}
		return hidden.Not()
	})
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 15,
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.Server.SetInterest(interest.New(rows, interest.Despawn))
		},
		Game: func(w *ecs.World, frame int) {
			if frame == 1 {
				b := generic.NewMap3[components.Replicated, position, health](w)
				b.New()
			}
		},
	})
	n.AssertConverge()
	here := generic.NewMap2[position, health](n.Clients[1].World)
	for e := range netecs.Entities(n.Clients[1].World) {
		at, has := here.Get(e)
		require.NotNil(t, at)
		require.Nil(t, has)
		points := generic.NewMap1[health](n.Clients[1].World)
		points.Assign(e, &health{})
		break
	}
	require.ErrorContains(t, n.CheckConverge(), "server absent")
}

// mountedOn makes an entity a part of another one.
type mountedOn generic.Tie

// Clients in teams have what belongs to their team, with all that is mounted on it, however deep, while parts are mounted elsewhere,
// parents die, owners change and clients change teams, over bad networks.
func TestPartsOfTeams(t *testing.T) {
	t.Parallel()
	for seed, loss := range []float64{0, .2, .4} {
		p := protocol()
		netcode.Replicate[mountedOn](p)
		teams := interest.NewTeams(interest.NewChildren(interest.NewOwnerOnly(interest.OwnerConfig{}), interest.ParentOf[mountedOn](p.Schema())))
		n := watched(t, p, uint64(20+seed), loss, interest.New(teams, interest.Despawn), nil, func(n *nettest.Net, second int) {
			w := n.Server.World
			mounted, owner := ecs.ComponentID[mountedOn](w), ecs.ComponentID[components.Owner](w)
			var before []ecs.Entity
			for e := range netecs.Entities(w) {
				if !ecs.Has(w, e, owner) {
					ecs.Exchange(w, e, []ecs.ID{owner, mounted}, nil, nil)
				}
				(*components.Owner)(ecs.Get(w, e, owner)).Client = netcode.ClientID((int(e.ID())*7 + second) % 9)
				var target ecs.Entity // of an entity with a lower number: no cycle
				for _, other := range before {
					if other.ID() < e.ID() && (int(other.ID())+second)%3 != 0 {
						target = other
					}
				}
				ecs.SetTarget(w, e, mounted, target)
				before = append(before, e)
			}
			for i, c := range n.Clients {
				teams.Join(c.ID(), interest.Team((i+second)%3))
			}
		})
		n.AssertConverge()
		w, some := n.Server.World, 0
		mounted := ecs.ComponentID[mountedOn](w)
		for _, c := range n.Clients {
			sees := 0
			for e := range netecs.Entities(w) {
				id, ok := n.Server.Systems.ID(e)
				require.True(t, ok)
				visible := false
				for at := e; w.Alive(at) && !visible; {
					of := netcode.ClientID(0)
					if id, ok := n.Server.Systems.ID(at); ok {
						of = n.Server.Owner(id)
					}
					visible = of == c.ID() || of != 0 && teams.TeamOf(of) != 0 && teams.TeamOf(of) == teams.TeamOf(c.ID())
					target := ecs.Entity{}
					if ecs.Has(w, at, mounted) {
						target = ecs.Target(w, at, mounted)
					}
					at = target
				}
				require.Equal(t, visible, n.Server.Visible(c.ID(), id), "client %d, %v", c.ID(), id)
				if visible {
					sees++
				}
			}
			require.Equal(t, sees, held(c))
			some += sees
		}
		require.Positive(t, some)
		require.Less(t, some, 3*n.Server.Store().Len())
	}
}

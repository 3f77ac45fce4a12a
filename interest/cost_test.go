package interest

import (
	"math/rand/v2"
	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// crowd is a flat world with clients that follow entities of it.
type crowd struct {
	*world
	random *rand.Rand
	at     [][2]float32
	every  int // each so many entities move
}

const crowdWidth = 1000

func newCrowd(t testing.TB, policy Policy, grid *Grid, entities, clients, every int) *crowd {
	c := &crowd{world: newWorld(t, policy, Despawn), random: rand.New(rand.NewPCG(1, 2)), every: every}
	c.capture(func() {
		for range entities {
			at := [2]float32{c.random.Float32() * crowdWidth, c.random.Float32() * crowdWidth}
			c.at = append(c.at, at)
			c.spawnAt(at[0], at[1], 0)
		}
	})
	for i := range clients {
		client := wire.ClientID(i + 1)
		c.join(client)
		if grid != nil {
			grid.Follow(client, c.living[i*entities/clients])
		}
		for j := range entities / clients {
			c.store.SetOwner(c.living[i*entities/clients+j], client)
		}
	}
	return c
}

// step captures a tick of everything that moves, which is not what is measured.
func (c *crowd) step(change func()) {
	c.capture(func() {
		for i := int(c.tick) % c.every; i < len(c.at); i += c.every {
			for axis := range 2 {
				c.at[i][axis] += c.random.Float32()*2 - 1 // up to 1 m a tick
			}
			c.move(c.living[i], c.at[i][0], c.at[i][1], 0)
		}
		if change != nil {
			change()
		}
	})
}

// Whatever the policy, a tick allocates nothing once it is warm, in a world where everything moves and dies and is born.
func TestInterestAllocatesNothing(t *testing.T) {
	grid := NewGrid(GridConfig{Position: positions(), Enter: 100, Leave: 120, Near: 512, Far: 64, Unplaced: true})
	rooms, explicit := NewRooms(), NewExplicit()
	teams := NewTeams(NewChildren(explicit, ParentField[tie](testSchema(), "Other")))
	policy := NewRows(Any(teams, Both(grid, All()), NewOwnerOnly(OwnerConfig{ServersToAll: true}), rooms, explicit), OwnerRows(format.FromWords(2)))
	c := newCrowd(t, policy, grid, 1000, 16, 1)
	for i, client := range c.clients {
		rooms.Enter(client, Room(i%4))
		rooms.Add(c.living[i], Room(i%4))
		explicit.Show(client, c.living[500+i])
		teams.Join(client, Team(i%4))
	}
	tick := func() {
		c.step(func() {
			i := int(c.tick) % len(c.living)
			c.store.Despawn(c.living[i])
			c.living[i] = c.store.Spawn()
			c.move(c.living[i], c.at[i][0], c.at[i][1], 0)
			c.tie(c.living[i], c.living[i*7%len(c.living)])
			c.store.SetOwner(c.living[(i+7)%len(c.living)], c.clients[i%len(c.clients)])
		})
		c.store.ClearHandovers() // as the server does in each tick
		c.applied.Prepare(c.store)
		for _, client := range c.clients {
			c.views[client].Observe()
			c.applied.Update(client, c.views[client])
		}
	}
	for range 1500 {
		tick()
	}
	alloctest.Zero(t, 300, tick)
}

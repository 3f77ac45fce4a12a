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

// A grid that asked each entity about each client would need 640 000 distances a tick here.
func BenchmarkGrid(b *testing.B) {
	for name, run := range map[string]struct {
		every   int
		weights bool
	}{"moving": {1, false}, "moving weighed": {1, true}, "tenth moving": {10, false}, "resting": {1 << 30, false}} {
		b.Run(name, func(b *testing.B) {
			config := GridConfig{Position: positions(), Enter: 100, Leave: 120}
			if run.weights {
				config.Near, config.Far = 512, 64
			}
			g := NewGrid(config)
			c := newCrowd(b, g, g, 10_000, 64, run.every)
			c.judge()
			seen := 0
			for b.Loop() {
				b.StopTimer()
				c.step(nil)
				b.StartTimer()
				g.Prepare(c.store)
				for _, client := range c.clients {
					g.Sees(client)
				}
			}
			for _, client := range c.clients {
				seen += g.Sees(client).Len()
			}
			b.ReportMetric(float64(seen)/float64(len(c.clients)), "seen/client")
		})
	}
}

// BenchmarkEveryPair is the measure for the grid: it asks about every entity for every client, and has nothing else to do.
func BenchmarkEveryPair(b *testing.B) {
	g := NewGrid(GridConfig{Position: positions(), Enter: 100, Leave: 120})
	c := newCrowd(b, g, g, 10_000, 64, 1)
	c.judge()
	sets := make([]Set, len(c.clients))
	for b.Loop() {
		for i, client := range c.clients {
			eye := g.sights.get(client).at
			sets[i].reset(len(g.alive))
			for index := range g.cells.places {
				if d := squared(g.cells.places[index].at, eye); d <= g.enterSquared {
					sets[i].add(uint32(index))
				}
			}
		}
	}
}

// The same as BenchmarkGrid with views that are told.
func BenchmarkInterest(b *testing.B) {
	for name, policy := range map[string]func() (Policy, *Grid){
		"all": func() (Policy, *Grid) { return All(), nil },
		"grid": func() (Policy, *Grid) {
			g := NewGrid(GridConfig{Position: positions(), Enter: 100, Leave: 120})
			return g, g
		},
		"owner only": func() (Policy, *Grid) { return NewOwnerOnly(OwnerConfig{ServersToAll: true}), nil },
		"grid or own, with owner rows": func() (Policy, *Grid) {
			g := NewGrid(GridConfig{Position: positions(), Enter: 100, Leave: 120, Near: 512, Far: 64})
			return NewRows(Any(g, NewOwnerOnly(OwnerConfig{})), OwnerRows(format.FromWords(2))), g
		},
	} {
		b.Run(name, func(b *testing.B) {
			p, g := policy()
			c := newCrowd(b, p, g, 10_000, 64, 1)
			c.judge()
			for b.Loop() {
				b.StopTimer()
				c.step(nil)
				for _, client := range c.clients {
					c.views[client].Observe()
				}
				b.StartTimer()
				c.applied.Prepare(c.store)
				for _, client := range c.clients {
					c.applied.update(client, c.views[client].View)
				}
			}
		})
	}
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
		c.applied.Prepare(c.store)
		for _, client := range c.clients {
			c.views[client].Observe()
			c.applied.update(client, c.views[client].View)
		}
	}
	for range 1500 {
		tick()
	}
	alloctest.Zero(t, 300, tick)
}

// A tick of a grid in which half of the entities are children of others, and of teams of eight clients above it; the views are told.
func BenchmarkChildren(b *testing.B) {
	for name, run := range map[string]struct {
		ties, teams bool
		every       int
	}{
		"grid, moving": {every: 1}, "grid, resting": {every: 1 << 30}, "half are children, moving": {ties: true, every: 1},
		"half are children, resting": {ties: true, every: 1 << 30}, "teams of children, moving": {ties: true, teams: true, every: 1},
	} {
		b.Run(name, func(b *testing.B) {
			g := NewGrid(GridConfig{Position: positions(), Enter: 100, Leave: 120})
			teams := NewTeams(NewChildren(g, ParentField[tie](testSchema(), "Other")))
			c := newCrowd(b, teams, g, 10_000, 64, run.every)
			for _, client := range c.clients {
				if run.teams {
					teams.Join(client, Team(1+client/8))
				}
			}
			c.step(func() {
				for i := 1; run.ties && i < len(c.living); i += 2 {
					c.tie(c.living[i], c.living[(i*7919)%i])
				}
			})
			c.judge()
			for b.Loop() {
				b.StopTimer()
				c.step(nil)
				for _, client := range c.clients {
					c.views[client].Observe()
				}
				b.StartTimer()
				c.applied.Prepare(c.store)
				for _, client := range c.clients {
					c.applied.update(client, c.views[client].View)
				}
			}
		})
	}
}

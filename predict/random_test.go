package predict_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

var (
	randomGames = flag.Int("games", 4, "random games of TestRandomGamesConverge")
	heavy       = flag.Bool("heavy", false, "long games in their full length")
)

// sized is a size that a test has, plainly or with -heavy.
func sized[T any](small, full T) T {
	if *heavy {
		return full
	}
	return small
}

// chaos changes the server's game outside of the simulation, which no client can predict.
type chaos struct {
	*game
	random *rand.Rand
	balls  []ecs.Entity
	maker  generic.Map3[components.Replicated, position, velocity]
	mark   generic.Map1[components.Predicted]
	owners generic.Map1[components.Owner]
	at     generic.Map1[position]
	heats  generic.Map1[heat]
	hot    ecs.ID
}

func newChaos(g *game, seed uint64) *chaos {
	w := g.world
	return &chaos{
		game: g, random: rand.New(rand.NewPCG(seed, 99)), maker: generic.NewMap3[components.Replicated, position, velocity](w),
		mark: generic.NewMap1[components.Predicted](w), owners: generic.NewMap1[components.Owner](w), at: generic.NewMap1[position](w),
		heats: generic.NewMap1[heat](w), hot: ecs.ComponentID[heat](w),
	}
}

// act makes one change to the world, the network or a client.
func (c *chaos) act() {
	g := c.game
	one := func() netcode.ClientID { return g.players[c.random.IntN(len(g.players))].client.ID() }
	switch c.random.IntN(14) {
	case 0:
		e := c.maker.NewWith(&components.Replicated{}, &position{X: float32(c.random.IntN(20))}, &velocity{X: 3})
		to := netcode.ClientID(0)
		if c.random.IntN(2) == 0 {
			to = one()
		}
		c.mark.Assign(e, &components.Predicted{Client: to})
		c.balls = append(c.balls, e)
	case 1:
		if n := len(c.balls); n > 0 {
			i := c.random.IntN(n)
			g.world.RemoveEntity(c.balls[i])
			c.balls[i] = c.balls[n-1]
			c.balls = c.balls[:n-1]
		}
	case 2:
		if n := len(c.balls); n > 0 {
			c.mark.Get(c.balls[c.random.IntN(n)]).Client = one()
		}
	case 3:
		if n := len(c.balls); n > 0 {
			if id, ok := g.group.ID(c.balls[c.random.IntN(n)]); ok {
				g.server.Hide(one(), id)
			}
		}
	case 4:
		for _, e := range c.balls {
			if id, ok := g.group.ID(e); ok {
				for client := range g.server.Clients {
					g.server.Show(client, id)
				}
			}
		}
	case 5:
		if e := g.bodies[one()]; g.world.Alive(e) {
			*c.at.Get(e) = position{X: float32(c.random.IntN(50)), Y: float32(c.random.IntN(50))}
		}
	case 6:
		if e := g.bodies[one()]; g.world.Alive(e) {
			if ecs.Has(g.world, e, c.hot) {
				c.heats.Remove(e)
			} else {
				c.heats.Assign(e, &heat{5})
			}
		}
	case 7:
		g.rules.wind = float32(c.random.IntN(3)) / 10
	case 8:
		g.rules.wind = 0
	case 9, 10:
		link := transport.Link{Delay: time.Duration(c.random.IntN(200)) * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: float64(c.random.IntN(7)) / 10, Duplicate: .05}
		if c.random.IntN(2) == 0 { // Its losses come in bursts too.
			link.BurstLoss = transport.GilbertElliott{Enter: 1. / 100, Length: 12}
		}
		for _, l := range g.links {
			l.SetLink(link)
		}
	case 11:
		g.players[c.random.IntN(len(g.players))].skip = c.random.IntN(90)
	case 12:
		if n := len(c.balls); n > 0 { // The owner of a ball changes.
			e := c.balls[c.random.IntN(n)]
			if !ecs.Has(g.world, e, ecs.ComponentID[components.Owner](g.world)) {
				c.owners.Assign(e, &components.Owner{})
			}
			c.owners.Get(e).Client = one()
		}
	case 13:
		p := g.players[c.random.IntN(len(g.players))]
		for id := range g.server.Store().All {
			if c.random.IntN(8) == 0 {
				p.sim.Predict(id, c.random.IntN(2) == 0)
			}
		}
	}
}

// After the network heals and all entities rest, each client's world equals the server's, bit for bit, without additional
// entities.
func TestRandomGamesConverge(t *testing.T) {
	for seed := range uint64(*randomGames) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			config := predict.Config{InputDelay: int(seed % 4), MaxReplay: 8 + int(seed%3)*24}
			g := newGame(t, transport.Link{Delay: 40 * time.Millisecond}, seed, 3, config)
			for _, p := range g.players {
				p.act = wander
			}
			g.run(2 * rate)
			c := newChaos(g, seed)
			for range 60 {
				c.act()
				g.run(c.random.IntN(rate))
			}
			g.rules.wind = 0
			for _, p := range g.players {
				p.skip = 0
			}
			g.run(2)
			for id := range g.server.Store().All {
				for client := range g.server.Clients {
					g.server.Show(client, id)
				}
			}
			stop := generic.NewFilter1[velocity]()
			for query := stop.Query(g.world); query.Next(); {
				*query.Get() = velocity{}
			}
			g.heal()
			for _, p := range g.players {
				shown := generic.NewFilter1[position]().Query(p.world)
				require.Equal(t, g.server.Store().Len(), shown.Count(), "entities of a client")
				shown.Close()
			}
		})
	}
}

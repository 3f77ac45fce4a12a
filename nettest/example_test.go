package nettest_test

import (
	"testing"
	"time"

	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// A test of a game: one entity walks for two seconds over a link that loses a
// fifth of everything, and both clients end where it stands.
func TestExampleGame(t *testing.T) {
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(),
		Clients:  2,
		Seed:     1,
		Link:     transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.2},
		Game: func(w *ecs.World, frame int) {
			walkers := generic.NewMap2[components.Replicated, position](w)
			if frame == 1 {
				walkers.New()
			}
			query := generic.NewFilter1[position]().Query(w)
			for query.Next() {
				if frame < 120 {
					query.Get().X += 0.1
				}
			}
		},
	})
	n.Run(3 * time.Second)
	n.AssertConverge()
}

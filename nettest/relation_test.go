package nettest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// rides is the platform of a rider.
type rides generic.Tie

// place is a rider's place on its platform.
type place struct {
	X, Y float32 `net:"min=-100,max=100,step=0.01"`
}

// A rider goes between platforms that are 40 m apart, and steps over where they meet: on the screen it moves evenly, with
// its relation, its place and its platforms of one moment. Its first platform is removed under way.
func TestARelationIsShownAsLateAsItsRider(t *testing.T) {
	for seed := range uint64(sized(8, 100)) {
		ride(t, seed)
	}
}

// ride shows a ride over all platforms.
func ride(t *testing.T, seed uint64) {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	netcode.Replicate[place](p)
	netcode.Replicate[rides](p)
	netcode.Replicate[components.Teleport](p)
	interpolate.Register[spot](p, interpolate.Ahead(time.Second))
	interpolate.Register[place](p, interpolate.Ahead(time.Second))
	interpolate.Register[rides](p)
	const speed = 6. / 60 // m a tick
	// Nothing is blended across a Teleport: before one the rider stands at its newest known place, for the tick of the Teleport
	// and for each lost tick before it; behind one at its first known place, until a second one tells its speed. More than lost
	// in a row are lost once in 2600 games.
	const lost = 5
	const most = (1 + lost) * speed
	var screen *ecs.World
	var told []error
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: seed, Link: transport.Link{Delay: 150 * time.Millisecond, Loss: .2},
		Server: netcode.Config{TickRate: 60},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			platforms := generic.NewMap2[components.Replicated, spot](w)
			riders := generic.NewMap4[components.Replicated, place, rides, components.Teleport](w, generic.T[rides]())
			var platform [4]ecs.Entity
			for i := range platform {
				platform[i] = platforms.NewWith(&components.Replicated{}, &spot{X: float32(40 * i)})
			}
			rider := riders.NewWith(&components.Replicated{}, &place{X: -20}, &rides{}, &components.Teleport{}, platform[0])
			on := 0
			s.Add(tick.Update, systems.Func(func(*ecs.World) {
				if !s.Server.TickDue() {
					return
				}
				for i := range platform { // All of them go up.
					if w.Alive(platform[i]) {
						_, at := platforms.Get(platform[i])
						at.Y += speed
					}
				}
				_, at, _, jumps := riders.Get(rider)
				if at.X += speed; at.X > 20 && on < 3 {
					on++
					at.X -= 40
					jumps.Count++
					ecs.SetTarget(w, rider, ecs.ComponentID[rides](w), platform[on])
					if on == 2 {
						w.RemoveEntity(platform[0])
					}
				}
			}))
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
			screen = w
			c.Client.OnError(func(err error) { told = append(told, err) })
		},
	})
	var drawn *spot
	longest, stood := float32(0), ecs.Entity{} // How far it stood back, and on what.
	seen := map[ecs.Entity]bool{}
	frames := 0
	for range 24 * 60 {
		n.Step()
		query := generic.NewFilter2[components.Smooth[place], rides]().Query(screen)
		for query.Next() {
			at, _ := query.Get()
			on := ecs.Target(screen, query.Entity(), ecs.ComponentID[rides](screen))
			spots := generic.NewMap1[components.Smooth[spot]](screen)
			if on.IsZero() || !ecs.Has(screen, on, ecs.ComponentID[components.Smooth[spot]](screen)) {
				require.Nil(t, drawn, "the platform is not on the screen")
				continue
			}
			seen[on] = true
			base := spots.Get(on).Value
			now := spot{base.X + at.Value.X, base.Y + at.Value.Y}
			late := now.Y - 20 - now.X           // The height tells the moment of the screen.
			if drawn != nil && n.Frame() > 120 { // A screen of few records leaps once, at first.
				require.InDelta(t, speed, now.Y-drawn.Y, .6*speed, "frame %d, on %v", n.Frame(), on)
				frames++
			}
			require.InDelta(t, most/2, late, most/2+.02, "frame %d, on %v", n.Frame(), on)
			if late > .02 {
				require.Greater(t, math.Abs(float64(at.Value.X)), 20-.02-most, "frame %d: it stands far from a change", n.Frame())
				if at.Value.X > 0 {
					stood = on
				}
			} else if !stood.IsZero() {
				require.NotEqual(t, stood, on, "frame %d: it leaps on its platform", n.Frame())
				stood = ecs.Entity{}
			}
			longest = max(longest, late)
			drawn = &now
		}
	}
	require.Len(t, seen, 4)
	require.Greater(t, frames, 20*60)
	require.Empty(t, told)
	t.Logf("it stood for up to %.1f ticks", longest/speed)
}

package guide_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
)

// The part of groups.md on distance is what stands between the marks.

// begin guide
type Spot struct {
	X, Y float32 `net:"min=-1000,max=1000,step=0.01"`
}

func distant(p *netcode.Protocol) {
	netcode.Replicate[Spot](p, netcode.Bands(
		netcode.Band{Beyond: 64, Scale: 8},             // from 64 m on in steps eight times as large
		netcode.Band{Beyond: 200, Scale: 32, Every: 2}, // from 200 m on coarser still, and at most every second tick
	))
}

func look(p *netcode.Protocol, server *netcode.Server) *interest.Grid {
	grid := interest.NewGrid(interest.GridConfig{ // without Enter it shows everything
		Position: interest.PositionOf(p.Schema(), func(p *Spot) (x, y, z float32) { return p.X, p.Y, 0 }),
	})
	bands := interest.NewBands(grid, interest.BandsConfig{Schema: p.Schema(), Grid: grid}) // or rooms, or any other policy, with the grid beside it
	server.SetInterest(interest.New(bands, interest.Despawn))
	return grid // grid.Follow(client, id of the player's entity), or grid.Look(client, x, y, z)
}

// end guide

func TestGuideBands(t *testing.T) {
	p := netcode.NewProtocol()
	distant(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 53})
	grid := look(p, n.Server.Server)
	n.Server.OnConnect(func(client netcode.ClientID) { grid.Look(client, 0, 0, 0) })
	places := generic.NewMap2[components.Replicated, Spot](n.Server.World)
	seen := func(x float32) float64 {
		e := places.NewWith(&components.Replicated{}, &Spot{X: x})
		var got ecs.Entity
		require.True(t, n.RunUntil(5*time.Second, func() (ok bool) {
			replicated, _ := places.Get(e)
			got, ok = n.Clients[0].Systems.Entity(replicated.ID)
			return ok
		}))
		on := generic.NewMap1[Spot](n.Clients[0].World)
		n.Run(time.Second)
		return math.Abs(float64(on.Get(got).X - x))
	}
	near, far, farther := seen(1.2345), seen(101.2345), seen(301.2345)
	t.Logf("differences: %v m near by, %v m beyond 64 m, %v m beyond 200 m", near, far, farther)
	require.Less(t, near, far)
	require.Less(t, far, farther)
}

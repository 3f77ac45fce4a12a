package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/snapshot"
)

// A client for which nobody says where it looks from sees nothing: the server is told once, and not of one that looks, or that another
// policy shows something.
func TestAClientWithoutAViewpointIsToldOf(t *testing.T) {
	p := protocol()
	type grid = *interest.Grid
	rooms := interest.NewRooms()
	nobody := func(*snapshot.Store, netcode.NetworkID) (id netcode.NetworkID, ok bool) { return id, false }
	for name, test := range map[string]struct {
		policy func(g grid) interest.Policy
		looks  bool
		told   int
	}{
		"a grid":             {func(g grid) interest.Policy { return g }, false, 1},
		"a grid, looking":    {func(g grid) interest.Policy { return g }, true, 0},
		"both":               {func(g grid) interest.Policy { return interest.Both(rooms, g) }, false, 1},
		"both, looking":      {func(g grid) interest.Policy { return interest.Both(rooms, g) }, true, 0},
		"any":                {func(g grid) interest.Policy { return interest.Any(g, rooms) }, false, 0},
		"any of grids":       {func(g grid) interest.Policy { return interest.Any(g, g) }, false, 1},
		"rows":               {func(g grid) interest.Policy { return interest.NewRows(g, nil) }, false, 1},
		"children":           {func(g grid) interest.Policy { return interest.NewChildren(g, nobody) }, false, 1},
		"a team":             {func(g grid) interest.Policy { return interest.NewTeams(g) }, false, 1},
		"a team, looking":    {func(g grid) interest.Policy { return interest.NewTeams(g) }, true, 0},
		"what has no places": {func(g grid) interest.Policy { return rooms }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := interest.NewGrid(interest.GridConfig{
				Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }), Enter: 20,
			})
			r := newRig(t, p, netcode.Config{})
			r.server.SetInterest(interest.New(test.policy(g), interest.Despawn))
			r.server.OnConnect(func(client netcode.ClientID) {
				if test.looks {
					g.Look(client, 1, 1, 1)
				}
			})
			r.spawn(1)
			r.joined(p, netcode.Config{})
			r.run(time.Second)
			require.Empty(t, r.server.errors, "it has some time")
			r.run(5 * time.Second)
			require.Len(t, r.server.errors, test.told)
			if test.told > 0 {
				var told *netcode.ViewpointError
				require.ErrorAs(t, r.server.errors[0], &told)
				require.EqualValues(t, 1, told.Client)
				require.Contains(t, told.Error(), "Follow or Look")
			}
		})
	}
}

// TestAViewpointThatGoesIsToldOf: what counts is ticks one behind the other, whenever they come.
func TestAViewpointThatGoesIsToldOf(t *testing.T) {
	p := protocol()
	g := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }), Enter: 20,
	})
	r := newRig(t, p, netcode.Config{})
	r.server.SetInterest(interest.New(g, interest.Despawn))
	c := r.joined(p, netcode.Config{})
	gone := float32(math.NaN())
	for range 10 { // blind for a second, and then not
		r.run(time.Second)
		g.Look(c.ID(), 1, 1, 1)
		r.run(100 * time.Millisecond)
		g.Look(c.ID(), gone, gone, gone)
	}
	require.Empty(t, r.server.errors)
	r.run(6 * time.Second)
	require.Len(t, r.server.errors, 1)
}

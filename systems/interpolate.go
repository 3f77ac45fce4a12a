package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interpolate"
)

// Interpolate shows a client's world at the moment that Client.Present says: for each component T that the protocol was
// given to interpolate.Register, it writes components.Smooth[T], which lies between the values that arrived, and leaves T as it
// arrived. An entity gets its twins when it appears at that moment, and is removed when its end is presented: OnDespawn is
// called then. OnSpawn is called on arrival. It runs after Apply, so that all of the frame finds what is shown; for a
// protocol without interpolated components it is not there.
type Interpolate struct {
	Client *netcode.Client // Whose world is shown.
	Apply  *Apply          // That brings what arrived into that world.

	smooth *netecs.Smooth
	apply  *netecs.Apply // That smooth was made for.
}

// Initialize implements System.
func (i *Interpolate) Initialize(*ecs.World) {}

// Update implements System.
func (i *Interpolate) Update(*ecs.World) {
	if i.Apply.apply == nil {
		return
	}
	rate := i.Client.TickRate()
	if i.apply != i.Apply.apply {
		i.apply = i.Apply.apply
		i.smooth = netecs.NewSmooth(i.apply, interpolate.List(i.Client.Protocol()), rate)
	}
	i.smooth.SetRate(rate)
	i.smooth.Run(i.Client.Present())
}

// Finalize implements System.
func (i *Interpolate) Finalize(*ecs.World) {}

// Stats is what has been done so far.
func (i *Interpolate) Stats() netecs.SmoothStats {
	if i.smooth == nil {
		return netecs.SmoothStats{}
	}
	return i.smooth.Stats()
}

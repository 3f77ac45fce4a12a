package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// Dispatch hands the messages that wait for a stage to their handlers. There is one for each stage, at its start.
type Dispatch struct {
	End   End        // Whose messages.
	Stage tick.Stage // Whose beginning it is.
}

// Initialize implements System.
func (d *Dispatch) Initialize(*ecs.World) {}

// Update implements System.
func (d *Dispatch) Update(*ecs.World) {
	d.End.Enter(netcode.StepDispatch(d.Stage))
	d.End.Dispatch(d.Stage)
}

// Finalize implements System.
func (d *Dispatch) Finalize(*ecs.World) {}

package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// Tick runs a server's network tick in the frames that one falls into. It runs after everything of stage PreLateUpdate: changes
// later in the frame are captured in the next tick.
type Tick struct {
	Server  *netcode.Server // Its clock decides about ticks.
	Capture *Capture        // Runs on each tick. Send then sends what it captured.

	order *order
}

// Due reports whether a network tick falls into this frame. It is valid from Receive on.
func (t *Tick) Due() bool { return t.Server.TickDue() }

// Initialize implements System.
func (t *Tick) Initialize(w *ecs.World) { t.Capture.Initialize(w) }

// Update implements System.
func (t *Tick) Update(w *ecs.World) {
	enter(t.Server, &t.order, StepCapture)
	if t.Due() {
		t.Capture.Run(w, t.Server.Tick())
	}
}

// Finalize implements System.
func (t *Tick) Finalize(w *ecs.World) { t.Capture.Finalize(w) }

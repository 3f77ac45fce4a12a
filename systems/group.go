package systems

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// Group is a server's or a client's systems together with the game's own, as a Runner runs them.
type Group interface {
	// Systems lists all systems in the order of the frame.
	Systems() []System
	// Close starts to end all connections.
	Close()
	// Closed tells if the other ends were told and no more frames are needed.
	Closed() bool
}

// stages holds the game's own systems, each in the place where it belongs in a frame.
type stages struct {
	game   [tick.NumStages][]System
	listed bool
}

// Add puts systems of the game into a stage, after those that are there already and after the stage's messages were
// handled. Simulation belongs in FixedUpdate or Update: what runs after PreLateUpdate is not captured in this frame. Add
// everything before Systems is called, which the first frame of a Runner does: Add panics after that, since the systems
// would never run, on a stage that is none, and on a system that is nil.
func (s *stages) Add(stage netcode.Stage, systems ...System) {
	if !stage.Valid() {
		panic(fmt.Sprintf("systems: Add: %v is no stage", stage))
	}
	if s.listed {
		panic(fmt.Sprintf("systems: Add(%v): too late, the systems are listed already: add before the first frame", stage))
	}
	for i, system := range systems {
		if system == nil {
			panic(fmt.Sprintf("systems: Add(%v): system %d of %d is nil", stage, i+1, len(systems)))
		}
	}
	s.game[stage] = append(s.game[stage], systems...)
}

// list puts everything in order; around gives what netcode runs before the dispatch of a stage and after the game's
// systems in it.
func (s *stages) list(end End, around func(stage tick.Stage) (before, after []System)) []System {
	s.listed = true
	var all []System
	for stage := range tick.Stage(tick.NumStages) {
		before, after := around(stage)
		all = append(all, before...)
		all = append(all, &Dispatch{End: end, Stage: stage})
		all = append(all, s.game[stage]...)
		all = append(all, after...)
	}
	return all
}

// attachable is an end that one group drives at a time.
type attachable interface {
	Attach() bool
	Detach()
}

// mustBeAlone refuses an end that another group drives: each would begin frames, and receive and send for it.
func mustBeAlone(end attachable, call, what string) {
	if !end.Attach() {
		panic("systems: " + call + ": " + what + " is in another group already: one group drives it, until Runner.Close or the systems' Finalize")
	}
}

// mustBeThere refuses an argument that is nil where it is given, and not in the first frame that needs it.
func mustBeThere(given bool, call, what string) {
	if !given {
		panic("systems: " + call + ": " + what + " is nil")
	}
}

// there reports whether an interface holds something that is not a nil pointer, as that of a socket whose Listen failed.
func there(v any) bool {
	if v == nil {
		return false
	}
	p := reflect.ValueOf(v)
	return p.Kind() != reflect.Pointer || !p.IsNil()
}

// mustBeGiven refuses a function that is nil where it is given, and not when it is called.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("systems: " + call + ": the function is nil")
	}
}

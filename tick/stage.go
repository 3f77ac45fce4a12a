package tick

import "strconv"

// Stage is a point in the frame. Stages run in the order of their numbers. FixedUpdate may run any number of times in a
// frame, also none. The number is also the byte on the wire.
type Stage uint8

// The stages of a frame, in order.
const (
	Initialization Stage = iota // Packets are read; acknowledgements and queues are filled.
	EarlyUpdate                 // Received snapshots enter the world.
	FixedUpdate                 // Fixed steps of the game, 0 to n times a frame.
	PreUpdate                   // Before the game's update.
	Update                      // The game's update.
	PreLateUpdate               // After it: capture, when a network tick is due.
	PostLateUpdate              // Packets are sent.

	// NumStages is the number of stages of a frame. It is not a stage.
	NumStages = 7
)

// Valid reports whether s is one of the stages.
func (s Stage) Valid() bool { return s < NumStages }

// String returns the stage's name, or its number for an unknown stage.
func (s Stage) String() string {
	switch s {
	case Initialization:
		return "Initialization"
	case EarlyUpdate:
		return "EarlyUpdate"
	case FixedUpdate:
		return "FixedUpdate"
	case PreUpdate:
		return "PreUpdate"
	case Update:
		return "Update"
	case PreLateUpdate:
		return "PreLateUpdate"
	case PostLateUpdate:
		return "PostLateUpdate"
	}
	return "Stage(" + strconv.Itoa(int(s)) + ")"
}

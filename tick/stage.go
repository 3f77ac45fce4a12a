package tick

import "strconv"

// Stage is a point in the frame. Stages run in the order of their numbers; FixedUpdate may run any
// number of times in a frame, also none. The number is also the byte that is sent.
type Stage uint8

// The stages of a frame, in order.
const (
	Initialization Stage = iota // packets are read, acknowledgements and queues filled
	EarlyUpdate                 // received snapshots enter the world
	FixedUpdate                 // fixed steps of the game, 0..n times a frame
	PreUpdate                   // before the game's update
	Update                      // the game's update
	PreLateUpdate               // after it: capture, when a network tick is due
	PostLateUpdate              // packets leave

	// NumStages is the number of stages of a frame; it is no stage itself.
	NumStages = 7
)

// Valid reports whether s is one of the stages.
func (s Stage) Valid() bool { return s < NumStages }

// String returns the stage's name, or its number when it has none.
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

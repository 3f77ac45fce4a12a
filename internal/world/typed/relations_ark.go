//go:build netcode_ark

package typed

import "github.com/mlange-42/ark/ecs"

// Relations with the fields that tests give them: types of tests are defined by them, since each ECS has its own marker.
type (
	// Tie has no field.
	Tie struct{ ecs.RelationMarker }
	// SeatTie has a Seat.
	SeatTie struct {
		ecs.RelationMarker
		// Seat is a value beside the target.
		Seat uint8
	}
	// SlotTie has a Slot.
	SlotTie struct {
		ecs.RelationMarker
		// Slot is a value beside the target.
		Slot uint8
	}
	// JointTie has a Joint.
	JointTie struct {
		ecs.RelationMarker
		// Joint is a value beside the target.
		Joint int32
	}
	// KTie has a K.
	KTie struct {
		ecs.RelationMarker
		// K is a value beside the target.
		K int32
	}
	// VTie has a V.
	VTie struct {
		ecs.RelationMarker
		// V is a value beside the target.
		V uint32
	}
	// DistanceTie has a Distance.
	DistanceTie struct {
		ecs.RelationMarker
		// Distance is a value beside the target.
		Distance float32
	}
	// OnTie names an entity beside its target.
	OnTie struct {
		ecs.RelationMarker
		// On is a value beside the target.
		On ecs.Entity `net:"entity"`
	}
)

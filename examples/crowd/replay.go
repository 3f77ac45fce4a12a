package main

import (
	"errors"
	"io"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/components"
)

// Replay moves the bodies of the server's world as they were recorded, a frame of the recording each update,
// and begins again when the recording is over. Velocity is in the recording but is not sent.
type Replay struct {
	Trace *Trace
	OnErr func(error) // told once; the bodies then stay where they are

	bodies []ecs.Entity
	rows   generic.Map4[components.Replicated, Position, Rotation, Interacting]
	apply  func(*TraceBody)
	failed bool
}

// Initialize implements System.
func (s *Replay) Initialize(w *ecs.World) {
	s.rows = generic.NewMap4[components.Replicated, Position, Rotation, Interacting](w)
	s.bodies = make([]ecs.Entity, s.Trace.Bodies)
	for i := range s.bodies {
		s.bodies[i] = s.rows.New()
		_, _, rot, _ := s.rows.Get(s.bodies[i])
		rot.Q.W = 1
	}
	s.apply = s.move
}

// Update implements System.
func (s *Replay) Update(*ecs.World) {
	if s.failed {
		return
	}
	err := s.Trace.Next(s.apply)
	if errors.Is(err, io.EOF) {
		if err = s.Trace.Rewind(); err == nil {
			err = s.Trace.Next(s.apply)
		}
	}
	if err != nil {
		s.failed = true
		s.OnErr(err)
	}
}

// Finalize implements System.
func (s *Replay) Finalize(*ecs.World) {}

func (s *Replay) move(b *TraceBody) {
	_, pos, rot, interacting := s.rows.Get(s.bodies[b.Body])
	*pos = Position{X: b.Position[0], Y: b.Position[1], Z: b.Position[2]}
	rot.Q = Quaternion{X: b.Orientation[0], Y: b.Orientation[1], Z: b.Orientation[2], W: b.Orientation[3]}
	interacting.On = b.Interacting
}

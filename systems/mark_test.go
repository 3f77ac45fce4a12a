package systems_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/systems"
)

func TestMarksOnlyServer(t *testing.T) {
	r := newRig(t)
	systems.Mark[position](r.server.Capture, ecs.Entity{}) // before the first frame there is nothing to mark
	r.server.Capture.MarkWorld()
	r.server.Capture.MarksOnly = true
	e := r.unmarked(t)
	systems.Mark[position](r.server.Capture, e)
	r.until(t, func() bool { seen, _ := r.seen(e); return seen.X == 5 })

	f := r.spawn()
	r.server.Capture.MarkWorld()
	r.until(t, func() bool { seen, _ := r.seen(f); return seen != nil })
}

// unmarked is an entity of which something was written that nobody marked, and that the client has not got.
func (r *rig) unmarked(t *testing.T) ecs.Entity {
	e := r.spawn()
	r.until(t, func() bool { seen, _ := r.seen(e); return seen != nil })
	at := (*position)(r.worlds[0].Get(e, ecs.ComponentID[position](r.worlds[0])))
	at.X = 5
	for range 60 {
		r.step()
	}
	seen, _ := r.seen(e)
	require.NotEqual(t, float32(5), seen.X, "nobody marked it")
	return e
}

// A Marker marks what it was made for, from before the first frame on, and tells of what cannot be marked when it is made.
func TestMarker(t *testing.T) {
	r := newRig(t)
	r.server.Capture.MarksOnly = true
	moved := r.server.Capture.Marker(generic.T1[position]()...)
	moved.Mark(ecs.Entity{})
	e := r.unmarked(t)
	moved.Mark(e)
	r.until(t, func() bool { seen, _ := r.seen(e); return seen.X == 5 })
	alloctest.Zero(t, 100, func() { moved.Mark(e) })

	require.PanicsWithValue(t, "netecs: a Marker of systems_test.notReplicated, which is not replicated: register it with netcode.Replicate",
		func() { r.server.Capture.Marker(generic.T[notReplicated]()) })
}

type notReplicated struct{ X float32 }

func TestCheckMarksReports(t *testing.T) {
	r := newRig(t)
	r.server.Capture.MarksOnly, r.server.Capture.CheckMarks = true, true
	e := r.spawn()
	r.until(t, func() bool { seen, _ := r.seen(e); return seen != nil })
	require.Empty(t, r.errors)
	(*position)(r.worlds[0].Get(e, ecs.ComponentID[position](r.worlds[0]))).X = 5
	for range 10 {
		r.step()
	}
	require.Len(t, r.errors, 1)
	var problem netecs.Problem
	require.ErrorAs(t, r.errors[0], &problem)
	require.Equal(t, netecs.UnmarkedWrite, problem.Kind)
}

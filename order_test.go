package netcode_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// serverSteps is a server's frame in its order, clientSteps a client's.
func serverSteps() []netcode.Step {
	steps := []netcode.Step{netcode.StepReceive}
	for stage := range tick.Stage(tick.NumStages) {
		steps = append(steps, netcode.StepDispatch(stage))
		if stage == tick.PreLateUpdate {
			steps = append(steps, netcode.StepCapture)
		}
	}
	return append(steps, netcode.StepSend)
}

func clientSteps() []netcode.Step {
	steps := slices.DeleteFunc(serverSteps(), func(s netcode.Step) bool { return s == netcode.StepCapture })
	return slices.Insert(steps, slices.Index(steps, netcode.StepDispatch(tick.EarlyUpdate)), netcode.StepApply)
}

// reported gives a server two frames of steps and returns what it said of them.
func reported(t *testing.T, steps []netcode.Step) []netcode.OrderError {
	return reportedIn(t, steps, steps)
}

// reportedIn is reported for any frames.
func reportedIn(t *testing.T, frames ...[]netcode.Step) []netcode.OrderError {
	s, err := netcode.NewServer(protocol(), netcode.Config{})
	require.NoError(t, err)
	var got []netcode.OrderError
	s.OnError(func(err error) {
		var order *netcode.OrderError
		require.True(t, errors.As(err, &order))
		require.NotEmpty(t, order.Error())
		got = append(got, *order)
	})
	for _, steps := range frames {
		for _, step := range steps {
			s.Enter(step)
		}
	}
	return got
}

func TestRightOrderIsSilent(t *testing.T) {
	require.Empty(t, reported(t, serverSteps()))
	again := slices.Insert(serverSteps(), 4, netcode.StepDispatch(tick.FixedUpdate))
	require.Equal(t, netcode.StepDispatch(tick.FixedUpdate), again[3])
	require.Empty(t, reported(t, again), "FixedUpdate may come any number of times")

	c, err := netcode.NewClient(protocol(), netcode.Config{})
	require.NoError(t, err)
	c.OnError(func(err error) { require.NoError(t, err) })
	for _, step := range clientSteps() {
		c.Enter(step)
	}
}

func TestMissingStepIsReportedInTheFirstFrame(t *testing.T) {
	for i, missing := range serverSteps() {
		if missing == netcode.StepDispatch(tick.FixedUpdate) {
			continue
		}
		steps := slices.Delete(serverSteps(), i, i+1)
		require.Equal(t, []netcode.OrderError{{Step: missing, Gone: true}}, reported(t, steps), missing.String())
	}
}

func TestStepOutOfPlaceIsReportedInTheFirstFrame(t *testing.T) {
	steps := serverSteps()
	capture := slices.Index(steps, netcode.StepCapture)
	steps[capture], steps[capture+1] = steps[capture+1], steps[capture]
	got := reported(t, steps)
	require.Equal(t, []netcode.OrderError{{Step: netcode.StepCapture, After: netcode.StepDispatch(tick.PostLateUpdate)}}, got)
	require.ErrorContains(t, &got[0], "Capture runs after Dispatch(PostLateUpdate)")

	steps = serverSteps()
	steps[capture], steps[capture+2] = steps[capture+2], steps[capture] // Send before capture.
	require.Contains(t, reported(t, steps), netcode.OrderError{Step: netcode.StepCapture, Gone: true})
}

// A game whose frames are shorter than its fixed steps may have none of those in the first frame, nor in many others. One that
// never has any is told of it, once.
func TestFixedStepsMayBeginLater(t *testing.T) {
	fixed := netcode.StepDispatch(tick.FixedUpdate)
	without := slices.DeleteFunc(serverSteps(), func(s netcode.Step) bool { return s == fixed })
	require.Empty(t, reportedIn(t, without, without, serverSteps()))
	late := append(slices.Repeat([][]netcode.Step{without}, 999), serverSteps(), without)
	require.Empty(t, reportedIn(t, late...))
	never := slices.Repeat([][]netcode.Step{without}, 3000)
	got := reportedIn(t, never...)
	require.Equal(t, []netcode.OrderError{{Step: fixed, Gone: true}}, got)
	require.ErrorContains(t, &got[0], "has not run in the first 1000 frames")

	broken := slices.DeleteFunc(slices.Clone(without), func(s netcode.Step) bool { return s == netcode.StepCapture })
	require.Equal(t, []netcode.OrderError{{Step: netcode.StepCapture, Gone: true}}, reportedIn(t, broken, broken, serverSteps()))
}

package systems_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// serverSteps is a server's frame in its order, clientSteps a client's.
func serverSteps() []systems.Step {
	steps := []systems.Step{systems.StepReceive}
	for stage := range tick.Stage(tick.NumStages) {
		steps = append(steps, systems.StepDispatch(stage))
		if stage == tick.PreLateUpdate {
			steps = append(steps, systems.StepCapture)
		}
	}
	return append(steps, systems.StepSend)
}

func clientSteps() []systems.Step {
	steps := slices.DeleteFunc(serverSteps(), func(s systems.Step) bool { return s == systems.StepCapture })
	return slices.Insert(steps, slices.Index(steps, systems.StepDispatch(tick.EarlyUpdate)), systems.StepApply)
}

// reported gives a server two frames of steps and returns what it said of them.
func reported(t *testing.T, steps []systems.Step) []systems.OrderError {
	return reportedIn(t, steps, steps)
}

// reportedIn is reported for any frames.
func reportedIn(t *testing.T, frames ...[]systems.Step) []systems.OrderError {
	s, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	var got []systems.OrderError
	s.OnError(func(err error) {
		var order *systems.OrderError
		require.True(t, errors.As(err, &order))
		require.NotEmpty(t, order.Error())
		got = append(got, *order)
	})
	for _, steps := range frames {
		for _, step := range steps {
			systems.Enter(s, step)
		}
	}
	return got
}

func TestRightOrderIsSilent(t *testing.T) {
	require.Empty(t, reported(t, serverSteps()))
	again := slices.Insert(serverSteps(), 4, systems.StepDispatch(tick.FixedUpdate))
	require.Equal(t, systems.StepDispatch(tick.FixedUpdate), again[3])
	require.Empty(t, reported(t, again), "FixedUpdate may come any number of times")

	c, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	c.OnError(func(err error) { require.NoError(t, err) })
	for _, step := range clientSteps() {
		systems.Enter(c, step)
	}
}

func TestMissingStepIsReportedInTheFirstFrame(t *testing.T) {
	for i, missing := range serverSteps() {
		if missing == systems.StepDispatch(tick.FixedUpdate) {
			continue
		}
		steps := slices.Delete(serverSteps(), i, i+1)
		require.Equal(t, []systems.OrderError{{Step: missing, Gone: true}}, reported(t, steps), missing.String())
	}
}

func TestStepOutOfPlaceIsReportedInTheFirstFrame(t *testing.T) {
	steps := serverSteps()
	capture := slices.Index(steps, systems.StepCapture)
	steps[capture], steps[capture+1] = steps[capture+1], steps[capture]
	got := reported(t, steps)
	require.Equal(t, []systems.OrderError{{Step: systems.StepCapture, After: systems.StepDispatch(tick.PostLateUpdate)}}, got)
	require.ErrorContains(t, &got[0], "Capture runs after Dispatch(PostLateUpdate)")

	steps = serverSteps()
	steps[capture], steps[capture+2] = steps[capture+2], steps[capture] // Send before capture.
	require.Contains(t, reported(t, steps), systems.OrderError{Step: systems.StepCapture, Gone: true})
}

// A game whose frames are shorter than its fixed steps may have none of those in the first frame, nor in many others. One that
// never has any is told of it, once.
func TestFixedStepsMayBeginLater(t *testing.T) {
	fixed := systems.StepDispatch(tick.FixedUpdate)
	without := slices.DeleteFunc(serverSteps(), func(s systems.Step) bool { return s == fixed })
	require.Empty(t, reportedIn(t, without, without, serverSteps()))
	late := append(slices.Repeat([][]systems.Step{without}, 999), serverSteps(), without)
	require.Empty(t, reportedIn(t, late...))
	never := slices.Repeat([][]systems.Step{without}, 3000)
	got := reportedIn(t, never...)
	require.Equal(t, []systems.OrderError{{Step: fixed, Gone: true}}, got)
	require.ErrorContains(t, &got[0], "has not run in the first 1000 frames")

	broken := slices.DeleteFunc(slices.Clone(without), func(s systems.Step) bool { return s == systems.StepCapture })
	require.Equal(t, []systems.OrderError{{Step: systems.StepCapture, Gone: true}}, reportedIn(t, broken, broken, serverSteps()))
}

func TestStepNames(t *testing.T) {
	require.Equal(t, "Step(200)", systems.Step(200).String())
	require.Equal(t, "Dispatch(Update)", systems.StepDispatch(tick.Update).String())
}

package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"testing"

	"github.com/stretchr/testify/require"
)

// A plan that was parsed has no extrapolation function: a delta of it is refused if it needs one.
func TestDeltaOfAParsedPlanWantsItsFunction(t *testing.T) {
	q, err := quantize.ParsePlan("lone{On:bool}")
	require.NoError(t, err)
	_, err = NewDelta(q, NewFlat())
	require.NoError(t, err)
	q, err = quantize.ParsePlan("lone{~falls;On:bool;Off:bool}")
	require.NoError(t, err)
	_, err = NewDelta(q, NewFlat())
	require.ErrorIs(t, err, ErrExtrapolation)
}

// FuzzDeltaOfAParsedPlan: every plan that is parsed, and has no function of its own, has a delta.
func FuzzDeltaOfAParsedPlan(f *testing.F) {
	for _, p := range []*quantize.Plan{deltaPlan[anyField](f), deltaPlan[chosen](f), deltaPlan[lone](f)} {
		f.Add(string(p.Describe(nil)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := quantize.ParsePlan(text)
		if err != nil || p.ExtrapolatedBy() != "" {
			return
		}
		_, err = NewDelta(p, NewFlat())
		require.NoError(t, err)
	})
}

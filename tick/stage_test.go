package tick_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

func TestStage(t *testing.T) {
	names := []string{"Initialization", "EarlyUpdate", "FixedUpdate", "PreUpdate", "Update", "PreLateUpdate", "PostLateUpdate"}
	require.Len(t, names, tick.NumStages)
	for i, name := range names {
		require.Equal(t, name, tick.Stage(i).String())
		require.True(t, tick.Stage(i).Valid())
	}
	require.False(t, tick.Stage(tick.NumStages).Valid())
	require.False(t, tick.Stage(255).Valid())
	require.Equal(t, "Stage(7)", tick.Stage(7).String())
}

package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/inspect"
)

// A page that has closed leaves nobody followed: what is read for metrics is told some times a second, not with each datagram.
func TestNobodyIsFollowedWhenThePageHasClosed(t *testing.T) {
	r := newRig(t, 1)
	calls := 0
	r.inspector.OnRead(func(*inspect.Attribution) { calls++ })
	r.bodies(5)
	r.step(60)
	r.stream("/events?client=1", 1)
	r.step(60 * 5) // More than three seconds: nobody looks any more.
	calls = 0
	r.step(60 * 4)
	require.LessOrEqual(t, calls, 4*4+1, "in four seconds")
}

// The server's writers count while somebody looks, and no longer.
func TestNothingIsCountedWhenThePageHasClosed(t *testing.T) {
	r := newRig(t, 1)
	r.bodies(5)
	r.step(60)
	require.False(t, r.server.Store().Counts())
	r.stream("/events?client=1", 1)
	require.True(t, r.server.Store().Counts())
	r.step(60 * 5)
	require.False(t, r.server.Store().Counts())
	require.Empty(t, r.server.Store().TakeTraced())
	r.step(10)
	require.Empty(t, r.server.Store().TakeTraced())
}

package congestion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The start makes packets small to count them. If the application is the limit there is nothing to count: packets grow with the rate, or
// the path would never be searched for a larger size.
func TestPacketsOfAnApplicationThatIsTheLimitAreLarge(t *testing.T) {
	c := New(1<<20, time.Second/30)
	c.rate = 36 << 10
	c.path.taken = 2
	c.Tick(time.Second, true)
	require.Equal(t, Start, c.State().Reason)
	require.Less(t, c.PacketSize(), 210)
	c.Tick(2*time.Second, false)
	require.Equal(t, Application, c.State().Reason)
	require.Greater(t, c.PacketSize(), 600)
	c.Tick(3*time.Second, true)
	c.SetBound(36 << 10)
	require.Equal(t, Bound, c.State().Reason)
	require.Greater(t, c.PacketSize(), 600)
}

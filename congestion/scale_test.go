package congestion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScale(t *testing.T) {
	for _, c := range []struct {
		v           int64
		part, whole time.Duration
		want        int64
	}{
		{1000, time.Second, 2 * time.Second, 500},
		{7, time.Second, 10 * time.Millisecond, 700},
		{2400, time.Second, 0, 2_400_000},
		{2400, time.Second, -time.Second, 2_400_000},
		{0, 0, 0, 0},
	} {
		require.Equal(t, c.want, scale(c.v, c.part, c.whole), "%d·%v/%v", c.v, c.part, c.whole)
	}
}

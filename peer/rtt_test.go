package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRoundTripEstimate(t *testing.T) {
	var r roundTrip
	require.Equal(t, firstTimeout+time.Millisecond, r.timeout(time.Millisecond))

	r.sample(80 * time.Millisecond)
	require.Equal(t, 80*time.Millisecond, r.smoothed)
	require.Equal(t, 40*time.Millisecond, r.jitter)
	require.Equal(t, (100+40+10)*time.Millisecond, r.timeout(10*time.Millisecond))

	for range 200 {
		r.sample(80 * time.Millisecond)
	}
	require.Equal(t, 80*time.Millisecond, r.smoothed)
	require.Less(t, r.jitter, time.Microsecond)

	for i := range 400 {
		r.sample(time.Duration(70+20*(i%2)) * time.Millisecond)
	}
	require.InDelta(t, 80, float64(r.smoothed)/1e6, 2)
	require.InDelta(t, 10, float64(r.jitter)/1e6, 1)
}

func TestRoundTripSampleIsBounded(t *testing.T) {
	var r roundTrip
	r.sample(-time.Hour)
	require.Zero(t, r.smoothed)
	for range 1000 {
		r.sample(time.Hour)
	}
	require.LessOrEqual(t, r.smoothed, maxSample)
	require.LessOrEqual(t, r.jitter, maxSample)
}

func TestLossRate(t *testing.T) {
	var l lossRate
	require.Zero(t, l.rate())
	for i := range 10000 {
		l.add(i%5 == 0)
	}
	require.InDelta(t, 0.2, l.rate(), 0.02)
	for range 3 * lossMemory {
		l.add(false)
	}
	require.Less(t, l.rate(), 0.05)
	for range 1000 {
		l.withdraw()
	}
	require.Zero(t, l.rate())
}

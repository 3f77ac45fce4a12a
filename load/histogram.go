package load

import (
	"math"
	"time"
)

const (
	// leastTime is the upper bound of the first bucket of a Histogram.
	leastTime = 10 * time.Microsecond
	// perDouble is the number of buckets per doubling of time. A percentile is at most 9 % too long.
	perDouble = 8
	// buckets covers times beyond a minute.
	buckets = 24 * perDouble
)

// Histogram counts durations. Histograms of several processes can be merged.
type Histogram struct {
	Counts [buckets]uint32 `json:"counts"` // By bucket: eight for each doubling, from 10 µs.
	N      uint64          `json:"n"`      // Number of durations.
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	i := 0
	if d > leastTime {
		i = min(int(math.Ceil(math.Log2(float64(d)/float64(leastTime))*perDouble)), buckets-1)
	}
	h.Counts[i]++
	h.N++
}

// Merge adds another histogram.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	h.N += other.N
}

// At returns a percentile: share 0.99 is the 99th. The result is the upper bound of a bucket, 0 for an empty histogram.
func (h *Histogram) At(share float64) time.Duration {
	if h.N == 0 {
		return 0
	}
	rank, sum := uint64(math.Ceil(share*float64(h.N))), uint64(0)
	for i, n := range h.Counts {
		if sum += uint64(n); sum >= max(rank, 1) {
			return time.Duration(float64(leastTime) * math.Pow(2, float64(i)/perDouble))
		}
	}
	return math.MaxInt64
}

package congestion

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var heavy = flag.Bool("heavy", false, "lines in their full number")

// gridLine is a line with loss at random before it, in both directions. Its queue holds 200 ms; the round trip is 60 ms.
type gridLine struct {
	rate int64 // KiB/s
	hz   int
	loss int // per cent
	seed uint64

	recordBytes int // 0: packets of any size
}

func (l gridLine) String() string {
	return fmt.Sprintf("%d KiB/s, %d Hz, %d %% loss, seed %d", l.rate, l.hz, l.loss, l.seed)
}

// gridOutcome tells which part of the line was used from second 2 to 5, from 5 to 10 and to 20, and the queue of 99 % of the packets of the first five
// seconds and of the next fifteen, in ms.
type gridOutcome struct {
	first, early, late float64
	start, then        int
}

func (l gridLine) play() (o gridOutcome) {
	w, r, interval := &world{}, rand.New(rand.NewPCG(l.seed, 77)), time.Second/time.Duration(l.hz)
	q, c := &queue{rate: l.rate << 10, most: 200 * ms}, New(1<<30, interval)
	f := &flow{w: w, q: q, c: &c, interval: interval, frame: interval, delay: 30 * ms, lossBefore: float64(l.loss) / 100, recordBytes: l.recordBytes, random: r, record: true,
		phase: time.Duration(r.Int64N(int64(interval))), theirs: time.Duration(r.Int64N(int64(interval)))}
	f.start()
	used := func(until time.Duration) float64 {
		from, bytes := w.now, q.bytes
		w.run(until)
		return float64(q.bytes-bytes) / (float64(q.rate) * (until - from).Seconds())
	}
	p99 := func() int {
		total, sum := 0, 0
		for _, n := range f.waits {
			total += n
		}
		for wait, n := range f.waits {
			if sum += n; sum*100 >= total*99 {
				clear(f.waits)
				return wait
			}
		}
		return len(f.waits)
	}
	used(2 * time.Second)
	o.first = used(5 * time.Second)
	o.start = p99()
	o.early = used(10 * time.Second)
	o.late = (o.early + 2*used(20*time.Second)) / 3
	o.then = p99()
	return o
}

// gridTable plays each line with each loss and prints a row for a line.
func gridTable(t *testing.T, rates []int64, seeds uint64) (played, slow, long int, worst gridOutcome) {
	t.Helper()
	worst = gridOutcome{early: 1, late: 1}
	for _, rate := range rates {
		for _, hz := range []int{30, 60, 128} {
			row := ""
			for _, loss := range []int{0, 1, 2, 5, 10} {
				of := gridOutcome{early: 1, late: 1}
				lineSlow, lineLong := 0, 0
				for seed := range seeds {
					o := gridLine{rate: rate, hz: hz, loss: loss, seed: seed}.play()
					played++
					if min(o.early, o.late) < 0.9 {
						lineSlow++
					}
					if o.start > 60 {
						lineLong++
					}
					of = gridOutcome{early: min(of.early, o.early), late: min(of.late, o.late), start: max(of.start, o.start), then: max(of.then, o.then)}
				}
				slow, long = slow+lineSlow, long+lineLong
				worst = gridOutcome{early: min(of.early, worst.early), late: min(of.late, worst.late), start: max(of.start, worst.start), then: max(of.then, worst.then)}
				row += fmt.Sprintf(" | %2d %%: %3.0f %% (%d) %3d ms (%d)", loss, 100*min(of.early, of.late), lineSlow, of.start, lineLong)
			}
			t.Logf("%4d KiB/s %3d Hz%s", rate, hz, row)
		}
	}
	return played, slow, long, worst
}

// Whatever the rate of a line, the ticks and the loss before it, a sender uses it five seconds after it began, and stays there. In these
// seconds the queue has 60 ms at most. The exceptions are few, at 10 % loss or with some packets a tick, and none of them is bad.
func TestLinesAreUsedWithinFiveSeconds(t *testing.T) {
	rates, seeds := []int64{16, 64, 512}, uint64(2)
	if *heavy {
		rates, seeds = []int64{16, 32, 64, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10}, 50
	}
	played, slow, long, worst := gridTable(t, rates, seeds)
	t.Logf("%d lines: %d use less than 90 %%, %d have a queue above 60 ms in the first five seconds; the worst %+v", played, slow, long, worst)
	require.Less(t, slow, max(played/50, 3))
	require.Less(t, long, played/12)
	require.Greater(t, min(worst.early, worst.late), 0.8)
	require.Less(t, worst.start, 140)
}

// Before, packets that were lost before the line made the delay seem shorter than it can be, so that an empty queue looked long: the rate
// fell to half of the line and stayed there. These lines were found so.
func TestLossBeforeTheLineMakesNoQueue(t *testing.T) {
	for _, l := range []gridLine{
		{64, 60, 2, 7, 0}, {64, 60, 10, 42, 0}, {64, 30, 5, 0, 0}, {256, 60, 10, 39, 0}, {16, 30, 2, 7, 0},
		{16, 30, 2, 5, 0}, {16, 30, 2, 32, 0}, {16, 30, 5, 5, 0}, {64, 30, 5, 26, 0}, {64, 30, 5, 28, 0}, {64, 30, 10, 9, 0},
	} {
		o := l.play()
		require.Greater(t, min(o.early, o.late), 0.89, "%v: %+v", l, o)
	}
}

// A pulse of a few large packets, or one that loses many, still finds the rate of a line in its first five seconds.
func TestPulsesOfLargeRecords(t *testing.T) {
	seeds := uint64(5)
	if *heavy {
		seeds = 20
	}
	for _, hz := range []int{30, 60} {
		for _, loss := range []int{0, 20} {
			sum, n := 0., 0.
			for _, rate := range []int64{128, 512, 2 << 10} {
				for seed := range seeds {
					o := gridLine{rate: rate, hz: hz, loss: loss, seed: seed, recordBytes: 256}.play()
					require.Greater(t, o.early, 0.6, "%d KiB/s %d Hz %d %% loss, seed %d: %+v", rate, hz, loss, seed, o)
					sum, n = sum+o.first, n+1
				}
			}
			t.Logf("%d Hz, %d %% loss: %.2f of the line from second 2 to 5", hz, loss, sum/n)
			require.Greater(t, sum/n, map[int]float64{0: 0.8, 20: 0.6}[loss])
		}
	}
}

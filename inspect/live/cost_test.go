package live_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkLook measures the server's loop beside three of its like, in turns: without an inspector, with one at which nobody looks, and with a
// page that follows a client. 8 clients see 1000 bodies that all move. It takes medians of ticks:
//
//	go test ./inspect/live -run ^$ -bench Look -benchtime 1200x
func BenchmarkLook(b *testing.B) {
	const bodies, clients, warm = 1000, 8, 120
	var rigs [3]*rig
	for n := range rigs {
		r := newRig(b, clients)
		rigs[n] = r
		begun, at := time.Now(), time.Duration(-1)
		r.clock = func() time.Duration { // It goes on in real time within a frame.
			if at != r.now {
				at, begun = r.now, time.Now()
			}
			return r.now + time.Since(begun)
		}
		if n == 0 {
			r.useBare()
		}
		r.bodies(bodies)
		r.step(warm)
	}
	url, stop, err := rigs[2].inspector.Listen("127.0.0.1:0")
	require.NoError(b, err)
	answer, err := http.Get(url + "events?client=1")
	require.NoError(b, err)
	go func() {
		for buf := make([]byte, 1<<16); ; { // It ends with stop.
			if _, err := answer.Body.Read(buf); err != nil {
				return
			}
		}
	}()
	var took [3][]float64
	b.ResetTimer()
	for range b.N {
		for n, r := range rigs {
			begun := time.Now()
			r.loop.Step()
			if r.server.TickDue() {
				took[n] = append(took[n], float64(time.Since(begun).Microseconds()))
			}
			r.rest()
		}
		time.Sleep(time.Millisecond) // The page's goroutine has its turn.
	}
	b.StopTimer()
	require.NoError(b, stop())
	_ = answer.Body.Close()
	var median [3]float64
	for n := range took {
		slices.Sort(took[n])
		median[n] = took[n][len(took[n])/2]
	}
	interval := float64(rigs[0].server.Interval().Microseconds())
	b.ReportMetric(median[0], "bare-µs/tick")
	b.ReportMetric(median[1]-median[0], "nobody-µs/tick")
	b.ReportMetric(median[2]-median[1], "page-µs/tick")
	b.ReportMetric(100*(median[2]-median[1])/interval, "page-%-of-interval")
	b.ReportMetric(100*(median[2]-median[1])/median[1], "page-%-of-work")
}

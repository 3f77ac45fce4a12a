package load

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// TickTimes is the duration of the server's recent ticks.
type TickTimes struct {
	P50 time.Duration `json:"p50"` // Median.
	P99 time.Duration `json:"p99"` // 99th percentile.
	// Processor is the mean processor time of the server's process per tick. 0: unknown.
	Processor time.Duration `json:"processor"`
}

// Sample has the measurements of about one second, of all bots together.
type Sample struct {
	At        time.Duration `json:"at"`        // Since the start.
	Asked     int           `json:"asked"`     // Bots told to join.
	Connected int           `json:"connected"` // Bots connected.
	seconds   int           // Sum over samples: connected bots times seconds.
	Ramping   bool          `json:"ramping"` // Some bots have not joined yet.
	Up        uint64        `json:"up"`      // Bytes to the server, without headers of UDP and IP.
	Down      uint64        `json:"down"`    // Bytes from the server.
	RTT       Histogram     `json:"rtt"`     // Round trips, one per bot.
	State     Histogram     `json:"state"`   // Input to state.
	Late      Histogram     `json:"late"`    // Lateness of bots' frames.

	Ticks      TickTimes `json:"ticks"`                 // Zero: unknown.
	TicksFault string    `json:"ticks_fault,omitempty"` // Reason why Ticks is unknown.

	Failed  int           `json:"failed"`             // Bots whose connection, or attempt to connect, ended.
	First   string        `json:"first,omitempty"`    // The first of these, with the reason.
	FirstAt time.Duration `json:"first_at,omitempty"` // Time of First.
}

// fail counts a failed bot.
func (s *Sample) fail(why string, at time.Duration) {
	if s.Failed++; s.First == "" || at < s.FirstAt {
		s.First, s.FirstAt = why, at
	}
}

// merge adds the sample of other bots in the same second.
func (s *Sample) merge(o *Sample) {
	s.At = max(s.At, o.At)
	s.Asked += o.Asked
	s.Connected += o.Connected
	s.Ramping = s.Ramping || o.Ramping
	s.Up += o.Up
	s.Down += o.Down
	s.RTT.Merge(&o.RTT)
	s.State.Merge(&o.State)
	s.Late.Merge(&o.Late)
	if o.Failed > 0 {
		if s.First == "" || o.FirstAt < s.FirstAt {
			s.First, s.FirstAt = o.First, o.FirstAt
		}
		s.Failed += o.Failed
	}
}

// Report has the samples of a run and the results.
type Report struct {
	Asked   int           // Options.Bots.
	Bound   time.Duration // Options.Bound.
	ByWork  bool          // Options.ByWork.
	Samples []Sample      // One per second.
	Failed  int           // Bots whose connection, or attempt to connect, ended.
	First   string        // The first of these, with the reason; empty: none.
	FirstAt time.Duration // Time of First.
	// Holds is the largest number of bots that were connected in a second in which the server's ticks were within Bound and no
	// bot failed. It is 0 without a Bound.
	Holds int
	Full  bool // A limit was reached: tick time or a failure. Otherwise the server can serve more bots.

	above int // Consecutive seconds above the bound.
}

// mostAbove is the number of consecutive seconds above the bound that end a run. A single one may be noise of the machine.
const mostAbove = 3

// add adds a sample. It reports whether the run is over.
func (r *Report) add(s *Sample) (over bool) {
	r.Samples = append(r.Samples, *s)
	if s.Failed > 0 && r.Failed == 0 {
		r.First, r.FirstAt = s.First, s.FirstAt
	}
	r.Failed += s.Failed
	if r.Bound == 0 {
		return false
	}
	took := r.took(s)
	switch {
	case took > r.Bound:
		r.above++
	case took > 0: // A second without figures does not count: the server may be too busy to answer.
		r.above = 0
	}
	if r.above == 0 && r.Failed == 0 && took > 0 {
		r.Holds = max(r.Holds, s.Connected)
	}
	r.Full = r.above >= mostAbove || r.Failed > 0
	return r.Full
}

// took returns the tick time that Bound limits, 0 if unknown.
func (r *Report) took(s *Sample) time.Duration {
	if r.ByWork {
		return s.Ticks.Processor
	}
	return s.Ticks.P99
}

// known reports whether tick times were known in any second.
func (r *Report) known() bool {
	return slices.ContainsFunc(r.Samples, func(s Sample) bool { return r.took(&s) > 0 })
}

// Steady merges the samples in which all bots had joined, or all samples if there are none. Connected is the newest value, Ticks
// the worst.
func (r *Report) Steady() (sum Sample, seconds int) {
	last := -1
	for i := range r.Samples {
		if r.Samples[i].Ramping {
			last = i
		}
	}
	if last == len(r.Samples)-1 {
		last = -1
	}
	for i := last + 1; i < len(r.Samples); i++ {
		s := r.Samples[i]
		sum.merge(&s)
		sum.Ticks.P50, sum.Ticks.P99 = max(sum.Ticks.P50, s.Ticks.P50), max(sum.Ticks.P99, s.Ticks.P99)
		sum.Ticks.Processor = max(sum.Ticks.Processor, s.Ticks.Processor)
		sum.seconds += s.Connected
		seconds++
	}
	if seconds > 0 {
		newest := &r.Samples[len(r.Samples)-1]
		sum.Connected, sum.Asked = newest.Connected, newest.Asked
	}
	return sum, seconds
}

// Title is the header of the table whose lines Sample.Line returns.
const Title = "    s   bots  failed   tick p50/p99 ms   round trip p50/p99 ms   input to state p50/p99 ms   kB/s down/up a bot   late p99 ms"

// Line returns the sample as a line of text.
func (s *Sample) Line() string {
	ticks := "-"
	if s.Ticks.P99 > 0 {
		ticks = pair(s.Ticks.P50, s.Ticks.P99)
	}
	each := 1000 * float64(max(s.Connected, 1))
	return fmt.Sprintf("%5.0f %6d %7d   %15s   %21s   %25s   %18s   %11.1f", s.At.Seconds(), s.Connected, s.Failed, ticks,
		pair(s.RTT.At(.5), s.RTT.At(.99)), pair(s.State.At(.5), s.State.At(.99)),
		fmt.Sprintf("%.2f / %.2f", float64(s.Down)/each, float64(s.Up)/each), millis(s.Late.At(.99)))
}

func pair(a, b time.Duration) string { return fmt.Sprintf("%.2f / %.2f", millis(a), millis(b)) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// String returns a summary of the report.
func (r *Report) String() string {
	var b strings.Builder
	s, seconds := r.Steady()
	each := 1000 * float64(max(s.seconds, 1))
	fmt.Fprintf(&b, "%d of %d bots connected, over %d s\n", s.Connected, r.Asked, seconds)
	if s.Ticks.P99 > 0 {
		fmt.Fprintf(&b, "server tick     %s ms, p50 / p99 of the worst second; processor time %.2f ms\n", pair(s.Ticks.P50, s.Ticks.P99), millis(s.Ticks.Processor))
	}
	fmt.Fprintf(&b, "round trip      %s ms, p50 / p99\n", pair(s.RTT.At(.5), s.RTT.At(.99)))
	fmt.Fprintf(&b, "input to state  %s ms, p50 / p99\n", pair(s.State.At(.5), s.State.At(.99)))
	fmt.Fprintf(&b, "each bot        %.2f kB/s down, %.2f kB/s up\n", float64(s.Down)/each, float64(s.Up)/each)
	fmt.Fprintf(&b, "bots late       %.1f ms, p99: where it is more than a frame, the bots lack processors and the times above are theirs\n", millis(s.Late.At(.99)))
	if r.First != "" {
		fmt.Fprintf(&b, "first failure   after %.1f s, %s; %d in all\n", r.FirstAt.Seconds(), r.First, r.Failed)
	} else {
		fmt.Fprintf(&b, "first failure   none\n")
	}
	of := "at the 99th percentile"
	if r.ByWork {
		of = "of processor time"
	}
	switch {
	case r.Bound > 0 && r.Full:
		fmt.Fprintf(&b, "this machine holds %d players: ticks within %v %s, and nobody failed\n", r.Holds, r.Bound, of)
	case r.Bound > 0 && !r.known():
		fmt.Fprintf(&b, "the server's ticks were never known: %s\n", r.lastFault())
	case r.Bound > 0 && r.Holds == 0:
		fmt.Fprintf(&b, "no second was within %v %s with a bot connected: let them play for longer\n", r.Bound, of)
	case r.Bound > 0:
		fmt.Fprintf(&b, "this machine holds %d players or more: ask for more bots\n", r.Holds)
	}
	return b.String()
}

// lastFault returns the reason why tick times are unknown.
func (r *Report) lastFault() string {
	for i := len(r.Samples) - 1; i >= 0; i-- {
		if f := r.Samples[i].TicksFault; f != "" {
			return f
		}
	}
	if len(r.Samples) > 0 {
		return "the inspector told none"
	}
	return "the run was over before the first second"
}

package peer

import "time"

const (
	// firstTimeout stands for 1.25 × RTT + jitter until there is a sample.
	firstTimeout = 250 * time.Millisecond
	// maxSample bounds one sample, so that a remote end which holds its
	// acknowledgements back cannot make this end keep its past for ever.
	maxSample = 5 * time.Second
)

// roundTrip estimates how long it takes until an acknowledgement is back, the
// remote end's wait for its next tick included (RFC 6298 §2, without its
// multiple of the variation).
type roundTrip struct {
	smoothed time.Duration
	jitter   time.Duration // smoothed mean deviation from smoothed
	sampled  bool
}

func (r *roundTrip) sample(took time.Duration) {
	took = min(max(took, 0), maxSample)
	if !r.sampled {
		r.sampled = true
		r.smoothed, r.jitter = took, took/2
		return
	}
	off := took - r.smoothed
	if off < 0 {
		off = -off
	}
	r.jitter += (off - r.jitter) / 4
	r.smoothed += (took - r.smoothed) / 8
}

// timeout returns the time that an acknowledgement may take before its packet counts as
// lost (docs/design.md, rule 8). The interval of a tick comes on top: samples are
// spread over one, and on a fast link that is all there is.
func (r *roundTrip) timeout(interval time.Duration) time.Duration {
	if !r.sampled {
		return firstTimeout + interval
	}
	return r.smoothed + r.smoothed/4 + r.jitter + interval
}

const (
	// leastBroken is the shortest silence in which an end can have stood still: what
	// is shorter moves the estimate by an eighth of it at most.
	leastBroken = time.Second
	// brokenBy is the factor over the usual silence from which one counts.
	brokenBy = 4
)

// silence estimates the usual silence: the smoothed time from one moment
// at which packets were accepted to the next.
//
// In a much longer one an end stood still, or the network did, and packets lay in
// a socket. Those that were sent before it ended give no sample of the round trip,
// which an end that sends little would use for long. Silence that comes again
// and again is soon the usual one, or comes while a last one is still counted: the
// samples never end.
type silence struct {
	usual time.Duration
	until time.Duration // until then no other one is counted
}

func (s *silence) broken(gap time.Duration) bool {
	return gap > max(leastBroken, brokenBy*s.usual)
}

func (s *silence) add(gap time.Duration) { s.usual += (gap - s.usual) / 8 }

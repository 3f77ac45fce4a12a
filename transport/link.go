package transport

import (
	"slices"
	"time"
)

// defaultReorderDelay is longer than three frames at 30 Hz, so that a datagram held back is really overtaken.
const defaultReorderDelay = 100 * time.Millisecond

// Link describes the network that datagrams cross on their way into a Conditioner. The zero value is a perfect link.
// Probabilities are per datagram, from 0 to 1; what lies outside counts as 0 or 1, NaN as 0.
type Link struct {
	Delay        time.Duration // one way; half of the round trip when both ends are conditioned alike
	Jitter       time.Duration // spread around Delay, even between -Jitter and +Jitter; it does not change the order
	Loss         float64       // probability that a datagram is lost, each on its own
	BurstLoss    Burst         // losses that come in rows, on top of Loss
	Duplicate    float64       // probability that a datagram arrives twice
	Reorder      float64       // probability that a datagram is held back while later ones overtake it
	ReorderDelay time.Duration // longest time that it is held back, at least half of it; 0 means 100 ms
	Corrupt      float64       // probability that bytes change; one in eight of these is cut short instead
	MTU          int           // datagrams longer than this many bytes are dropped; 0 means no limit
	Rate         int           // bytes per second and sender, headers included, with a queue of 250 ms; 0 means no limit
	Down         bool          // nothing enters
	Blackouts    []Interval    // times at which nothing enters, on the clock of the Conditioner
}

// Burst is the loss model of Gilbert and Elliott in its simple form: in the good state nothing is lost, in the bad state
// everything is. The loss it causes is Enter*Length / (1 + Enter*Length) of all datagrams.
type Burst struct {
	Enter  float64 // probability per datagram that a burst begins with it; 0 means no bursts
	Length float64 // mean number of datagrams lost in one burst; less than 1 counts as 1
}

// Interval is a span of time on the clock of a Conditioner: From belongs to it, Until does not.
type Interval struct {
	From, Until time.Duration // since the clock's beginning
}

// normalised returns a copy of the link that later changes of the caller's slice do not reach and whose times make sense.
func (l Link) normalised() Link {
	l.Delay = max(l.Delay, 0)
	l.Jitter = max(l.Jitter, 0)
	if l.ReorderDelay <= 0 {
		l.ReorderDelay = defaultReorderDelay
	}
	l.BurstLoss.Length = max(l.BurstLoss.Length, 1)
	l.Blackouts = slices.Clone(l.Blackouts)
	return l
}

// dark reports whether nothing enters the link at this time.
func (l *Link) dark(now time.Duration) bool {
	if l.Down {
		return true
	}
	for _, b := range l.Blackouts {
		if now >= b.From && now < b.Until {
			return true
		}
	}
	return false
}

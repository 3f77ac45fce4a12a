package nettest

import "time"

// clock returns the clock of a client.
func (n *Net) clock(i int) func() time.Duration {
	if n.config.ClientClock == nil {
		return n.Now
	}
	return func() time.Duration { return n.config.ClientClock(i, n.now) }
}

// beat is the even frames of an end.
type beat struct {
	rate int64
	next int64 // The number of the next frame, from 1 at the start of the Net.
}

// newBeat returns the frames of rate a second that begin after now.
func newBeat(rate int, now time.Duration) beat {
	b := beat{rate: int64(rate), next: int64(now/time.Second)*int64(rate) + int64(now%time.Second)*int64(rate)/int64(time.Second) + 1}
	for b.at() <= now { // The last frame began at a rounded time.
		b.next++
	}
	return b
}

// at returns the time of the next frame.
func (b *beat) at() time.Duration {
	return time.Duration(b.next/b.rate)*time.Second + time.Duration(b.next%b.rate)*time.Second/time.Duration(b.rate)
}

// due reports whether a frame begins now, and goes on to the next.
func (b *beat) due(now time.Duration) bool {
	if b.at() > now {
		return false
	}
	b.next++
	return true
}

// next returns the time of the next frame of any end.
func (n *Net) next() time.Duration {
	at := n.Server.beat.at()
	for _, c := range n.Clients {
		at = min(at, c.beat.at())
	}
	for _, c := range n.guests {
		at = min(at, c.beat.at())
	}
	return at
}

// Suspend stops a client's frames until Wake, like a browser tab in the background. Time continues, and datagrams wait in its
// socket.
func (n *Net) Suspend(c *Client) { c.asleep = true }

// Wake resumes a suspended client.
func (n *Net) Wake(c *Client) { c.asleep = false }

// SuspendServer stops the server, as SIGSTOP does, until WakeServer.
func (n *Net) SuspendServer() { n.Server.asleep = true }

// WakeServer resumes a suspended server.
func (n *Net) WakeServer() { n.Server.asleep = false }

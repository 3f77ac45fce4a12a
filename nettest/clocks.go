package nettest

import "time"

// clock is the clock of a client.
func (n *Net) clock(i int) func() time.Duration {
	if n.config.ClientClock == nil {
		return n.Now
	}
	return func() time.Duration { return n.config.ClientClock(i, n.now) }
}

// Suspend lets a client take no frames until Wake, as a tab in the background does. Time goes on, and what arrives
// waits in its socket.
func (n *Net) Suspend(c *Client) { c.asleep = true }

// Wake lets a suspended client go on.
func (n *Net) Wake(c *Client) { c.asleep = false }

// SuspendServer stops the server as SIGSTOP would, and WakeServer lets it go on.
func (n *Net) SuspendServer() { n.Server.asleep = true }

// WakeServer lets a suspended server go on.
func (n *Net) WakeServer() { n.Server.asleep = false }

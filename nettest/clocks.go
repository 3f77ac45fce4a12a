package nettest

import "time"

// clock returns the clock of a client.
func (n *Net) clock(i int) func() time.Duration {
	if n.config.ClientClock == nil {
		return n.Now
	}
	return func() time.Duration { return n.config.ClientClock(i, n.now) }
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

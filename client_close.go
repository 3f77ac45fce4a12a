package netcode

import (
	"log/slog"

	"github.com/arche-netcode/netcode/peer"
)

// Close ends the connection, or the attempt. OnDisconnect follows with peer.ReasonClosed; the frames that follow deliver
// what was sent, for Config.FlushTimeout at most, and tell the server, until State is Disconnected. The server handles the
// reliable messages that it has accepted, also those that wait for a stage or a tick, for its Config.LeaveTimeout at most;
// its OnDisconnect follows on that. Nothing that arrives or waits here is handled any more. What the server showed stays in
// Replica until the next connection.
//
// After the server closed, while what it had sent is still handled (State is Closing), Close ends that: OnDisconnect follows
// with the server's reason.
func (c *Client) Close() {
	switch c.state {
	case Connecting:
		c.end(&peer.Error{Reason: peer.ReasonClosed})
	case Connected:
		c.part(&peer.Error{Reason: peer.ReasonClosed}, true)
	case Closing:
		if c.leaving {
			c.end(c.reason)
		}
	}
	c.events.fire()
}

// Closed tells if there is no connection and none under way or being ended; then frames are not needed any more.
func (c *Client) Closed() bool { return c.state == Disconnected }

// part ends the connection and tells the server why, with flush after what was sent before is delivered.
func (c *Client) part(reason *peer.Error, flush bool) {
	if c.host != nil {
		c.unhost(reason)
		return
	}
	if flush {
		c.releaseLast(&c.link, nil)
	}
	c.dropEarly()
	c.over(reason)
	c.state = Closing
	c.doors.shut(0)
	c.link.part(reason, flush)
}

// End ends the connection at once and tells the server the reason, for extensions.
func (c *Client) End(reason *CloseError) {
	if reason.Reason == peer.ReasonTooManyEntities {
		c.stats.TooManyEntities++
	}
	c.part(reason, false)
}

// end ends the connection or the attempt without telling the server.
func (c *Client) end(reason *peer.Error) {
	c.over(reason)
	c.drop()
}

// over tells the game that the connection, or the attempt, is over.
func (c *Client) over(reason *peer.Error) {
	c.err = reason
	c.gone(&c.link)
	if c.state == Connected || c.leaving {
		c.stats.Disconnected++
		call(c.hooks.closed)
	}
	c.events.waiting = append(c.events.waiting, event{client: c.id, reason: reason})
	if c.report.Enabled(slog.LevelInfo) {
		c.report.Log(slog.LevelInfo, "disconnected", "server", c.attempt.server, "reason", reason.Error())
	}
}

// drop forgets the connection.
func (c *Client) drop() {
	c.time.stop()
	c.dropEarly()
	c.leaving = false
	if c.conn != nil {
		c.ended.Add(c.conn.Stats())
		c.outgoing.Clear()
		c.conn = nil
	}
	c.state = Disconnected
	c.doors.shut(0)
}

package netcode

// ReceivedIn is the messages that came or waited in a frame: 0 is the present one, 1 the one before, up to Config.History.
// It is nil for a frame that is not kept, and good until the next BeginFrame.
func (s *Server) ReceivedIn(past int) *History { return s.inbound.Past(past) }

// SentIn is the messages that were sent in a frame, as for ReceivedIn; one to several is there once for each. Without
// Config.History there are none.
func (s *Server) SentIn(past int) *History { return s.outbound.Past(past) }

// Redeliver hands the messages that were handled in a frame of the history to their handlers once more, in the same order,
// and returns how many; calls are left out. What the handlers send goes out again.
func (s *Server) Redeliver(past int) int { return s.inbound.Redeliver(past) }

// ReceivedIn is the messages that came or waited in a frame: 0 is the present one, 1 the one before, up to Config.History.
// It is nil for a frame that is not kept, and good until the next BeginFrame.
func (c *Client) ReceivedIn(past int) *History { return c.inbound.Past(past) }

// SentIn is the messages that were sent in a frame, as for ReceivedIn. Without Config.History there are none.
func (c *Client) SentIn(past int) *History { return c.outbound.Past(past) }

// Redeliver hands the messages that were handled in a frame of the history to their handlers once more, in the same order,
// and returns how many; calls are left out. What the handlers send goes out again.
func (c *Client) Redeliver(past int) int {
	c.redelivers = true
	defer func() { c.redelivers = false }()
	return c.inbound.Redeliver(past)
}

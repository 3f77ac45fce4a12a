package netcode

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
)

// ServerTime estimates the server's time now: the tick that has begun there, and the part of it that has passed. It is the zero Time
// before the first connection. It may step back a little when the client learns better, so shown values should not follow it: use
// Present.
func (c *Client) ServerTime() tick.Time {
	if c.host != nil {
		return c.host.Tick().Begin()
	}
	return c.time.Sync.Server(c.time.Raw)
}

// Time is the clock of the client's inputs. It is just far enough ahead of ServerTime that an input arrives before its tick
// begins there. It corrects itself by running up to 5 % faster or slower than the server; it jumps only when it is off by more
// than 250 ms. It is the zero Time before the first connection.
func (c *Client) Time() tick.Time {
	if c.host != nil {
		return c.host.Tick().Begin()
	}
	c.advanceTime()
	return c.time.Sync.Input()
}

// Steps counts the ticks of Time that begin in this frame. The last is Time().Tick. A game that predicts runs so many steps of its
// simulation. It is mostly 1 where the frame rate is the tick rate and systems.Runner, or a loop that minds
// Pace, keeps the two in step; 0 or 2 now and then otherwise. After a stall there are Config.CatchUp at most.
func (c *Client) Steps() int {
	if c.host != nil {
		return c.host.Steps()
	}
	c.advanceTime()
	return c.time.Steps
}

// Present returns the moment of the server's past that this frame shows. It is late enough that most of the server's state of
// that moment has arrived; the delay follows the measured jitter and loss. It never goes back within a connection, runs up to
// 5 % faster or slower than time, and stands still when nothing comes for longer than three times Config.Pulse. It is the
// zero Time before anything has arrived.
//
// Ask for it after Receive; all of a frame gets one answer.
func (c *Client) Present() tick.Time {
	if c.host != nil {
		return c.host.store.Tick().Begin()
	}
	return c.time.Present()
}

// PresentDelay is the distance of Present behind the newest tick that arrived, carried on to this frame; 0 before anything has
// arrived. At the tick rate, its Duration is what interpolation adds to the way through the network.
func (c *Client) PresentDelay() tick.Span {
	c.time.Present()
	return c.time.Shown.Delay()
}

// SetPresentDelay bounds PresentDelay, in time. Without it the delay follows the measured jitter and loss, up to 1 s. A larger least
// shows older state and hides bursts of losses. A smaller most shows newer state and extrapolates missing values. Equal values fix the
// delay. It counts for this and later connections; Present moves to it by 5 %. It panics unless 0 <= least <= most and most is above 0.
func (c *Client) SetPresentDelay(least, most time.Duration) {
	if least < 0 || most <= 0 || most < least {
		panic(fmt.Sprintf("netcode: Client.SetPresentDelay(%v, %v): the bounds are 0 <= least <= most, and most is above 0", least, most))
	}
	c.time.SetDelay(least, most)
}

// Pace is the factor num/den, within 12 % of 1, by which a loop should run faster than its nominal frame rate until the next frame.
// It keeps the frames in step with the ticks of Time. systems.Runner obeys it. A loop of your own waits its frame time × den / num.
// A loop at the pace of a display ignores it and asks Steps.
func (c *Client) Pace() (num, den int64) {
	if !c.time.Running {
		return 1, 1
	}
	return c.time.Sync.Factor()
}

// TickRate is the number of network ticks a second: the server's, once connected.
func (c *Client) TickRate() int { return c.agreed.TickRate }

// Lead is the distance of Time ahead of the server's ticks as packets show them: the round trip and the margin for inputs.
func (c *Client) Lead() tick.Span { return c.time.Sync.Lead() }

// advanceTime moves the input clock, once a frame.
func (c *Client) advanceTime() {
	if c.link.Conn != nil && (c.state == Connected || c.leaving) {
		c.time.Advance(c.link.Conn.RTT())
	}
}

// endTime moves both clocks in every frame, even if the game has not asked for them.
func (c *Client) endTime() {
	c.advanceTime()
	if c.state == Connected || c.leaving {
		c.time.Present()
	}
}

// noteServerTick records the server's tick of an accepted packet. After a padded pulse state may be missing. Then no tick
// around it counts as complete, as after a missing packet.
func (c *Client) noteServerTick(in *peer.Incoming, content *endpoint.Contents) {
	server := tick.None
	switch {
	case content.Snapshot != nil:
		server = replica.PayloadTick(content.Snapshot, c.time.Newest)
	case content.Pulsed:
		if server = max(tick.Near(content.Pulse, c.time.Newest), tick.None); !content.Idle {
			c.time.Tell(server)
			return
		}
	}
	n, newest := c.time.Hear(in.Sequence, server, c.back.newest != nil && !content.Idle), c.newest()
	if n.Doubt != tick.None {
		newest.ClearComplete(n.Doubt)
	}
	if newest.MarkComplete(n.From, n.To); content.Idle {
		newest.MarkComplete(server, server+1) // The server had nothing to send in it.
	}
}

// TellSlip tells the clocks that the server gave up ticks after a stall: from a tick on, ticks began later by that many ticks than those before
// had shown. low is the 16 low bits of the tick. What was measured before still counts, moved by as much. Time jumps back if the slip is
// longer than 50 ms: its ticks repeat with newer inputs. Present stands still for as long.
func (c clientInside) TellSlip(low uint16, ticks uint16) {
	if c.time.Running {
		c.time.Slip(tick.Near(low, c.time.Newest), tick.Ticks(tick.Tick(ticks)))
		c.link.Conn.Control.Slept()
	}
}

// AdjustTime tells the clock of Time how early the client's input for a tick came to the server: before the tick began there,
// or after it if early is below 0. low is the 16 low bits of the tick. The clock runs just far enough ahead that inputs come in time.
func (c clientInside) AdjustTime(low uint16, early tick.Span) {
	if c.time.Running {
		c.time.Sync.Feedback(tick.Near(low, c.time.Sync.Tick()), early)
	}
}

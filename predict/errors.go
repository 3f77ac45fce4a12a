package predict

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// StoodError means that what a client predicts stood still in eight frames of a connection, and then jumps: the client's tick is farther ahead
// of the newest state that arrived than its history reaches. OnError of the client gets it once a connection; Stats.Stood counts the frames.
// The way out is a lower Config.TickRate, a shorter way to the server, or Config.InputDelay of the simulation, by which it predicts less far
// ahead. A line that was interrupted has the same effect, for as long as that.
type StoodError struct {
	Ahead    int // The ticks from the newest known state to the client's tick: Window or more.
	TickRate int // Ticks per second.
}

// Error implements error.
func (e *StoodError) Error() string {
	ahead := tick.Ticks(tick.Tick(e.Ahead)).Duration(e.TickRate).Round(time.Millisecond)
	most := tick.Ticks(Window).Duration(e.TickRate).Round(time.Millisecond)
	return fmt.Sprintf("netcode: the prediction stood: the client's tick is %d ticks (%v) ahead of the newest state of the server, and the history "+
		"has %d ticks, which are %v at %d a second: lower Config.TickRate of the server, or set InputDelay, for players with such a round trip",
		e.Ahead, ahead, Window, most, e.TickRate)
}

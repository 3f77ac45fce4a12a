// Package tick says which step it is: numbered network ticks, the stages of a frame, the clock that turns time into ticks;
// and, where two ends must agree on it, what the server's time is (Sync), for which tick to make inputs (Sync), which moment to
// show (Presentation), and which ticks a client may send inputs for (Window).
//
// Nothing here reads a clock: the time is an argument, counted from any fixed moment. Game time is a whole tick with a
// fraction beside it (Time), and a length of it is a fixed-point number (Span): a float never names a moment, so nothing
// depends on how long a server runs.
//
// Words owned here (docs/design.md):
//   - frame: one turn of the game loop;
//   - stage: a point in the frame;
//   - tick: one network step, numbered from 1.
//
// # Files
//
//   - time.go: Tick, Time, Span and their arithmetic
//   - stage.go: the stages of a frame
//   - clock.go: time to due ticks; after a stall a clock catches up or slips; the present moment of one end, and stalls of its process
//   - clocks.go: all clocks of a client, one frame at a time
//   - sync.go: the server's time and the input clock, at a client; jumps and restarts, as after a stall
//   - drift.go: how much faster another clock runs, from the earliest packets
//   - presentation.go: which moment a client shows
//   - arrivals.go: which ticks arrived
//   - window.go: which ticks a server takes inputs for
package tick

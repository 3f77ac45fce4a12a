// Package tick has the time of the network: numbered ticks, the stages of a frame, and the clock that turns time into
// ticks. Three types let two ends agree on the time:
//
//   - Sync: the server's time, and the tick to make inputs for
//   - Presentation: the moment that a client shows
//   - Window: the ticks whose inputs a server accepts
//
// Nothing here reads a clock: the time is an argument, counted from any fixed moment. Game time is a whole tick with a
// fraction (Time). A length of game time is a fixed-point number (Span). No moment is a float, so that precision does not
// depend on how long a server runs.
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
//   - clock.go: Clock turns time into due ticks; Frame is the present moment of one end, with stalls of its process
//   - sync.go: the server's time and the input clock, at a client; their jumps and restarts, as after a stall
//   - drift.go: the drift between two clocks, from the earliest packets
//   - presentation.go: the moment that a client shows
//   - arrivals.go: the ticks that arrived completely
//   - clocks.go: all clocks of a client, one frame at a time
//   - window.go: the ticks whose inputs a server accepts
package tick

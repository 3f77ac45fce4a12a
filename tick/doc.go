// Package tick says which step it is: numbered network ticks, the stages of a frame, the clock that
// turns time into ticks and the ring that keeps something for each of the newest ticks.
//
// Words owned here (docs/design.md):
//   - frame: one turn of the game loop;
//   - stage: a point in the frame;
//   - tick: one network step, numbered from 1.
package tick

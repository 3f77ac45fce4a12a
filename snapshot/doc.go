// Package snapshot keeps the world's state by tick and knows, for every
// client, what that client still lacks.
//
// The words it owns (docs/design.md):
//
//   - row: one component of one entity, held as its quantised lanes
//   - version: a row's value as of a tick
//   - snapshot: the rows of a tick, as one message
//   - baseline: the version a client has proved, by an acknowledgement, to hold
//   - visible: whether a client may see an entity at all
//   - life: the time between two ends of an entity's visibility at one client;
//     what was acknowledged in an earlier life is worth nothing in a later one
//
// [Store] is the server's newest state of everything. [View] is what one client
// lacks of it: it writes snapshots and learns from acknowledgements. [Replica]
// is the client's side: it decodes snapshots and keeps the past that later ones
// lean on. None of them does I/O, starts a goroutine or reads a clock.
package snapshot

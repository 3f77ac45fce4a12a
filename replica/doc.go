// Package replica is the client's half of a snapshot: it decodes what a snapshot.View writes.
//
// [Replica] decodes payloads, whole or not at all, and stores each decoded version by tick, so that later records can be coded against
// it. It has the newest rows of every entity, for a bridge to apply. It does no I/O, starts no goroutine and reads no clock.
//
// A rule with a number, as (rule 1), is one of docs/design.md, The rules of replication.
//
// # Words
//
//   - version: all rows of an entity as one decoded record left them
//   - life: one generation of one network index, as this end knows it
//   - evicted version: the newest version of a life that has left the history; its rows stay
//   - tombstone: a life that ended; it is kept as long as a packet on its way may be about it
//   - range: entities with consecutive indexes, equal rows, and lanes that follow each other
//   - sample: an entity around a moment, for interpolation
//
// # Files
//
//   - replica.go: lives, and how a decoded payload takes effect
//   - decode.go: the payload; decode_batch.go is its fast path
//   - versions.go: the history of decoded versions, by tick
//   - ranges.go: what changed, and the newest rows; records.go: the records of a tick
//   - sample.go: entities around a moment
//   - bands.go: rows of distance bands, read as rows of their components
//   - errors.go: errors; dump.go: payloads as text, and their bits by purpose
package replica

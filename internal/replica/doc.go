// Package replica is the client's part of replication: it decodes the payloads that a snapshot.View writes.
//
// [Replica] decodes a payload whole or not at all. It stores each decoded version by tick, so that later records can be
// coded against it. It has the newest rows of every entity, for a bridge to apply. It does no I/O, starts no goroutine
// and reads no clock.
//
// A rule with a number, as (rule 1), is one of docs/design.md, The rules of replication.
//
// # Words
//
//   - version: all rows of an entity after one decoded record
//   - life: one generation of one network index, as this end received it
//   - evicted version: the newest version of a life that has left the history; its rows are stored apart
//   - tombstone: a life that ended; it is stored as long as a packet in flight may refer to it
//   - T′: the previous baseline, in code previous; T is the baseline
//   - sample: an entity around a moment, for interpolation
//
// # Which rows, and where
//
//   - [IndexRange], of Changed and ChangedRanges: consecutive indexes that changed
//   - [EntityRange], of Replica.RangeAt (newest state) and Records.RangeAt (a tick): such entities with equal rows and consecutive lanes
//   - Replica.Lanes: a row of all entities of an EntityRange
//   - Replica.Row and Replica.RowAt: a row of one entity, the newest and that of a tick
//
// # Files
//
//   - replica.go: lives, and how a decoded payload takes effect
//   - decode.go: decoding of a payload; decode_batch.go is its fast path
//   - versions.go: the history of decoded versions, by tick
//   - ranges.go: changed entities, and their newest rows
//   - records.go: the records of a tick
//   - sample.go: entities around a moment
//   - bands.go: rows of distance bands, converted to rows of their components
//   - errors.go: errors
//   - observer.go: payloads as text, and their bits: an observer of the decoder
package replica

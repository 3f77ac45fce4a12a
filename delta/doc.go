// Package delta encodes rows as their differences from versions that both ends have.
//
// Words owned here:
//   - baseline, T: the version of a row that a delta is against, and its tick;
//   - previous baseline, T': the version that the baseline itself was encoded against; two versions give a movement;
//   - age, span: the ticks from T to the row's own tick, and from T' to T;
//   - extrapolation: what a lane is expected to be, from both baselines;
//   - token: the code of the distance of a lane from its extrapolation;
//   - miss: how far off the lane before was; it is part of the next token's context;
//   - code: a prefix code; table: one code for each context; trainer: what counts symbols and builds tables;
//   - row class: a kind of rows with a faster encoder of its own;
//   - batch: up to MaxStreams deltas that are encoded side by side, each into a stream of bits of its own;
//   - symbol reader, row group, row reader: the same for decoding: rows are extrapolated together, before the first bit is read.
//
// A delta depends on the three versions and their ticks alone: its bits are the same for every client with the same baselines.
//
// # Files
//
//   - delta.go: Delta: the groups, lanes and tables of a plan
//   - code.go: encodes and decodes one row: the plain code that all others equal
//   - tail.go: texts and lists
//   - batch.go: encodes several rows of one component side by side
//   - floats.go: encodes bodies of nothing but exact floats
//   - row_reader.go: decodes rows that are extrapolated together, in assembly where the processor can
//   - row_class.go: faster code for rows of floats
//   - quaternion.go: extrapolates rotations
//   - prefix_code.go, tables.go: codes, and tables of codes
//   - trainer.go: counts symbols, builds tables
//   - bit_buffer.go: the bits of one entity
package delta

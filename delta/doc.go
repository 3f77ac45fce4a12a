// Package delta encodes rows as differences from versions that both ends have (delta compression).
//
// Words owned here:
//   - baseline, T: the version that a delta is coded against, and its tick;
//   - previous baseline, T': the version that the baseline itself was coded against; both give the movement;
//   - age, span: the ticks from T to the row's own tick, and from T' to T;
//   - extrapolation: the expected value of a lane, computed from both baselines;
//   - token: the code of the distance of a lane from its extrapolation;
//   - miss: size class of the previous lane's distance; part of the next token's context;
//   - code: a prefix code; table: one code per context; trainer: counts symbols and builds tables;
//   - row class: rows with their own fast encoder;
//   - batch: up to MaxStreams deltas that are encoded side by side, each into its own stream of bits;
//   - row group, row reader, symbol reader: the same for decoding; rows are extrapolated together before the first bit is read.
//
// A delta depends only on the three versions and their ticks: its bits are the same for every client with the same baselines.
//
// # Files
//
//   - delta.go: Delta: groups, lanes and tables of a plan
//   - code.go: encodes and decodes one row: the plain path that defines the result
//   - tail.go: encodes texts and lists
//   - batch.go: encodes several rows of one component side by side
//   - floats.go: encodes entities with only exact float rows
//   - row_reader.go: decodes rows that are extrapolated together; float_reader.go: those of only floats
//   - row_class.go: classes of rows with faster code
//   - quaternion.go: extrapolates rotations; spin.go: those of four exact floats, which package quantize chooses
//   - prefix_code.go, tables.go: prefix codes, and tables of codes
//   - trainer.go: counts symbols, builds tables
//   - bit_buffer.go: collects the bits of one entity
package delta

// Package quantize converts components to rows of integers (lanes) and back.
//
// Words owned here:
//   - plan: a component type, compiled once: which fields are sent, and how;
//   - field: one value of a component that is sent;
//   - row: one component of one entity, quantised;
//   - lane: one number of a row, of up to 32 bits; most fields have one, a 64-bit number has two, a quaternion four;
//   - absolute row: a row that is sent whole, without a baseline;
//   - run: similar rows in one message, each after the first as its difference from the previous row;
//   - tail: the texts and lists of a row, after its other lanes, in their present length instead of the maximum;
//   - fault: a problem in a value that the game wrote;
//   - model: how a lane is extrapolated from earlier versions of its row (T and T', see package delta);
//   - blend: a value interpolated between two versions of a row, for display.
//
// Quantise and Dequantise never allocate. The same row gives the same bytes on every machine.
//
// # Files
//
//   - compile.go, parse.go: compile a Go type with its tags, or a description, into a plan
//   - coarse.go: plans with larger steps
//   - older.go: plans of components of an older build
//   - deviation.go: compares rows field by field, with a tolerance
//   - plan.go: Plan and its properties
//   - field.go: converts one field to lanes and back: rounding, ranges, angles, rotations
//   - unsafe.go: accesses components in memory: Quantise, Dequantise, Compare; Conversion to rows of a band or an older build
//   - columns.go: Quantise, Dequantise and the clamps of the world's own values (SnapRows) for many rows of one component
//   - row.go: encodes absolute rows and runs
//   - tail.go: encodes texts and lists
//   - entity.go: entity fields and relations
//   - extrapolate.go: selects the extrapolation model of each lane, and which four floats are a rotation
//   - blend.go: interpolates between two versions
//   - describe.go: the canonical text of plans; the debug encoding
package quantize

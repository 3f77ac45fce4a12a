// Package quantize turns components into rows of whole numbers and back.
//
// Words owned here:
//   - plan: a component type, compiled once: which fields are sent, and how;
//   - field: one value of a component that is sent;
//   - row: one component of one entity, quantised;
//   - lane: one number of a row, of up to 32 bits; most fields have one, a 64-bit number has two, a quaternion four;
//   - absolute row: a row that is sent whole, without a baseline;
//   - run: similar rows in one message, each after the first as its difference from the one before;
//   - tail: the texts and lists of a row, behind its other lanes: as long as they are, not as long as they may be;
//   - fault: what was wrong with a value that the game wrote;
//   - model: how a lane is extrapolated from earlier versions of its row (T and T', see package delta);
//   - blend: a value between two versions of a row, for the eye;
//
// Quantise and Dequantise never allocate. The same row gives the same bytes on every machine.
//
// # Files
//
//   - compile.go, parse.go: a type and its tags, or a description, to a plan
//   - coarse.go: plans with larger steps
//   - older.go: plans of a component as it was in an older build
//   - deviation.go: how far a value is from another, field by field; the first difference beyond a tolerance
//   - plan.go: what a plan tells
//   - field.go: rounding, ranges, angles and rotations: one field to lanes and back
//   - unsafe.go: the memory of a component: Quantise, Dequantise, Compare; Conversion of a row to that of a band or an older build
//   - columns.go: many rows of one component at once, as one does by one
//   - snap.go: rotations that become those that travel, many at once
//   - row.go: absolute rows and runs in bits
//   - tail.go: texts and lists
//   - entity.go: entity fields and relations
//   - extrapolate.go: models of lanes
//   - blend.go: values between two versions: numbers, angles the shorter way, rotations
//   - describe.go: plans as text; markers of debug builds
package quantize

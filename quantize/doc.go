// Package quantize turns components into rows of whole numbers and back.
//
// Words owned here:
//   - plan: a component type, compiled once: which fields are sent, and how;
//   - field: one value of a component that is sent;
//   - row: one component of one entity, quantised;
//   - lane: one number of a row, of up to 32 bits; most fields have one, a 64-bit number has two, a quaternion four;
//   - absolute row: a row that is sent whole, without a baseline;
//   - run: similar rows in one message, each after the first as its difference from the one before;
//   - fault: what was wrong with a value that the game wrote;
//   - model: how a lane is extrapolated from earlier versions of its row (T and T', see package delta);
//   - blend: a value between two versions of a row, for the eye;
//   - layout: a struct type that is sent whole and exactly.
//
// Quantise and Dequantise never allocate. The same row gives the same bytes on every machine.
package quantize

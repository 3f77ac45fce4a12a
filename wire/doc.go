// Package wire puts values into bytes and takes them out again: byte and bit streams, varints,
// sequences, packet, batch and message headers, the checksum, and the plan by which a component's
// fields become a quantised row.
//
// Words owned here (docs/design.md):
//   - packet: one datagram;
//   - message: one registered value with a type;
//   - batch: the messages of one packet;
//   - sequence: a packet's number;
//   - ack, ack bits: which sequences arrived;
//   - row: one component of one entity;
//   - field: one quantised number of a row.
//
// Writers trust their caller and panic on misuse, never on data. Readers trust nothing: they have one
// sticky error, never panic, and accept one encoding of every value.
package wire

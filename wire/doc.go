// Package wire writes values into bytes and reads them back: byte and bit streams, varints, headers, the checksum, serializers and compression.
//
// Words owned here (docs/design.md):
//   - packet: one datagram;
//   - message: one registered value with a type;
//   - batch: the messages of one packet on one channel;
//   - channel: a line of messages of one mode of delivery;
//   - sequence: the number of a packet;
//   - ack, ack bits: the sequences that arrived;
//   - network id: identifies an entity on every machine;
//   - half, snorm8: a float in 16 bits, and one within [-1, 1] in 8 bits;
//   - serializer: one function that writes, reads or measures a value;
//   - value: a value of a type without pointers, sent as a whole;
//   - text, list ([Text], [List]): a string and a slice of bounded length without a pointer; [TextArray] and [ListArray] are their memory.
//
// Writers trust their caller and panic on misuse, never on data. Readers trust nothing: they have one sticky error, never panic, and accept one encoding of
// every value.
//
// # Files
//
//   - bytes.go, array.go, varint.go: Writer and Reader of numbers, arrays and strings
//   - bits.go: BitWriter and BitReader
//   - float.go: half, snorm8, floats in steps
//   - header.go: packet, batch and message headers; channels and modes of delivery
//   - text.go, list.go: texts and lists in components
//   - ids.go: network ids, client ids, names; limits.go: the limits of servers and clients; packet_stats.go: counters of a connection
//   - checksum.go: the checksum of a packet
//   - serializer.go, serialize.go, value.go: one function to read, write and measure; lists and optional values; types that are sent as a whole
//   - layout.go, explore.go: the layout of such a function, found by running it
//   - compress.go: compresses payloads
//   - dump.go: prints packets as text
//   - formats.go, errors.go: the encodings of values; errors
package wire

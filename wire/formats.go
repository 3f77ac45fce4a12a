// Encodings of values that games may use in messages. netcode itself sends none of them. The rules of PROTOCOL.md, section 9,
// hold: fixed-width integers are little-endian, and each value has one legal encoding. A reader refuses every other encoding,
// truncated values, and whole values followed by further bytes.
//
// # Byte streams
//
//   - half: 2 bytes, IEEE 754 binary16 (sign 1, exponent 5, fraction 10). Infinities and NaN (exponent 31) are illegal; -0 and
//     subnormal numbers are legal. Writing rounds once, to the nearest, halves to even. A
//     magnitude of 65520 and above is clamped to 65504 and reported. Values that are not finite are not written.
//   - axis: 1 byte, two's complement, -127..127; 128 (0x80) is illegal. Value n/127, rounded to the width of the field.
//     Writing rounds to the nearest, halves away from 0. A value outside [-1, 1] is clamped and reported.
//   - rune: 4 bytes, i32, a Unicode scalar value: 0..0xD7FF or 0xE000..0x10FFFF.
//   - packed u16, u32, u64: a varint; i16, i32, i64: zigzag, then a varint. A number beyond the type's range is illegal
//     (65536 as a packed u16). int and uint count as 64 bits on every machine.
//   - enumeration: its integer, in its fixed width. With bounds, other numbers are illegal.
//   - count: a varint. It is illegal above the field's limit, and if fewer bytes remain than count times the minimum size of
//     an element (at least 1). A reader may therefore allocate count elements.
//   - array of n elements, n known to both ends: the elements, nothing between them. slice: count, then an array. Elements:
//     bool (0 or 1), integers and floats in their fixed width (int, uint: 8 bytes; a number too large for the reader's machine is
//     illegal there), packed integers, runes, strings, byte strings, whole values, or types that serialize themselves, of at
//     least one byte each.
//   - finite float: f32 or f64 without infinities and NaN. Plain f32 and f64 have any bits.
//   - optional: bool, then the value if it is 1. Nested: the inner value in place; at most 64 values within each other.
//   - Color r, g, b, a; Vector2, 3, 4 x, y, z, w; Quaternion x, y, z, w; Ray, Ray2D origin then direction: each number a
//     finite f32. Color32: 4 bytes r, g, b, a.
//
// A Serializable type is encoded as the sequence of its method's calls; the bytes do not name them. With packing off
// (PROTOCOL.md, section 16) packed integers, alone and in slices, have their fixed width; nothing else changes.
//
// # Whole values
//
// A type without pointers, int and uint, as one run of bytes: its numbers in order of declaration, little-endian, nothing
// between them and no padding: {float32; int16; bool} has 7 bytes. Tags have no effect. Booleans are 0 or 1; floats have any
// bits. Several whole values: count, then each. Text in Describe: {X:f32;On:bool;Tags:[4]u8}, an array as [n] and its element.
//
// # Compressed payloads
//
// AppendCompressed writes this format (docs/adr/0029):
//
//	+---+-------------+           +---+------------------+-----------------+
//	| 0 | bytes       |           | 1 | varint size      | compressed      |
//	+---+-------------+           +---+------------------+-----------------+
//
// The payload has no length of its own; the message's size gives it. Other flags are illegal. After flag 1, size is the
// length of the original. Before allocating anything, a reader refuses a size
//   - above its limit,
//   - not larger than the number of bytes after the flag,
//   - above 1032 times (the maximum ratio of DEFLATE) the compressed bytes.
//
// The compressed bytes are DEFLATE (RFC 1951). They must give exactly size bytes and end with the payload. This is the only
// value with more than one encoding: a writer may always send raw, and compressors differ.
package wire

// Forms of values that games may use in messages. netcode itself sends none of them. The rules are those of PROTOCOL.md,
// section 9: fixed-width integers are little-endian, each value has one legal encoding, and a reader refuses every other one
// and every value with too few bytes. A whole value is refused too when bytes are left over.
//
// # Byte streams
//
//   - half: 2 bytes, IEEE 754 binary16 (sign 1, exponent 5, fraction 10). Infinities and NaN (exponent 31) are illegal; -0 and
//     subnormal numbers are legal. Writing: nearest, of two equally near the one whose last bit is 0, rounded once. A
//     magnitude of 65520 and above is clamped to 65504 and reported. Values that are not finite are not written.
//   - axis: 1 byte, two's complement, -127..127; 128 (0x80) is illegal. Value n/127, rounded to the width of the field.
//     Writing: nearest, of two equally near the one farther from 0. Outside of [-1, 1] it is clamped and reported.
//   - rune: 4 bytes, i32, a Unicode scalar value: 0..0xD7FF or 0xE000..0x10FFFF.
//   - packed u16, u32, u64: a varint; i16, i32, i64: zigzag, then a varint. A varint beyond the type is illegal (65536 as a
//     packed u16). int and uint count as 64 bits on every machine.
//   - enumeration: its integer, in its fixed width. With bounds, a number outside of them is illegal.
//   - count: a varint. Illegal above the limit of the field, and if fewer bytes are left than count times the least size of an
//     element (1 at the least). So a reader may allocate the count.
//   - array of n elements, n known to both ends: the elements, nothing between them. slice: count, then an array. Elements:
//     bool (0 or 1), integers and floats in their fixed width (int, uint: 8 bytes; a number too large for the reader's machine is
//     illegal there), packed integers, runes, strings, byte strings, whole values, or types that serialize themselves, of at
//     least one byte each.
//   - finite float: f32 or f64 without infinities and NaN. Plain f32 and f64 have any bits.
//   - optional: bool, then the value if it is 1. Nested: the inner value in place; at most 64 values within each other.
//   - Color r, g, b, a; Vector2, 3, 4 x, y, z, w; Quaternion x, y, z, w; Ray, Ray2D origin then direction: each number a
//     finite f32. Color32: 4 bytes r, g, b, a.
//
// A type that serializes itself is the sequence of the calls that its method makes; nothing in the bytes names them. With
// packing off (PROTOCOL.md, section 16) packed integers, alone and in slices, have their fixed width; all else is as ever.
//
// # Whole values
//
// A type without pointers, int and uint, as one run of bytes: its numbers in order of declaration, little-endian, nothing
// between them and no padding: {float32; int16; bool} has 7 bytes. Tags mean nothing. Booleans are 0 or 1; floats have any
// bits. Several whole values: count, then each. Text in Describe: {X:f32;On:bool;Tags:[4]u8}, an array as [n] and its element.
//
// # Compressed payloads
//
// AppendCompressed makes this form (docs/adr/0029):
//
//	+---+-------------+           +---+------------------+-----------------+
//	| 0 | bytes       |           | 1 | varint size      | compressed      |
//	+---+-------------+           +---+------------------+-----------------+
//
// The length comes from outside (the message's size). Other flags are illegal. Flag 1: the size is that of the original. It is
// refused above the reader's limit, where it is not more than the bytes behind the flag, and above 1032 times, the
// greatest ratio of DEFLATE, the compressed bytes: all before anything is allocated. Compressed is DEFLATE (RFC 1951); it must
// give exactly size bytes and end with the payload. Only here has a value more than one encoding: a writer may always send raw,
// and compressors differ.
package wire

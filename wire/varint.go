package wire

import (
	"encoding/binary"
	"math/bits"
)

// MaxVarint is the maximum length of a varint in bytes.
const MaxVarint = 9

// Bounds of the SQLite4 varint: the first number of each longer form. See the file format notes of
// SQLite4, "Variable-Length Integers".
const (
	varint2 = 241   // two bytes
	varint3 = 2288  // three bytes
	varint4 = 67824 // a length and 3 to 8 bytes
)

// AppendVarint appends v to b in the SQLite4 form, 1 to 9 bytes, whose first byte tells the length:
//
//	first byte a0   value
//	0..240          a0
//	241..248        240 + 256(a0 - 241) + a1
//	249             2288 + 256 a1 + a2
//	250..255        a0 - 247 bytes follow, the most significant first
func AppendVarint(b []byte, v uint64) []byte {
	switch {
	case v < varint2:
		return append(b, byte(v))
	case v < varint3:
		v -= varint2 - 1
		return append(b, byte(v>>8)+241, byte(v))
	case v < varint4:
		v -= varint3
		return append(b, 249, byte(v>>8), byte(v))
	}
	n := (bits.Len64(v) + 7) / 8
	b = append(b, byte(247+n))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// ReadVarint parses the varint at the start of b and returns its length. It accepts only the shortest form of a number:
// errors are ErrTruncated and ErrMalformed.
func ReadVarint(b []byte) (v uint64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, ErrTruncated
	}
	a0 := b[0]
	switch {
	case a0 < 241:
		return uint64(a0), 1, nil
	case a0 < 249:
		if len(b) < 2 {
			return 0, 0, ErrTruncated
		}
		if v = varint2 - 1 + uint64(a0-241)<<8 + uint64(b[1]); v < varint2 {
			return 0, 0, ErrMalformed
		}
		return v, 2, nil
	case a0 == 249:
		if len(b) < 3 {
			return 0, 0, ErrTruncated
		}
		return varint3 + uint64(binary.BigEndian.Uint16(b[1:])), 3, nil
	}
	n = int(a0) - 247
	if n > len(b)-1 {
		return 0, 0, ErrTruncated
	}
	for _, next := range b[1 : 1+n] {
		v = v<<8 | uint64(next)
	}
	if v < varint4 || b[1] == 0 {
		return 0, 0, ErrMalformed
	}
	return v, 1 + n, nil
}

// Zigzag32 maps signed to unsigned numbers so that small magnitudes give small numbers: 0, -1, 1, -2, 2 become 0, 1, 2,
// 3, 4.
func Zigzag32(v int32) uint32 { return uint32(v)<<1 ^ uint32(v>>31) }

// Unzigzag32 is the inverse of Zigzag32.
func Unzigzag32(v uint32) int32 { return int32(v>>1) ^ -int32(v&1) }

// Zigzag64 is Zigzag32 for 64 bits.
func Zigzag64(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// Unzigzag64 is the inverse of Zigzag64.
func Unzigzag64(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

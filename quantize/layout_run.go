package quantize

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

// put writes the value that begins at from.
func (f *layoutForm) put(dst []byte, from *byte) error {
	if f.size == 0 || len(dst) < f.size { // the zero Layout, which nothing compiled, fits nowhere
		return wire.ErrOverflow
	}
	if len(f.memory) > 0 && !legal(from, f.memory, !kernel.HostLittle) {
		return wire.ErrMalformed
	}
	if f.wide {
		moveWide(&dst[0], 0, from, f.lead, f.tail)
		return nil
	}
	f.encode(dst, from)
	return nil
}

// get reads a value into the one that begins at to.
func (f *layoutForm) get(src []byte, to *byte) error {
	if len(src) < f.size {
		return wire.ErrTruncated
	}
	if len(f.wire) > 0 && !legal(&src[0], f.wire, false) {
		return wire.ErrMalformed
	}
	if f.wide {
		moveWide(to, f.lead, &src[0], 0, f.tail)
		return nil
	}
	f.decode(src, to)
	return nil
}

// encode writes one value by its runs, or field by field. The caller has asked whether it fits.
func (f *layoutForm) encode(dst []byte, from *byte) {
	for i := range f.runs {
		r := &f.runs[i]
		moveRun(&dst[0], r.wire, from, r.memory, r.size)
	}
	if f.runs == nil {
		for _, r := range f.fields {
			turn(bytesAt(&dst[0], r.wire, r.size), bytesAt(from, r.memory, r.size))
		}
	}
}

// decode reads one value, legal and whole.
func (f *layoutForm) decode(src []byte, to *byte) {
	for i := range f.runs {
		r := &f.runs[i]
		moveRun(to, r.memory, &src[0], r.wire, r.size)
	}
	if f.runs == nil {
		for _, r := range f.fields {
			turn(bytesAt(to, r.memory, r.size), bytesAt(&src[0], r.wire, r.size))
		}
	}
}

// encodeRows writes count values, of which the first begins at from. The caller has asked whether they fit.
func (f *layoutForm) encodeRows(dst []byte, from *byte, count int) {
	size := uintptr(f.size)
	switch {
	case f.dense:
		copy(dst, bytesAt(from, 0, uintptr(count)*size))
	case f.wide:
		moveWideRows(&dst[0], size, bytesFrom(from, f.lead), f.stride, f.tail, count)
	default:
		for i := 0; i < count; i++ {
			f.encode(dst[i*f.size:], bytesFrom(from, uintptr(i)*f.stride))
		}
	}
}

// decodeRows reads count values, legal and whole.
func (f *layoutForm) decodeRows(src []byte, to *byte, count int) {
	size := uintptr(f.size)
	switch {
	case f.dense:
		copy(bytesAt(to, 0, uintptr(count)*size), src)
	case f.wide:
		moveWideRows(bytesFrom(to, f.lead), f.stride, &src[0], size, f.tail, count)
	default:
		for i := 0; i < count; i++ {
			f.decode(src[i*f.size:], bytesFrom(to, uintptr(i)*f.stride))
		}
	}
}

// turn copies a number between memory and wire, on whichever side each of the two is.
func turn(dst, src []byte) {
	switch len(src) {
	case 1:
		dst[0] = src[0]
	case 2:
		binary.LittleEndian.PutUint16(dst, binary.NativeEndian.Uint16(src))
	case 4:
		binary.LittleEndian.PutUint32(dst, binary.NativeEndian.Uint32(src))
	default:
		binary.LittleEndian.PutUint64(dst, binary.NativeEndian.Uint64(src))
	}
}

// legal reports whether the checks let the bytes at base pass: those of a value on the wire, or in the
// memory of a machine that keeps numbers in the same order, or else reversed.
func legal(base *byte, checks []layoutCheck, reversed bool) bool {
	for i := range checks {
		c := &checks[i]
		if reversed {
			if c.violatedReversed(base) {
				return false
			}
			continue
		}
		bad, mask, step, at := uint64(0), c.mask, c.step, c.offset
		for end := at + c.size&^7; at < end; at += 8 {
			bad |= wordAt(base, at)&mask + step
		}
		if rest := c.size & 7; rest != 0 {
			bad |= restOf(bytesAt(base, at, rest))&mask + step
		}
		if bad&c.top != 0 {
			return false
		}
	}
	return true
}

// restOf returns up to seven bytes as a word, little-endian. Bytes beyond the last are taken to be zero,
// which every check lets pass.
func restOf(b []byte) (word uint64) {
	if len(b) == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	for i, v := range b {
		word |= uint64(v) << (8 * i & 63)
	}
	return word
}

// violatedReversed reports whether one of the values, big-endian, is what none may be.
func (c *layoutCheck) violatedReversed(base *byte) bool {
	bad := uint64(0)
	for b := bytesAt(base, c.offset, c.size); len(b) > 0; b = b[min(8, len(b)):] {
		var word [8]byte
		copy(word[:], b)
		bad |= binary.BigEndian.Uint64(word[:])&c.mask + c.step
	}
	return bad&c.top != 0
}

// moveWideRows copies the wide run of each of count rows.
func moveWideRows(dst *byte, dstStride uintptr, src *byte, srcStride, tail uintptr, count int) {
	for i := uintptr(0); i < uintptr(count); i++ {
		moveWide(dst, i*dstStride, src, i*srcStride, tail)
	}
}

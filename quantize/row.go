package quantize

import "github.com/arche-netcode/netcode/wire"

// laneCheck says what ReadRow has to ask about a lane beyond its number of bits.
type laneCheck uint8

const (
	checkNone    laneCheck = iota // every number of that many bits is legal
	checkMax                      // not above max
	checkMax64                    // with the lane before it, not above max
	checkFloat32                  // finite
	checkFloat64                  // with the lane before it, finite
	checkQuat                     // with the three lanes before it, a legal rotation
	checkRef                      // with the lane before it, a network id or nil
)

// lane is one word of a row.
type lane struct {
	bits  uint8
	check laneCheck
	op    uint16 // its field
	max   uint64 // largest number; of both lanes for checkMax64
}

// span is a run of bytes in memory that travel.
type span struct{ offset, size uintptr }

// bytes returns how many bytes of memory the field takes.
func (o *op) bytes() uintptr {
	switch o.kind {
	case opQuat:
		return 16
	case opHandle, opID:
		return 8
	case opTarget:
		return 0
	}
	return uintptr(o.size)
}

// WriteRow writes an absolute row, Bits bits: each lane in its number of bits, in order, but an entity field by
// its presence, index and generation. Numbers must be those that Quantise or ReadRow gave, and those of an entity
// field a network id: one of generation 0 is written as nil.
func (p *Plan) WriteRow(w *wire.BitWriter, lanes []uint32) {
	switch {
	case p.debug:
		p.writeDebug(w, lanes)
		return
	case p.refs != nil:
		p.writeRefs(w, lanes)
		return
	}
	w.Numbers(lanes, p.widths)
}

// ReadRow reads an absolute row. It returns false, with lanes worth nothing and the reader failed, when
// the bits end or the row is not one that Quantise could have made: a number above its field's maximum, a
// float that is not finite, no rotation.
func (p *Plan) ReadRow(r *wire.BitReader, lanes []uint32) bool {
	switch {
	case p.debug:
		return p.readDebug(r, lanes)
	case p.refs != nil:
		return p.readRefs(r, lanes)
	}
	lanes = lanes[:len(p.lanes)]
	if p.floats {
		return wire.ReadFloats(r, lanes)
	}
	if !r.Numbers(lanes, p.widths) || !p.LegalRow(lanes) {
		r.Fail()
		return false
	}
	return true
}

// Floats reports whether all lanes are those of float32 fields that travel exactly.
func (p *Plan) Floats() bool { return p.floats && !p.debug }

// legal reports whether lanes[last], which is l, may hold what it does.
func (p *Plan) legal(l *lane, lanes []uint32, last int) bool {
	n := lanes[last]
	switch l.check {
	case checkMax64:
		return uint64(n)<<32|uint64(lanes[last-1]) <= l.max
	case checkFloat32:
		return finite32(n)
	case checkFloat64:
		return finite64(n)
	case checkQuat:
		return p.ops[l.op].legalQuat((*[4]uint32)(lanes[last-3:]))
	case checkRef:
		return n != 0 || lanes[last-1] == 0
	}
	return false // checkMax, which ReadRow has asked itself
}

// finite32 reports whether the bits of a float32 are neither infinite nor NaN.
func finite32(bits uint32) bool { return bits&0x7F80_0000 != 0x7F80_0000 }

// finite64 is finite32 for the high word of a float64.
func finite64(high uint32) bool { return high&0x7FF0_0000 != 0x7FF0_0000 }

// Pack makes an absolute row ready for WritePacked, in the first ceil(Bits/64) words of packed: as the same bits
// that WriteRow writes, but an entity field as its two lanes. Bits beyond the row are zero.
func (p *Plan) Pack(lanes []uint32, packed []uint64) {
	if p.debug {
		p.packDebug(lanes, packed)
		return
	}
	list := p.lanes
	lanes = lanes[:len(list)]
	var acc uint64
	n, word := uint(0), 0
	if p.refs != nil {
		clear(packed[:(p.bits+63)/64]) // the lanes take fewer bits than the row at most
	}
	for i := range list {
		width := uint(list[i].bits) & 63
		v := uint64(lanes[i]) & (1<<width - 1)
		acc |= v << (n & 63)
		if n += width; n >= 64 {
			n -= 64
			packed[word] = acc
			word++
			acc = v >> ((width - n) & 63)
		}
	}
	if n > 0 {
		packed[word] = acc
	}
}

// WritePacked writes a row that Pack packed.
func (p *Plan) WritePacked(w *wire.BitWriter, packed []uint64) {
	if p.refs != nil && !p.debug {
		p.writePackedRefs(w, packed)
		return
	}
	left := p.bits
	if p.debug && left > 0 {
		w.Align()
	}
	for ; left >= 64; left -= 64 {
		w.Write(packed[0], 64)
		packed = packed[1:]
	}
	if left > 0 {
		w.Write(packed[0], uint(left))
	}
}

// Describe appends the plan's canonical text, which says everything that the bytes of a row depend on:
//
//	Position{X:f32[-512,512,0.002];Y:f32[-512,512,0.002];Rot:quat9;Team:u8}
//
// With packing off the first thing in the braces is the word unpacked, without a colon.
func (p *Plan) Describe(dst []byte) []byte {
	dst = append(append(dst, p.name...), '{')
	if p.debug {
		dst = append(dst, "unpacked"...)
		if len(p.ops) > 0 {
			dst = append(dst, ';')
		}
	}
	if p.extrapolator != "" {
		dst = append(append(append(dst, '~'), p.extrapolator...), ';')
	}
	for i := range p.ops {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = append(append(append(dst, p.ops[i].path...), ':'), p.ops[i].text...)
	}
	return append(dst, '}')
}

// LegalRow reports whether a row whose lanes lie within their bits is one that Quantise could have made.
func (p *Plan) LegalRow(lanes []uint32) bool {
	for i := range p.lanes {
		l := &p.lanes[i]
		if l.check != checkNone && !(l.check == checkMax && uint64(lanes[i]) <= l.max) && !p.legal(l, lanes, i) {
			return false
		}
	}
	return true
}

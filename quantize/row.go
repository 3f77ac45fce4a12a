package quantize

import "github.com/arche-netcode/netcode/wire"

// laneCheck selects what ReadRow checks about a lane beyond its number of bits.
type laneCheck uint8

const (
	checkNone    laneCheck = iota // every number is legal
	checkMax                      // at most max
	checkMax64                    // with the previous lane, at most max
	checkFloat32                  // finite
	checkFloat64                  // with the previous lane, finite
	checkQuat                     // with the three previous lanes, a legal rotation
	checkRef                      // with the previous lane, a network id or nil
)

// lane is one word of a row.
type lane struct {
	bits  uint8
	check laneCheck
	short bool   // written as Var in an absolute row
	op    uint16 // its field
	max   uint64 // largest number; for checkMax64 of both lanes
}

// span is a range of sent bytes in memory.
type span struct{ offset, size uintptr }

// bytes returns the size of the field in memory.
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

// WriteRow writes an absolute row of Bits bits: each lane in its number of bits, in order; an entity field by presence,
// index and generation, a short one as Var. Lanes come from Quantise or ReadRow. An entity field has a network id; one of generation 0 is
// written as nil.
func (p *Plan) WriteRow(w *wire.BitWriter, lanes []uint32) {
	switch {
	case p.debug:
		p.writeDebug(w, lanes)
		return
	case p.Varies():
		p.writeRefs(w, lanes)
		return
	}
	w.Numbers(lanes, p.widths)
}

// ReadRow reads an absolute row. It returns false, with a failed reader and undefined lanes, if the bits end or
// Quantise cannot produce the row: a number above its maximum, a float that is not finite, an illegal rotation.
func (p *Plan) ReadRow(r *wire.BitReader, lanes []uint32) bool {
	switch {
	case p.debug:
		return p.readDebug(r, lanes)
	case p.Varies():
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

// Floats reports whether all lanes belong to exact float32 fields.
func (p *Plan) Floats() bool { return p.floats && !p.debug }

// legal reports whether lanes[last], described by l, is legal.
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
	return false // checkMax: ReadRow has checked it
}

// finite32 reports whether the bits of a float32 are neither infinite nor NaN.
func finite32(bits uint32) bool { return bits&0x7F80_0000 != 0x7F80_0000 }

// finite64 is finite32 for the high word of a float64.
func finite64(high uint32) bool { return high&0x7FF0_0000 != 0x7FF0_0000 }

// Describe appends the plan's canonical text, which has everything that determines the bytes of a row:
//
//	Position{X:f32[-512,512,0.002];Y:f32[-512,512,0.002];Rot:quat9;Team:u8}
//
// With packing off, the braces start with the word unpacked, without a colon.
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

// LegalRow reports whether Quantise can produce the row; lanes are within their bits.
func (p *Plan) LegalRow(lanes []uint32) bool {
	for i := range p.fixed {
		l := &p.lanes[i]
		if l.check != checkNone && !(l.check == checkMax && uint64(lanes[i]) <= l.max) && !p.legal(l, lanes, i) {
			return false
		}
	}
	return p.fixed == len(p.lanes) || p.legalTails(lanes)
}

// A run is several similar rows of one plan in one message: the first whole, each later one as its difference from the
// previous row. All rows are in the same message, so no baseline needs an acknowledgement. A client's repeated inputs
// are such a run.
//
//	run    Var count, then count rows
//	first  absolute: WriteRow
//	next   0                                   the row is unchanged
//	       1, then each field in order:
//	         0                                 the field is unchanged
//	         1, then its lanes in order; if the field has more than one,
//	            before each a bit: 1 if it differs
//	       then its texts and lists: WriteTail
//	lane   of b bits, that differs:
//	         b = 1      nothing: it has the other value
//	         b = 2, 3   the new number, b bits
//	         b > 3      0 and Var(z - 1)         if that Var has fewer than b bits
//	                    1 and the new number     else
//
// With packing off (Plan.Debug) every row is whole.
//
// z is the zigzag form of the difference modulo 2^b, from -2^(b-1) to 2^(b-1)-1, so that an angle that wraps has a
// small difference. A row has one encoding: a set bit without a difference is illegal, and so is the longer of the two
// forms of a lane.

// lanePayload is the maximum width of a lane that is sent as the number itself.
const lanePayload = 3

// maxNextBits returns the maximum length of WriteNext in bits.
func (p *Plan) maxNextBits() int {
	if p.debug {
		return p.bits + 7
	}
	next := 1 + p.MaxTailBits()
	for i := range p.fixed {
		if first, alone := p.firstLane(i); first {
			next++
			if alone {
				next-- // it shares the bit of its field
			}
		}
		next++
		if b := int(p.lanes[i].bits); b > lanePayload {
			next += 1 + b
		} else if b > 1 {
			next += b
		}
	}
	return next
}

// firstLane reports whether a field starts at lane i, and whether it has only that lane.
func (p *Plan) firstLane(i int) (first, alone bool) {
	first = i == 0 || p.lanes[i-1].op != p.lanes[i].op
	return first, first && (i+1 == len(p.lanes) || p.lanes[i+1].op != p.lanes[i].op)
}

// WriteRun writes the first count rows of rows, which has Lanes words per row. Rows come from Quantise or ReadRow.
func (p *Plan) WriteRun(w *wire.BitWriter, rows []uint32, count int) {
	w.Var(uint64(count))
	n := len(p.lanes)
	rows = rows[:count*n]
	for i := 0; i < count; i++ {
		if i == 0 {
			p.WriteRow(w, rows[:n])
			continue
		}
		p.WriteNext(w, rows[(i-1)*n:i*n], rows[i*n:(i+1)*n])
	}
}

// ReadRun reads a run of at most limit rows into rows and returns their count. It returns false, with a failed reader
// and undefined rows, in three cases: there are more rows; the bits end; a row is illegal or not in WriteRun's
// encoding. whole tells that all rows are whole, as a client of the plain profile writes them.
func (p *Plan) ReadRun(r *wire.BitReader, rows []uint32, limit int, whole bool) (count int, ok bool) {
	n := len(p.lanes)
	rows = rows[:limit*n]
	if v := r.Var(); v <= uint64(limit) {
		count = int(v)
	} else {
		r.Fail()
	}
	for i := 0; i < count && !r.Failed(); i++ {
		if i == 0 || whole {
			p.ReadRow(r, rows[i*n:(i+1)*n])
			continue
		}
		p.ReadNext(r, rows[(i-1)*n:i*n], rows[i*n:(i+1)*n])
	}
	if r.Failed() {
		return 0, false
	}
	return count, true
}

// WriteNext writes a row as its difference from the previous row: 1 bit if they are equal.
func (p *Plan) WriteNext(w *wire.BitWriter, before, lanes []uint32) {
	if p.debug {
		p.writeDebug(w, lanes)
		return
	}
	list := p.lanes
	before, lanes = before[:len(list)], lanes[:len(list)]
	if equalLanes(before, lanes) {
		w.Write(0, 1)
		return
	}
	w.Write(1, 1)
	for i := 0; i < p.fixed; {
		end := i + 1
		for end < p.fixed && list[end].op == list[i].op {
			end++
		}
		if equalLanes(before[i:end], lanes[i:end]) {
			w.Write(0, 1)
			i = end
			continue
		}
		w.Write(1, 1)
		for alone := end == i+1; i < end; i++ {
			if !alone {
				w.Write(uint64(bit(before[i] != lanes[i])), 1)
			}
			if before[i] != lanes[i] {
				writeLane(w, uint(list[i].bits), before[i], lanes[i])
			}
		}
	}
	p.WriteTail(w, before, lanes)
}

// equalLanes compares two slices of lanes of equal length.
func equalLanes(a, b []uint32) bool {
	b = b[:len(a)]
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// laneDifference returns the zigzag form of the difference of two numbers of width bits, less 1, and whether its code
// is shorter than the number itself. The numbers differ.
func laneDifference(width uint, before, now uint32) (v uint64, shorter bool) {
	d := int32((now-before)<<(32-width)) >> (32 - width)
	v = uint64(wire.Zigzag32(d)) - 1
	return v, wire.VarBits(v) < int(width)
}

// writeLane writes a lane that differs.
func writeLane(w *wire.BitWriter, width uint, before, now uint32) {
	if width > lanePayload {
		v, shorter := laneDifference(width, before, now)
		w.Write(uint64(bit(!shorter)), 1)
		if shorter {
			w.Var(v)
			return
		}
	}
	if width > 1 {
		w.Write(uint64(now), width)
	}
}

// ReadNext reads a row of WriteNext with the same previous row. It returns false, with a failed reader and undefined
// lanes, if the bits end, the row is illegal, or WriteNext would have encoded it differently.
func (p *Plan) ReadNext(r *wire.BitReader, before, lanes []uint32) bool {
	if p.debug {
		return p.readDebug(r, lanes)
	}
	list := p.lanes
	before, lanes = before[:len(list)], lanes[:len(list)]
	copy(lanes, before)
	if !r.Bool() {
		return !r.Failed()
	}
	changed := false
	for i := 0; i < p.fixed && !r.Failed(); {
		end := i + 1
		for end < p.fixed && list[end].op == list[i].op {
			end++
		}
		if r.Bool() {
			p.readField(r, before, lanes, i, end)
			changed = true
		}
		i = end
	}
	if p.fixed < len(list) && !r.Failed() && p.ReadTail(r, before, lanes) {
		changed = true
	}
	if !changed {
		r.Fail() // its bit promised a difference
	}
	return !r.Failed()
}

// readField reads the lanes from i to end of a field that differs.
func (p *Plan) readField(r *wire.BitReader, before, lanes []uint32, i, end int) {
	changed, start := false, i
	for alone := end == i+1; i < end; i++ {
		if !alone && !r.Bool() {
			continue
		}
		lanes[i] = readLane(r, uint(p.lanes[i].bits), before[i])
		changed = true
	}
	if !changed {
		r.Fail()
	}
	for i = start; i < end && !r.Failed(); i++ {
		l := &p.lanes[i]
		if l.check == checkNone || l.check == checkMax && uint64(lanes[i]) <= l.max {
			continue
		}
		if !p.legal(l, lanes, i) {
			r.Fail()
		}
	}
}

// readLane reads a lane that differs.
func readLane(r *wire.BitReader, width uint, before uint32) uint32 {
	if width == 1 {
		return before ^ 1
	}
	if width > lanePayload && !r.Bool() {
		v := r.Var()
		if wire.VarBits(v) >= int(width) {
			r.Fail()
			return 0
		}
		return (before + uint32(wire.Unzigzag32(uint32(v)+1))) & uint32(1<<width-1)
	}
	now := uint32(r.Read(width))
	if now == before {
		r.Fail()
		return 0
	}
	if width > lanePayload {
		if _, shorter := laneDifference(width, before, now); shorter {
			r.Fail()
		}
	}
	return now
}

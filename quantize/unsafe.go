package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

// Quantise converts the component at src to its row. On entry lanes has the last good row, or zeros. A value that is
// NaN or infinite keeps its lanes; a value out of range is clamped. The fault names the first such field. An entity
// field with a handle returns the handle, which the caller must convert to a network id; the lanes of a target are not
// touched. It never allocates.
func (p *Plan) Quantise(src unsafe.Pointer, lanes []uint32) Fault {
	ops, fault := p.fields()[:p.fixedOps], Fault{}
	lanes = lanes[:len(p.lanes)]
	for i := range ops {
		o := &ops[i]
		// SAFETY: src points to a value of p.typ and o.offset is that of a field of the kind's size in it.
		at := unsafe.Add(src, o.offset)
		why := wire.NoFault
		switch o.kind {
		case opFixed32:
			if f := float64(*(*float32)(at)); f >= o.min && f <= o.max {
				lanes[o.lane] = uint32(int64(float64((f-o.min)*o.scale) + 0.5))
				continue
			}
			why = o.outside(float64(*(*float32)(at)), lanes)
		case opQuat:
			why = o.quantiseQuat((*[4]float32)(at), (*[4]uint32)(lanes[o.lane:]))
		case opFloat32:
			if v := *(*uint32)(at); finite32(v) {
				lanes[o.lane] = v
				continue
			}
			why = wire.NotFinite
		default:
			why = o.quantise(at, lanes)
		}
		if why != wire.NoFault {
			fault = fault.or(Fault{why, o.path, why != wire.OutOfRange})
		}
	}
	if p.fixedOps < len(p.ops) {
		fault = fault.or(p.quantiseTails(src, lanes))
	}
	return fault
}

// quantiseTails quantises the texts and lists.
func (p *Plan) quantiseTails(src unsafe.Pointer, lanes []uint32) (fault Fault) {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		f := o.tail
		// SAFETY: src points to a value of p.typ, in which a wire.Text or a wire.List is at the field's offset: a uint16, and f.most
		// bytes or elements from f.start on. None is looked at behind these, whatever the length says.
		at := unsafe.Add(src, o.offset)
		n := min(int(*(*uint16)(at)), f.most)
		if o.kind == opText {
			text := memory(at, f.start, uintptr(n))
			o.setText(lanes, text[:validPrefix(text)])
			continue
		}
		for k := range n {
			fault = fault.or(f.elems[k].Quantise(unsafe.Add(at, f.start+uintptr(k)*f.stride), o.element(lanes, k)))
		}
		lanes[o.lane] = uint32(n)
		clear(o.lanesOf(lanes)[n*f.width:])
	}
	return fault
}

// quantiseTailRows is QuantiseRows for the texts and lists.
func (p *Plan) quantiseTailRows(base *byte, size int, rows []int32, lanes []uint32, bad []int32) []int32 {
	n := len(p.lanes)
	for k, row := range rows {
		// SAFETY: so many components lie one behind the other from base on.
		src := unsafe.Add(unsafe.Pointer(base), int(row)*size)
		if p.quantiseTails(src, lanes[k*n:(k+1)*n]).Reason != wire.NoFault {
			bad = append(bad, int32(k))
		}
	}
	return bad
}

// dequantiseTails dequantises the texts and lists. It zeroes the memory after their ends, as their own methods do.
func (p *Plan) dequantiseTails(lanes []uint32, dst unsafe.Pointer) {
	for i := range p.tailOps() {
		o := &p.tailOps()[i]
		f, n := o.tail, int(lanes[o.lane])
		// SAFETY: as of quantiseTails; the row is legal, so that n is f.most at most.
		at := unsafe.Add(dst, o.offset)
		*(*uint16)(at) = uint16(n)
		if o.kind == opText {
			text, words := memory(at, f.start, uintptr(f.most)), o.lanesOf(lanes)
			for k := range text {
				text[k] = textByte(words, k)
			}
			continue
		}
		for k := range n {
			f.elems[k].Dequantise(o.element(lanes, k), unsafe.Add(at, f.start+uintptr(k)*f.stride))
		}
		clear(memory(at, f.start+uintptr(n)*f.stride, uintptr(f.most-n)*f.stride))
	}
}

// quantise quantises one field, except the kinds that have their own loops.
func (o *op) quantise(at unsafe.Pointer, lanes []uint32) wire.FaultReason {
	// SAFETY: at points to a field of the kind's size, as Quantise says.
	switch o.kind {
	case opBool:
		lanes[o.lane] = bit(*(*uint8)(at) != 0)
	case opInt8:
		lanes[o.lane] = uint32(*(*uint8)(at)) ^ uint32(o.flip)
	case opInt16:
		lanes[o.lane] = uint32(*(*uint16)(at)) ^ uint32(o.flip)
	case opInt32:
		lanes[o.lane] = *(*uint32)(at) ^ uint32(o.flip)
	case opInt64:
		v := *(*uint64)(at) ^ o.flip
		lanes[o.lane], lanes[o.lane+1] = uint32(v), uint32(v>>32)
	case opFloat64:
		return o.quantiseFloat64(*(*uint64)(at), lanes)
	case opRange:
		return o.quantiseRange(o.load(at), lanes)
	case opFixed64:
		return o.quantiseFixed(*(*float64)(at), lanes)
	case opAngle32:
		return o.quantiseAngle(float64(*(*float32)(at)), lanes)
	case opAngle64:
		return o.quantiseAngle(*(*float64)(at), lanes)
	case opHalf32:
		return o.quantiseHalf(float64(*(*float32)(at)), lanes)
	case opHalf64:
		return o.quantiseHalf(*(*float64)(at), lanes)
	case opAxis32:
		return o.quantiseAxis(float64(*(*float32)(at)), lanes)
	case opAxis64:
		return o.quantiseAxis(*(*float64)(at), lanes)
	case opHandle, opID:
		return o.quantiseRef(*(*wire.NetworkID)(at), lanes) // a handle is two uint32 as well
	}
	return wire.NoFault
}

// float32At returns the float32 at an offset, quatAt four of them, fieldAt the address.
func float32At(base *byte, offset uintptr) float32 {
	// SAFETY: as of bytesFrom, all of its bytes; it is aligned to 4, being a field of that type.
	return *(*float32)(unsafe.Add(unsafe.Pointer(base), offset))
}

func quatAt(base *byte, offset uintptr) *[4]float32 {
	// SAFETY: as of float32At.
	return (*[4]float32)(unsafe.Add(unsafe.Pointer(base), offset))
}

func fieldAt(base *byte, offset uintptr) unsafe.Pointer {
	// SAFETY: as of bytesFrom.
	return unsafe.Add(unsafe.Pointer(base), offset)
}

// Dequantise writes a row into the component at dst: only the sent fields, neither padding nor fields tagged net:"-".
// The same row gives the same bytes on every machine.
func (p *Plan) Dequantise(lanes []uint32, dst unsafe.Pointer) {
	ops := p.fields()[:p.fixedOps]
	lanes = lanes[:len(p.lanes)]
	if p.fixedOps < len(p.ops) {
		p.dequantiseTails(lanes, dst)
	}
	for i := range ops {
		o := &ops[i]
		// SAFETY: dst points to a value of p.typ and o.offset is that of a field of the kind's size in it.
		at := unsafe.Add(dst, o.offset)
		n := lanes[o.lane]
		switch o.kind {
		case opFixed32:
			*(*float32)(at) = float32(o.fixed(n))
		case opQuat:
			o.dequantiseQuat((*[4]uint32)(lanes[o.lane:]), (*[4]float32)(at))
		case opFloat32:
			*(*uint32)(at) = n
		case opBool:
			*(*bool)(at) = n != 0
		case opInt8:
			*(*uint8)(at) = uint8(n ^ uint32(o.flip))
		case opInt16:
			*(*uint16)(at) = uint16(n ^ uint32(o.flip))
		case opInt32:
			*(*uint32)(at) = n ^ uint32(o.flip)
		case opInt64, opFloat64:
			*(*uint64)(at) = (uint64(n) | uint64(lanes[o.lane+1])<<32) ^ o.flip
		case opRange:
			o.store(at, o.ranged(lanes))
		case opFixed64:
			*(*float64)(at) = o.fixed(n)
		case opAngle32:
			*(*float32)(at) = float32(o.angle(n))
		case opAngle64:
			*(*float64)(at) = o.angle(n)
		case opHalf32:
			*(*float32)(at) = halfOfLane(n).Float32()
		case opHalf64:
			*(*float64)(at) = float64(halfOfLane(n).Float32())
		case opAxis32:
			*(*float32)(at) = axisOfLane(n).Float32()
		case opAxis64:
			*(*float64)(at) = axisOfLane(n).Float64()
		case opHandle, opID:
			*(*[2]uint32)(at) = [2]uint32{n, lanes[o.lane+1]}
		}
	}
}

// blendTarget points to a component of the plan's type that a Blend writes.
type blendTarget = unsafe.Pointer

// Mix writes the interpolated value at way.Part into the component at dst: only the sent fields, as Dequantise does. It
// allocates only if a user's function does.
func (b *Blend) Mix(way *BlendInput, dst unsafe.Pointer) {
	if b.custom != nil {
		b.custom(way, dst)
		return
	}
	rows := way.From
	if way.Part >= 1 {
		rows = way.To
	}
	b.plan.Dequantise(rows, dst)
	number := 0
	for i := range b.fields {
		f := &b.fields[i]
		// SAFETY: dst points to a value of the plan's type, and the field's offset is that of a float32, a float64 or four
		// float32 in it, as its kind and size say.
		at := unsafe.Add(dst, f.op.offset)
		var v float64
		switch {
		case f.kind == blendQuat:
			*(*[4]float32)(at) = f.rotate(way)
			continue
		case f.kind == blendAngle:
			v = f.turn(way)
		case b.speeds != nil:
			v = f.curve(way, b.speeds[number])
			number++
		default:
			v = f.line(way)
		}
		if v != v { // overflow of a float64 on the way
			v = f.op.float(way.To)
		}
		if f.op.size == 4 {
			*(*float32)(at) = float32(v)
		} else {
			*(*float64)(at) = v
		}
	}
}

// Shift moves the component at dst by part times the difference of the components at from and to: numbers by their
// difference, angles the shorter way round, rotations by the turn between the two. Other fields do not change. A part that
// falls from 1 to 0 makes a correction appear gradually. The fields of a user's function move by their kinds.
func (b *Blend) Shift(dst, from, to unsafe.Pointer, part float64) {
	for i := range b.fields {
		f := &b.fields[i]
		// SAFETY: dst, from and to point to values of the plan's type, and the field's offset is that of a float32, a float64 or
		// four float32 in it, as its kind and size say.
		at := unsafe.Add(dst, f.op.offset)
		if f.kind == blendQuat {
			old, now := (*[4]float32)(unsafe.Add(from, f.op.offset)), (*[4]float32)(unsafe.Add(to, f.op.offset))
			*(*[4]float32)(at) = turnedBy(*(*[4]float32)(at), *old, *now, part)
			continue
		}
		by := f.in(from) - f.in(to)
		if f.kind == blendAngle {
			by = angleNear(by)
		}
		if by *= part; by != by || math.IsInf(by, 0) {
			continue
		}
		if f.op.size == 4 {
			*(*float32)(at) += float32(by)
		} else {
			*(*float64)(at) += by
		}
	}
}

// in returns the number of the field in a component.
func (f *blendField) in(component unsafe.Pointer) float64 {
	// SAFETY: component points to a value of the plan's type, and the field is a float32 or a float64 in it, as its size says.
	at := unsafe.Add(component, f.op.offset)
	if f.op.size == 4 {
		return float64(*(*float32)(at))
	}
	return *(*float64)(at)
}

// Distance returns the Euclidean distance between the numbers of the components at from and to, without angles and
// rotations.
func (b *Blend) Distance(from, to unsafe.Pointer) float64 {
	// SAFETY: callers pass values of the plan's type, which blendField.in reads.
	square := 0.0
	for i := range b.fields {
		if f := &b.fields[i]; f.kind == blendNumber {
			d := f.in(to) - f.in(from)
			square += d * d
		}
	}
	return math.Sqrt(square)
}

// MixInto is Mix into a value of the Blend's type.
func MixInto[T any](b *Blend, way *BlendInput, dst *T) {
	// SAFETY: the caller has made the blend for T, as NewBlendFunc does.
	b.Mix(way, unsafe.Pointer(dst))
}

// NewBlendFunc returns the Blend of T by a user's function of two values and the position between them; above 1 is
// beyond the second. The function's result is shown. The error is that of NewBlend.
func NewBlendFunc[T any](p *Plan, f func(from, to *T, part float32) T) (*Blend, error) {
	b, err := NewBlend(p, BlendByKind) // Mix calls f, Shift and Distance use the kinds
	if err != nil {
		return nil, err
	}
	held := new([2]T) // on the heap once; on the stack each call would allocate
	b.custom = func(way *BlendInput, dst blendTarget) {
		// SAFETY: dst points to a T, which is the type of the plan.
		p.Dequantise(way.From, unsafe.Pointer(&held[0]))
		p.Dequantise(way.To, unsafe.Pointer(&held[1]))
		*(*T)(dst) = f(&held[0], &held[1], float32(way.Part))
	}
	return b, nil
}

// load returns the integer at a field, sign-extended to 64 bits.
func (o *op) load(at unsafe.Pointer) (v uint64) {
	// SAFETY: at points to an integer of o.size bytes.
	switch o.size {
	case 1:
		v = uint64(*(*uint8)(at))
	case 2:
		v = uint64(*(*uint16)(at))
	case 4:
		v = uint64(*(*uint32)(at))
	default:
		v = *(*uint64)(at)
	}
	if o.signed {
		unused := 64 - 8*uint(o.size)
		v = uint64(int64(v<<unused) >> unused)
	}
	return v
}

// store is the inverse of load.
func (o *op) store(at unsafe.Pointer, v uint64) {
	// SAFETY: at points to an integer of o.size bytes.
	switch o.size {
	case 1:
		*(*uint8)(at) = uint8(v)
	case 2:
		*(*uint16)(at) = uint16(v)
	case 4:
		*(*uint32)(at) = uint32(v)
	default:
		*(*uint64)(at) = v
	}
}

// MapHandles replaces each handle in the component at dst, that is each field of Handles, by f(handle). It is for tools
// that compare or hash worlds, whose handles differ.
func (p *Plan) MapHandles(dst unsafe.Pointer, f func(handle wire.NetworkID) wire.NetworkID) {
	for i := range p.fields() {
		o := &p.ops[i]
		// SAFETY: dst points to a value of p.typ, which has two uint32 at a handle's offset, as a NetworkID is, and a list's
		// elements from its start on.
		switch o.kind {
		case opHandle:
			at := (*wire.NetworkID)(unsafe.Add(dst, o.offset))
			*at = f(*at)
		case opList:
			for k, e := range o.tail.elems {
				e.MapHandles(unsafe.Add(dst, o.offset+o.tail.start+uintptr(k)*o.tail.stride), f)
			}
		}
	}
}

// Compare compares the sent fields of two components, bit by bit, and returns the path of the first difference.
func (p *Plan) Compare(a, b unsafe.Pointer) (field string, equal bool) {
	// SAFETY: a and b point to values of p.typ, whose travelling fields the spans cover.
	for _, s := range p.spans {
		if !bytes.Equal(memory(a, s.offset, s.size), memory(b, s.offset, s.size)) {
			return p.differing(a, b), false
		}
	}
	return "", true
}

// differing returns the path of the first field that differs.
func (p *Plan) differing(a, b unsafe.Pointer) string {
	// SAFETY: a and b point to values of p.typ, and each op is a field of it.
	for i := range p.ops {
		o := &p.ops[i]
		spans := []span{{o.offset, o.bytes()}}
		if o.tail != nil {
			spans = o.tailSpans()
		}
		for _, s := range spans {
			if !bytes.Equal(memory(a, s.offset, s.size), memory(b, s.offset, s.size)) {
				return o.path
			}
		}
	}
	return ""
}

// memory returns size bytes of a component from offset on.
func memory(base unsafe.Pointer, offset, size uintptr) []byte {
	// SAFETY: offset and size are those of travelling fields of the type that base points to.
	return unsafe.Slice((*byte)(unsafe.Add(base, offset)), int(size))
}

// AppendFields appends the bytes of the sent fields, in order and little-endian on every machine, for hashes of a
// world.
func (p *Plan) AppendFields(dst []byte, src unsafe.Pointer) []byte {
	if !kernel.HostLittle {
		return p.appendEachField(dst, src)
	}
	// SAFETY: src points to a value of p.typ, and the spans are its sent fields, in order.
	for _, s := range p.spans {
		dst = append(dst, memory(src, s.offset, s.size)...)
	}
	return dst
}

// appendEachField is AppendFields in the form that works on every machine.
func (p *Plan) appendEachField(dst []byte, src unsafe.Pointer) []byte {
	for i := range p.fields() {
		o := &p.ops[i]
		if o.tail != nil {
			dst = p.appendEachTail(dst, src, o)
			continue
		}
		for at := uintptr(0); at < o.bytes(); at += uintptr(o.size) {
			// SAFETY: src points to a value of p.typ; a field is one or, in a quaternion, four numbers of
			// o.size bytes.
			number := unsafe.Add(src, o.offset+at)
			switch o.size {
			case 1:
				dst = append(dst, *(*uint8)(number))
			case 2:
				dst = binary.LittleEndian.AppendUint16(dst, *(*uint16)(number))
			case 4:
				dst = binary.LittleEndian.AppendUint32(dst, *(*uint32)(number))
			default:
				dst = binary.LittleEndian.AppendUint64(dst, *(*uint64)(number))
			}
		}
	}
	return dst
}

// appendEachTail is appendEachField for a text or a list.
func (p *Plan) appendEachTail(dst []byte, src unsafe.Pointer, o *op) []byte {
	f := o.tail
	// SAFETY: as of quantiseTails.
	at := unsafe.Add(src, o.offset)
	dst = binary.LittleEndian.AppendUint16(dst, *(*uint16)(at))
	if o.kind == opText {
		return append(dst, memory(at, f.start, uintptr(f.most))...)
	}
	for k, e := range f.elems {
		dst = e.appendEachField(dst, unsafe.Add(at, f.start+uintptr(k)*f.stride))
	}
	return dst
}

// bytesFrom returns the address of the byte at offset.
func bytesFrom(base *byte, offset uintptr) *byte {
	// SAFETY: offset lies within the rows that base begins.
	return (*byte)(unsafe.Add(unsafe.Pointer(base), offset))
}

// copyWords copies len(dst)*4 bytes, at least 64, in blocks of 64 with an overlapping last block. carries has the bits
// where adding ones to a word carried. ones is an argument so that it stays in a register.
func copyWords(dst []uint32, src []byte, ones uint64) (carries uint64) {
	last := uintptr(4*len(dst)) - 64
	_, _ = dst[15], src[4*len(dst)-1]
	for at := uintptr(0); ; at = min(at+64, last) {
		// SAFETY: 64 bytes lie from at on, at both; processors that want words aligned do not come here, see QuickWords.
		to := (*[8]uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(dst)), at))
		from := (*[8]uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(src)), at))
		a, b, c, d := from[0], from[1], from[2], from[3]
		to[0], to[1], to[2], to[3] = a, b, c, d
		carries |= ((a + ones) ^ a) | ((b + ones) ^ b) | ((c + ones) ^ c) | ((d + ones) ^ d)
		a, b, c, d = from[4], from[5], from[6], from[7]
		to[4], to[5], to[6], to[7] = a, b, c, d
		carries |= ((a + ones) ^ a) | ((b + ones) ^ b) | ((c + ones) ^ c) | ((d + ones) ^ d)
		if at == last {
			return carries
		}
	}
}

// lanesMemory returns lanes as bytes.
func lanesMemory(lanes []uint32) []byte {
	// SAFETY: any number may be read as bytes.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(lanes))), 4*len(lanes))
}

// Conversion converts rows of one plan to rows of another plan of the same type. It belongs to one goroutine.
type Conversion struct {
	from, to *Plan
	value    unsafe.Pointer // a component
}

// NewConversion returns the conversion between two plans of one type. A field that only to has is zero.
func NewConversion(from, to *Plan) Conversion {
	// SAFETY: the memory is that of a value of the type, which the garbage collector knows by its type.
	return Conversion{from: from, to: to, value: reflect.New(from.typ).UnsafePointer()}
}

// Row sets to to the quantised value of from. It never allocates.
func (c *Conversion) Row(from, to []uint32) {
	// SAFETY: value points to a value of the type of both plans.
	c.from.Dequantise(from, c.value)
	c.to.Quantise(c.value, to)
	if c.from.aimed && c.to.aimed { // a target has no memory
		copy(to[c.to.goal:c.to.goal+2], from[c.from.goal:])
	}
}

package quantize

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/wire"
)

// cell is a field's value as in memory, little-endian: a number in the low bytes of the first word, the four float32 of
// a quaternion in both.
type cell [2]uint64

// Debug turns packing off: rows are sent in the debug encoding, which is readable in a dump of bytes. It starts at a
// byte boundary. Each field has its size and value in memory, little-endian, as AppendFields appends it. Entity fields,
// and a relation's target after all others, are a network id: index and generation of 4 bytes each. Decoding is as
// strict as for the packed form: each value must be a quantised one. Describe includes that packing is off, so that the
// protocol hash differs if only one end calls Debug.
//
// Call it before the plan is used; afterwards the plan does not change.
func (p *Plan) Debug() {
	p.debug, p.bits = true, 0
	for i := range p.ops[:p.fixedOps] {
		first, second := p.ops[i].widths()
		p.bits += int(first + second)
	}
	p.debugTails()
}

// Debugging reports whether packing is off.
func (p *Plan) Debugging() bool { return p.debug }

// widths returns the bits of the field's first and second word in the debug encoding.
func (o *op) widths() (first, second uint) {
	switch o.kind {
	case opQuat:
		return 64, 64
	case opHandle, opID, opTarget:
		return 64, 0
	}
	return uint(o.size) * 8, 0
}

// writeDebug is WriteRow with packing off.
func (p *Plan) writeDebug(w *wire.BitWriter, lanes []uint32) {
	if len(p.ops) == 0 {
		return
	}
	w.Align()
	for i := range p.ops {
		if p.ops[i].tail != nil {
			p.ops[i].writeDebugTail(w, lanes)
			continue
		}
		c := p.ops[i].value(lanes)
		first, second := p.ops[i].widths()
		w.Write(c[0], first)
		w.Write(c[1], second)
	}
}

// readDebug is ReadRow with packing off.
func (p *Plan) readDebug(r *wire.BitReader, lanes []uint32) bool {
	if len(p.ops) == 0 {
		return !r.Failed()
	}
	lanes = lanes[:len(p.lanes)]
	ok := r.Read(uint(r.Remaining())&7) == 0
	for i := 0; ok && i < len(p.ops); i++ {
		if p.ops[i].tail != nil {
			ok = p.ops[i].readDebugTail(r, lanes)
			continue
		}
		first, second := p.ops[i].widths()
		c := cell{r.Read(first), r.Read(second)}
		ok = !r.Failed() && p.ops[i].take(c, lanes)
	}
	if !ok {
		r.Fail()
	}
	return ok
}

// value returns the field's value.
func (o *op) value(lanes []uint32) (c cell) {
	n := lanes[o.lane]
	switch o.kind {
	case opBool, opFloat32:
		c[0] = uint64(n)
	case opInt8, opInt16, opInt32:
		c[0] = uint64(n) ^ o.flip
	case opInt64, opFloat64:
		c[0] = (uint64(n) | uint64(lanes[o.lane+1])<<32) ^ o.flip
	case opRange:
		c[0] = o.ranged(lanes) & (^uint64(0) >> (64 - 8*uint(o.size)))
	case opFixed32:
		c[0] = uint64(math.Float32bits(float32(o.fixed(n))))
	case opFixed64:
		c[0] = math.Float64bits(o.fixed(n))
	case opAngle32:
		c[0] = uint64(math.Float32bits(float32(o.angle(n))))
	case opAngle64:
		c[0] = math.Float64bits(o.angle(n))
	case opHalf32:
		c[0] = uint64(math.Float32bits(halfOfLane(n).Float32()))
	case opHalf64:
		c[0] = math.Float64bits(float64(halfOfLane(n).Float32()))
	case opAxis32:
		c[0] = uint64(math.Float32bits(axisOfLane(n).Float32()))
	case opAxis64:
		c[0] = math.Float64bits(axisOfLane(n).Float64())
	case opHandle, opID, opTarget:
		if generation := lanes[o.lane+1]; generation != 0 {
			c[0] = uint64(n) | uint64(generation)<<32
		}
	case opQuat:
		var v [4]float32
		o.dequantiseQuat((*[4]uint32)(lanes[o.lane:]), &v)
		c[0] = uint64(math.Float32bits(v[0])) | uint64(math.Float32bits(v[1]))<<32
		c[1] = uint64(math.Float32bits(v[2])) | uint64(math.Float32bits(v[3]))<<32
	}
	return c
}

// take is the inverse of value. It reports whether c is a legal value of the field.
func (o *op) take(c cell, lanes []uint32) bool {
	reason := wire.NoFault
	single, double := float64(math.Float32frombits(uint32(c[0]))), math.Float64frombits(c[0])
	switch o.kind {
	case opBool, opInt8, opInt16, opInt32, opFloat32:
		lanes[o.lane] = uint32(c[0] ^ o.flip)
		if o.kind == opBool && c[0] > 1 || o.kind == opFloat32 && !finite32(uint32(c[0])) {
			return false
		}
	case opInt64:
		lanes[o.lane], lanes[o.lane+1] = uint32(c[0]^o.flip), uint32((c[0]^o.flip)>>32)
	case opFloat64:
		reason = o.quantiseFloat64(c[0], lanes)
	case opRange:
		reason = o.quantiseRange(o.extended(c[0]), lanes)
	case opFixed32:
		reason = o.quantiseFixed(single, lanes)
	case opFixed64:
		reason = o.quantiseFixed(double, lanes)
	case opAngle32:
		reason = o.quantiseAngle(single, lanes)
	case opAngle64:
		reason = o.quantiseAngle(double, lanes)
	case opHalf32:
		reason = o.quantiseHalf(single, lanes)
	case opHalf64:
		reason = o.quantiseHalf(double, lanes)
	case opAxis32:
		reason = o.quantiseAxis(single, lanes)
	case opAxis64:
		reason = o.quantiseAxis(double, lanes)
	case opHandle, opID, opTarget:
		lanes[o.lane], lanes[o.lane+1] = uint32(c[0]), uint32(c[0]>>32)
	case opQuat:
		v := c.quat()
		reason = o.quantiseQuat(&v, (*[4]uint32)(lanes[o.lane:]))
	}
	return reason == wire.NoFault && o.value(lanes) == c
}

// quat returns the four components.
func (c cell) quat() [4]float32 {
	return [4]float32{
		math.Float32frombits(uint32(c[0])), math.Float32frombits(uint32(c[0] >> 32)),
		math.Float32frombits(uint32(c[1])), math.Float32frombits(uint32(c[1] >> 32)),
	}
}

// extended returns an integer of the field's size with its sign extended to 64 bits.
func (o *op) extended(v uint64) uint64 {
	if !o.signed {
		return v
	}
	unused := 64 - 8*uint(o.size)
	return uint64(int64(v<<unused) >> unused)
}

// AppendPayload appends the fields of a message's payload (one row) in one line, or that it is illegal.
func (p *Plan) AppendPayload(dst, payload []byte) []byte {
	lanes, r := make([]uint32, p.Lanes()), wire.NewBitReader(payload)
	if !p.ReadRow(&r, lanes) || !r.Done() {
		dst = append(dst, "   not legal\n"...)
		return wire.AppendHex(dst, payload, 3)
	}
	dst = append(dst, "   "...)
	return append(p.AppendValues(dst, lanes), '\n')
}

// AppendValues appends the fields of a row by name, with the receiver's values, such as "Pos.X=1.5 Pos.Y=-3 Rot=(0 0 0
// 1) Target=12v3 Home=nil".
func (p *Plan) AppendValues(dst []byte, lanes []uint32) []byte {
	for i := range p.ops {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, p.ops[i].path...), '=')
		dst = p.appendField(dst, i, lanes)
	}
	return dst
}

// appendField appends the value of a field.
func (p *Plan) appendField(dst []byte, i int, lanes []uint32) []byte {
	o := &p.ops[i]
	if o.tail != nil {
		return o.appendTail(dst, lanes)
	}
	return o.appendValue(dst, o.value(lanes))
}

// appendValue appends a field's value in the shortest unambiguous text.
func (o *op) appendValue(dst []byte, c cell) []byte {
	switch o.kind {
	case opBool:
		return strconv.AppendBool(dst, c[0] != 0)
	case opInt8, opInt16, opInt32, opInt64, opRange:
		if o.signed {
			return strconv.AppendInt(dst, int64(o.extended(c[0])), 10)
		}
		return strconv.AppendUint(dst, c[0], 10)
	case opHandle, opID, opTarget:
		if c[0] == 0 {
			return append(dst, "nil"...)
		}
		return append(dst, wire.NetworkID{Index: uint32(c[0]), Generation: uint32(c[0] >> 32)}.String()...)
	case opQuat:
		before := byte('(')
		for _, v := range c.quat() {
			dst = strconv.AppendFloat(append(dst, before), float64(v), 'g', -1, 32)
			before = ' '
		}
		return append(dst, ')')
	}
	if o.size == 4 {
		return strconv.AppendFloat(dst, float64(math.Float32frombits(uint32(c[0]))), 'g', -1, 32)
	}
	return strconv.AppendFloat(dst, math.Float64frombits(c[0]), 'g', -1, 64)
}

// Outside describes an OutOfRange fault of a value: the number and the bounds of its tag, as "300, and its tag allows
// -100 to 100". It returns "" for other faults.
func (p *Plan) Outside(v reflect.Value, fault Fault) string {
	if fault.Reason != wire.OutOfRange {
		return ""
	}
	if o := p.fieldOf(fault.field); o != nil {
		return o.outsideOf(fieldBy(v, o.path))
	}
	return ""
}

// fieldOf returns the field with a path, also in an element of a list; nil if there is none.
func (p *Plan) fieldOf(path string) *op {
	for i := range p.ops {
		o := &p.ops[i]
		if o.path == path {
			return o
		}
		if o.kind != opList || !strings.HasPrefix(path, o.path) {
			continue
		}
		for _, e := range o.tail.elems {
			if of := e.fieldOf(path); of != nil {
				return of
			}
		}
	}
	return nil
}

// outsideOf describes a field's number and the bounds of its tag; "" for a field without bounds.
func (o *op) outsideOf(v reflect.Value) string {
	low, high := "", ""
	switch o.kind {
	case opFixed32, opFixed64:
		low, high = formatFloat(o.min, o.size), formatFloat(o.max, o.size)
	case opHalf32, opHalf64:
		low, high = formatFloat(-wire.MaxFloat16, 8), formatFloat(wire.MaxFloat16, 8)
	case opAxis32, opAxis64:
		low, high = "-1", "1"
	case opRange:
		least, most := o.low^o.flip, (o.low+o.count)^o.flip
		low, high = strconv.FormatUint(least, 10), strconv.FormatUint(most, 10)
		if o.signed {
			low, high = strconv.FormatInt(int64(least), 10), strconv.FormatInt(int64(most), 10)
		}
	default:
		return ""
	}
	number := ""
	switch {
	case v.CanFloat():
		number = formatFloat(v.Float(), uint8(v.Type().Size()))
	case v.CanInt():
		number = strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		number = strconv.FormatUint(v.Uint(), 10)
	}
	return fmt.Sprintf("%s, and its tag allows %s to %s", number, low, high)
}

// fieldBy returns the value at a path, in the form that compile uses: "Vel.X", "A[2]", or "value" for v itself.
func fieldBy(v reflect.Value, path string) reflect.Value {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if isTail(v.Type()) && step != "value" {
			v = v.Field(1) // the elements
		}
		switch v.Kind() {
		case reflect.Struct:
			v = v.FieldByName(step)
		case reflect.Array:
			i, _ := strconv.Atoi(step)
			v = v.Index(i)
		}
	}
	return v
}

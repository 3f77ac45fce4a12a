package quantize

import (
	"github.com/arche-netcode/netcode/wire"
	"math"
	"strconv"
)

// AppendPayload appends a message's payload, one row, in a line: its fields, or that they cannot be read.
func (p *Plan) AppendPayload(dst, payload []byte) []byte {
	lanes, r := make([]uint32, p.Lanes()), wire.NewBitReader(payload)
	if !p.ReadRow(&r, lanes) || !r.Done() {
		dst = append(dst, "   not legal\n"...)
		return wire.AppendHex(dst, payload, 3)
	}
	dst = append(dst, "   "...)
	return append(p.AppendValues(dst, lanes), '\n')
}

// AppendValues appends the fields of a row by name, with the values that they have at the receiver, such as
// "Pos.X=1.5 Pos.Y=-3 Rot=(0 0 0 1) Target=12v3 Home=nil".
func (p *Plan) AppendValues(dst []byte, lanes []uint32) []byte {
	for i := range p.ops {
		if i > 0 {
			dst = append(dst, ' ')
		}
		o := &p.ops[i]
		dst = append(append(dst, o.path...), '=')
		dst = o.appendValue(dst, o.value(lanes))
	}
	return dst
}

// appendValue appends a field's value in the shortest text that tells it from all others.
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

package quantize

import (
	"encoding/binary"
	"math"
)

// DequantiseRows is Dequantise for n rows of a column: it writes their fields into the components whose memory is dst, one behind the other. The lanes of each are
// stride behind those of the one before or, where there is an order, those of the k-th stride times order[k] from the first on. It returns false, having written
// nothing, for a plan with fields of other kinds than floats and rotations.
func (p *Plan) DequantiseRows(dst []byte, lanes []uint32, stride, n int, order []int32) bool {
	if !p.floatRows || n == 0 {
		return p.floatRows
	}
	size := int(p.Size())
	for i := range p.ops {
		o := &p.ops[i]
		to, from := dst[o.offset:], lanes[o.lane:]
		switch o.kind {
		case opFixed32:
			o.dequantiseFixedRows(to, from, size, stride, n, order)
		case opQuat:
			o.dequantiseQuatRows(to, from, size, stride, n, order)
		default:
			for k := range n {
				binary.NativeEndian.PutUint32(to[k*size:], from[placeOf(k, order)*stride])
			}
		}
	}
	return true
}

// placeOf is where the k-th row is.
func placeOf(k int, order []int32) int {
	if order == nil {
		return k
	}
	return int(order[k])
}

// onlyFloatRows reports whether DequantiseRows writes the plan's rows.
func (p *Plan) onlyFloatRows() bool {
	for i := range p.ops {
		if kind := p.ops[i].kind; kind != opFixed32 && kind != opQuat && kind != opFloat32 {
			return false
		}
	}
	return len(p.ops) > 0 && p.typ != nil
}

// dequantiseFixedRows is DequantiseRows for a field within bounds.
func (o *op) dequantiseFixedRows(dst []byte, lanes []uint32, size, stride, n int, order []int32) {
	least, most, step := o.min, o.max, o.step
	for k := range n {
		value := least + float64(float64(lanes[placeOf(k, order)*stride])*step)
		if value > most {
			value = most
		}
		binary.NativeEndian.PutUint32(dst[k*size:], math.Float32bits(float32(value)))
	}
}

// dequantiseQuatRows is DequantiseRows for a rotation.
func (o *op) dequantiseQuatRows(dst []byte, lanes []uint32, size, stride, n int, order []int32) {
	var v [4]float32
	for k := range n {
		o.dequantiseQuat((*[4]uint32)(lanes[placeOf(k, order)*stride:]), &v)
		to := (*[16]byte)(dst[k*size:])
		binary.NativeEndian.PutUint32(to[0:], math.Float32bits(v[0]))
		binary.NativeEndian.PutUint32(to[4:], math.Float32bits(v[1]))
		binary.NativeEndian.PutUint32(to[8:], math.Float32bits(v[2]))
		binary.NativeEndian.PutUint32(to[12:], math.Float32bits(v[3]))
	}
}

package quantize

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// QuantiseRows is Plan.Quantise for rows of one column. The first component of the column is at base, and each has size
// bytes. rows has the positions of the components; their lanes are consecutive in the order of rows. It appends to bad
// the position in rows of each faulty field, so that a row may occur several times. Quantise then names the fault,
// given the present lanes.
//
// It works field by field: the constants of a field stay in registers, and the latencies of different rows overlap.
func (p *Plan) QuantiseRows(base *byte, size int, rows []int32, lanes []uint32, bad []int32) []int32 {
	ops, n := p.fields(), len(p.lanes)
	if len(rows) == 0 {
		return bad
	}
	lanes = lanes[:len(rows)*n]
	if p.fixedOps < len(ops) {
		bad = p.quantiseTailRows(base, size, rows, lanes, bad)
	}
	for i := 0; i < p.fixedOps; i++ {
		o := &ops[i]
		switch o.kind {
		case opFixed32:
			bad = o.quantiseFixedRows(base, size, rows, lanes, n, bad)
		case opFloat32:
			for k, row := range rows {
				v := math.Float32bits(float32At(base, uintptr(int(row)*size)+o.offset))
				if !finite32(v) {
					bad = append(bad, int32(k))
					continue
				}
				lanes[k*n+o.lane] = v
			}
		case opQuat:
			bad = o.quantiseQuatRows(base, size, rows, lanes, n, bad)
		default:
			for k, row := range rows {
				at := fieldAt(base, uintptr(int(row)*size)+o.offset)
				if o.quantise(at, lanes[k*n:(k+1)*n]) != wire.NoFault {
					bad = append(bad, int32(k))
				}
			}
		}
	}
	return bad
}

// quantiseFixedRows is QuantiseRows for a bounded float, in rows of n lanes.
func (o *op) quantiseFixedRows(base *byte, size int, rows []int32, lanes []uint32, n int, bad []int32) []int32 {
	column := bytesFrom(base, o.offset)
	for k := 0; k < len(rows); k++ {
		if k += o.fixedRows(column, size, rows[k:], lanes[k*n+o.lane:], n); k == len(rows) {
			break
		}
		if o.quantiseFixed(float64(float32At(column, uintptr(int(rows[k])*size))), lanes[k*n:]) != wire.NoFault {
			bad = append(bad, int32(k))
		}
	}
	return bad
}

// fixedRows quantises rows in groups of four while all four are within bounds, and returns their number. It makes no
// call, and processes four rows at once to hide the latency of the conversions.
func (o *op) fixedRows(column *byte, size int, rows []int32, lanes []uint32, n int) (done int) {
	least, most, scale := o.min, o.max, o.scale
	for ; len(rows) >= 4 && len(lanes) > 3*n; rows, lanes = rows[4:], lanes[min(4*n, len(lanes)):] {
		a := float64(float32At(column, uintptr(int(rows[0])*size)))
		b := float64(float32At(column, uintptr(int(rows[1])*size)))
		c := float64(float32At(column, uintptr(int(rows[2])*size)))
		d := float64(float32At(column, uintptr(int(rows[3])*size)))
		if !(a >= least && a <= most && b >= least && b <= most && c >= least && c <= most && d >= least && d <= most) {
			return done
		}
		lanes[0] = uint32(int64(float64((a-least)*scale) + 0.5))
		lanes[n] = uint32(int64(float64((b-least)*scale) + 0.5))
		lanes[2*n] = uint32(int64(float64((c-least)*scale) + 0.5))
		lanes[3*n] = uint32(int64(float64((d-least)*scale) + 0.5))
		done += 4
	}
	return done
}

// quatRows quantises the leading rows that take the fast path of quantiseQuat, and returns their number. It makes no
// call and has no unpredictable branch.
func (o *op) quatRows(column *byte, size int, rows []int32, lanes []uint32, n int) (done int) {
	const magnitude = 1<<31 - 1
	slack, near, mid := o.slack, 4*o.step, float64(o.count)*0.5+0.5
	for at := 0; done < len(rows); done, at = done+1, at+n {
		v := quatAt(column, uintptr(int(rows[done])*size))
		x, y, z, w := math.Float32bits(v[0]), math.Float32bits(v[1]), math.Float32bits(v[2]), math.Float32bits(v[3])
		c := [4]float64{widened(x), widened(y), widened(z), widened(w)}
		if d := float64(c[0]*c[0]) + float64(c[1]*c[1]) + float64(c[2]*c[2]) + float64(c[3]*c[3]) - 1; !(d < slack && d > -slack) {
			return done
		}
		x2, y2 := int64(x&magnitude)<<2|3, int64(y&magnitude)<<2|2
		z2, w2 := int64(z&magnitude)<<2|1, int64(w&magnitude)<<2
		xy, zw := larger(x2, y2), larger(z2, w2)
		most := larger(xy, zw)
		second := larger(xy+zw-most, larger(x2+y2-xy, z2+w2-zw))
		if widened(uint32(second>>2)) > widened(uint32(most>>2))-near {
			return done
		}
		k := uint32(^most & 3)
		i, j, l := (k-1)>>31, 1+(k-2)>>31, 2+(k-3)>>31 // the three others, in order
		scale := math.Copysign(o.scale, c[k])
		to := (*[4]uint32)(lanes[at:])
		to[0] = k
		to[1] = uint32(int64(float64(c[i&3]*scale) + mid))
		to[2] = uint32(int64(float64(c[j&3]*scale) + mid))
		to[3] = uint32(int64(float64(c[l&3]*scale) + mid))
	}
	return done
}

// widened converts the bits of a float32 to float64 with integer arithmetic only. Subnormal numbers and zero become
// tiny numbers; infinities and NaN become numbers above all others. For a component of a unit quaternion the result is
// the same.
func widened(b uint32) float64 {
	return math.Float64frombits(uint64(b>>31)<<63 | uint64(b&(1<<31-1))<<29 + 896<<52)
}

// quantiseQuatRows is QuantiseRows for a rotation.
func (o *op) quantiseQuatRows(base *byte, size int, rows []int32, lanes []uint32, n int, bad []int32) []int32 {
	column := bytesFrom(base, o.offset)
	for k := 0; k < len(rows); k++ {
		if k += o.quatRows(column, size, rows[k:], lanes[k*n+o.lane:], n); k == len(rows) {
			break
		}
		if o.quantiseQuat(quatAt(column, uintptr(int(rows[k])*size)), (*[4]uint32)(lanes[k*n+o.lane:])) != wire.NoFault {
			bad = append(bad, int32(k))
		}
	}
	return bad
}

// DequantiseRows is Dequantise for n rows of a column. It writes their fields to the components in dst, which are
// consecutive. Consecutive rows are stride lanes apart. For a plan with fields other than floats and rotations it
// writes nothing and returns false.
func (p *Plan) DequantiseRows(dst []byte, lanes []uint32, stride, n int) bool {
	if !p.floatRows || n == 0 {
		return p.floatRows
	}
	size := int(p.Size())
	_, _ = dst[n*size-1], lanes[(n-1)*stride+len(p.lanes)-1]
	for i := range p.ops {
		o := &p.ops[i]
		to, from := dst[o.offset:], lanes[o.lane:]
		switch o.kind {
		case opFixed32:
			o.dequantiseFixedRows(to, from, size, stride, n)
		case opQuat:
			o.dequantiseQuatRows(to, from, size, stride, n)
		default:
			for k := range n {
				binary.NativeEndian.PutUint32(to[k*size:], from[k*stride])
			}
		}
	}
	return true
}

// SnapRows rounds n consecutive components of column to the values that are sent: it quantises each and writes the row
// back. It clamps values out of range. The rows are returned in lanes. A component with a value that keeps its lanes,
// such as NaN, is not changed.
func (p *Plan) SnapRows(column []byte, lanes []uint32, n int) {
	if n == 0 || len(p.lanes) == 0 {
		return
	}
	size, width := int(p.Size()), len(p.lanes)
	_, _ = column[n*size-1], lanes[n*width-1]
	var rows [64]int32
	var faults [4 * len(rows)]int32 // each field of a row may have one fault
	for k := range rows[:min(n, len(rows))] {
		rows[k] = int32(k)
	}
	for count := 0; n > 0; n, column, lanes = n-count, column[count*size:], lanes[count*width:] {
		count = min(n, len(rows), max(1, len(faults)/len(p.ops)))
		bad := p.QuantiseRows(&column[0], size, rows[:count], lanes, faults[:0])
		if len(bad) == 0 && p.DequantiseRows(column, lanes, width, count) {
			continue
		}
		for k := range count {
			at := fieldAt(&column[k*size], 0)
			if !slices.Contains(bad, int32(k)) || !p.Quantise(at, lanes[k*width:]).kept {
				p.Dequantise(lanes[k*width:], at)
			}
		}
	}
}

// onlyFloatRows reports whether DequantiseRows supports the plan.
func (p *Plan) onlyFloatRows() bool {
	for i := range p.ops {
		if kind := p.ops[i].kind; kind != opFixed32 && kind != opQuat && kind != opFloat32 {
			return false
		}
	}
	return len(p.ops) > 0 && p.typ != nil
}

// dequantiseFixedRows is DequantiseRows for a bounded float.
func (o *op) dequantiseFixedRows(dst []byte, lanes []uint32, size, stride, n int) {
	least, most, step := o.min, o.max, o.step
	for k := range n {
		value := least + float64(float64(lanes[k*stride])*step)
		if value > most {
			value = most
		}
		binary.NativeEndian.PutUint32(dst[k*size:], math.Float32bits(float32(value)))
	}
}

// dequantiseQuatRows is DequantiseRows for a rotation.
func (o *op) dequantiseQuatRows(dst []byte, lanes []uint32, size, stride, n int) {
	var v [4]float32
	for k := range n {
		o.dequantiseQuat((*[4]uint32)(lanes[k*stride:]), &v)
		to := (*[16]byte)(dst[k*size:])
		binary.NativeEndian.PutUint32(to[0:], math.Float32bits(v[0]))
		binary.NativeEndian.PutUint32(to[4:], math.Float32bits(v[1]))
		binary.NativeEndian.PutUint32(to[8:], math.Float32bits(v[2]))
		binary.NativeEndian.PutUint32(to[12:], math.Float32bits(v[3]))
	}
}

// Rows compares consecutive rows of equal size, up to 64 at once.
type Rows struct{ size int }

// NewRows prepares to compare rows of size bytes.
func NewRows(size int) Rows { return Rows{size: size} }

// Differing compares the first n rows of two memories, at most 64. It returns a bitmask of the rows that differ, row 0
// in bit 0. It has no unpredictable branch for the usual sizes.
func (r Rows) Differing(a, b []byte, n int) (rows uint64) {
	a, b = a[:n*r.size], b[:n*r.size]
	switch size := r.size; size {
	case 8:
		for i := 0; len(a) >= 8 && len(b) >= 8; i, a, b = i+1, a[8:], b[8:] {
			d := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b)
			rows |= (d | -d) >> 63 << (i & 63)
		}
	case 12:
		for i := 0; len(a) >= 12 && len(b) >= 12; i, a, b = i+1, a[12:], b[12:] {
			x, y := (*[12]byte)(a), (*[12]byte)(b)
			d := (binary.LittleEndian.Uint64(x[:8]) ^ binary.LittleEndian.Uint64(y[:8])) | (binary.LittleEndian.Uint64(x[4:]) ^ binary.LittleEndian.Uint64(y[4:]))
			rows |= (d | -d) >> 63 << (i & 63)
		}
	case 16:
		for i := 0; len(a) >= 16 && len(b) >= 16; i, a, b = i+1, a[16:], b[16:] {
			x, y := (*[16]byte)(a), (*[16]byte)(b)
			d := (binary.LittleEndian.Uint64(x[:8]) ^ binary.LittleEndian.Uint64(y[:8])) | (binary.LittleEndian.Uint64(x[8:]) ^ binary.LittleEndian.Uint64(y[8:]))
			rows |= (d | -d) >> 63 << (i & 63)
		}
	default:
		for i := 0; i < n; i, a, b = i+1, a[size:], b[size:] {
			if string(a[:size]) != string(b[:size]) {
				rows |= 1 << (i & 63)
			}
		}
	}
	return rows
}

// DifferingLanes is Differing for lanes of 4 bytes.
func (r Rows) DifferingLanes(a, b []uint32, n int) (rows uint64) {
	return r.Differing(lanesMemory(a), lanesMemory(b), n)
}

// DifferingAt is DifferingLanes with rows of b that are stride lanes apart.
func (r Rows) DifferingAt(a, b []uint32, stride, n int) (rows uint64) {
	words := r.size / 4
	for i := range n {
		if !slices.Equal(a[i*words:][:words], b[i*stride:][:words]) {
			rows |= 1 << (i & 63)
		}
	}
	return rows
}

// SameAt reports whether all rows are equal, with the arguments of DifferingAt. n is not limited.
func (r Rows) SameAt(a, b []uint32, stride, n int) bool {
	words := r.size / 4
	for i := range n {
		if !slices.Equal(a[i*words:][:words], b[i*stride:][:words]) {
			return false
		}
	}
	return true
}

// CopyFloats decodes the lanes of exactly sent float32 fields from byte-aligned consecutive rows. It returns false if a
// float is not finite or buf is too short.
func CopyFloats(lanes []uint32, buf []byte) bool {
	if len(buf) < 4*len(lanes) {
		return false
	}
	if QuickWords && len(lanes) >= 16 {
		return copyWords(lanes, buf, exponentOnes)&exponentCarries == 0
	}
	carries := uint32(0)
	for i := range lanes {
		v := binary.LittleEndian.Uint32(buf[4*i:])
		lanes[i] = v
		carries |= (v + exponentOne) ^ v
	}
	return carries>>31 == 0
}

// QuickWords tells that eight-byte words have the byte order of the wire and need no alignment. Lanes may then be
// copied two at a time. Package netecs uses it too.
const QuickWords = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "wasm"

// Adding one to an exponent of all ones carries into the sign bit: then the float is not finite.
const (
	exponent        = 0x7F80_0000
	exponentOne     = 0x0080_0000
	exponents       = exponent<<32 | exponent
	exponentOnes    = exponentOne<<32 | exponentOne
	exponentCarries = 0x8000_0000_8000_0000
)

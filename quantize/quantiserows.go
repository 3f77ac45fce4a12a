package quantize

import (
	"github.com/arche-netcode/netcode/wire"
	"math"
)

// QuantiseRows is Plan.Quantise for rows of one column, of whose components the first is at base and each has size bytes.
// Their lanes lie one row behind the other in the order of rows. It appends to bad the positions in rows of those with a
// fault, one as often as its fields have any: Quantise says which, given the lanes as they are now.
//
// It goes field by field: what a field takes stays in registers, and what one row waits for overlaps with other rows.
func (p *Plan) QuantiseRows(base *byte, size int, rows []int32, lanes []uint32, bad []int32) []int32 {
	ops, n := p.fields(), len(p.lanes)
	if len(rows) == 0 {
		return bad
	}
	lanes = lanes[:len(rows)*n]
	for i := 0; i < len(ops); i++ {
		o := &ops[i]
		switch o.kind {
		case opFixed32:
			if o.run > 0 {
				r := &p.runs[o.run-1]
				bad = quantiseRun(r, ops[i:], base, size, rows, lanes, n, bad)
				i += int(r.Fields) - 1
				continue
			}
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

// quantiseFixedRows is QuantiseRows for a float within bounds, of rows of n lanes.
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

// fixedRows quantises rows as long as four together are within bounds, and returns how many it did. It calls nothing, and four
// are under way at once: a conversion waits for what its register held before.
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

// quatRows is quantiseQuat for rows that its fast path is for, and returns how many of them come first. It calls nothing and
// has no branch that nobody can foresee.
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

// widened is the float64 of a float32's bits, by arithmetic that waits for nothing. Of those below the normal ones, zero
// included, it makes one that is about as small, and of those that are no numbers one above all: for a component of a
// quaternion of length 1 that comes to the same.
func widened(b uint32) float64 {
	return math.Float64frombits(uint64(b>>31)<<63 | uint64(b&(1<<31-1))<<29 + 896<<52)
}

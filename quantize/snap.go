package quantize

import "github.com/arche-netcode/netcode/internal/kernel"

// unitError bounds the error of float32 arithmetic in SnapQuats' tests: the squared length near 1, and the difference
// of two components. A slack is at least five times as large.
const unitError = 5e-7

// newQuats returns the constants of SnapQuats; nil if the plan's rows are not exactly one rotation.
func (p *Plan) newQuats() *kernel.QuatNumbers {
	if !p.wide || len(p.ops) != 1 || p.ops[0].kind != opQuat || p.typ == nil || p.Size() != 16 {
		return nil
	}
	o, q := &p.ops[0], &kernel.QuatNumbers{Last: [4]uint32{3, 3, 3, 3}}
	for i := range q.One {
		q.One[i], q.Scale[i], q.Mid[i], q.Step[i], q.Edge[i] = 1, o.scale, float64(o.count)*0.5+0.5, o.step, quatEdge
	}
	q.Unit, q.UnitSlack, q.UnitNear = 1, float32(o.slack-unitError), float32(4*o.step+unitError)
	return q
}

// snapQuats is snapRows in assembly, for blocks of rotations. It returns the number of rows done: all but those after
// the last full block.
func (p *Plan) snapQuats(column []byte, lanes []uint32, n int) (done int) {
	for n -= n % kernel.QuatBlock; done < n; {
		blocks, odd := kernel.SnapQuats(p.quats, &column[16*done], &lanes[4*done], (n-done)/kernel.QuatBlock)
		done += blocks * kernel.QuatBlock
		for ; odd != 0; odd &= odd - 1 {
			row := done - kernel.QuatBlock + kernel.OddQuat(odd)
			if at := fieldAt(&column[16*row], 0); !p.Quantise(at, lanes[4*row:]).kept {
				p.Dequantise(lanes[4*row:], at)
			}
		}
	}
	return done
}

package quantize

import "github.com/arche-netcode/netcode/internal/kernel"

// unitError bounds the error of float32 arithmetic in SnapQuats' tests: the squared length near 1, and the difference
// of two components. A slack is at least five times as large.
const unitError = 5e-7

// snapsQuats reports whether rows are exactly one rotation and the assembly is available.
func (p *Plan) snapsQuats() bool { return p.ops[0].quat != nil }

// snapQuats is snapRows in assembly, for blocks of rotations. It returns the number of rows done: all but those after
// the last full block.
func (p *Plan) snapQuats(column []byte, lanes []uint32, n int) (done int) {
	for n -= n % kernel.QuatBlock; done < n; {
		blocks, odd := kernel.SnapQuats(p.ops[0].quat, &column[16*done], &lanes[4*done], (n-done)/kernel.QuatBlock)
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

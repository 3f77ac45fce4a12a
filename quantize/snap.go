package quantize

import "github.com/arche-netcode/netcode/internal/kernel"

// unitError is more than float32 arithmetic adds to what SnapQuats tests: the square of a length near 1, and the difference of two components. A slack is five
// times as large at least.
const unitError = 5e-7

// snapsQuats tells if rows are one rotation each and nothing else, and the processor is made for snapQuats.
func (p *Plan) snapsQuats() bool { return len(p.ops) == 1 && p.ops[0].quat != nil && p.Size() == 16 }

// snapQuats is snapRows, its plain twin, for blocks of rotations. It returns how many rows it did: all but those behind the last block.
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

package delta

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/internal/kernel"
)

// Where the processor has registers of eight numbers, the tokens of a column are found two to four rows at a time, in assembly (docs/adr/0023). What comes of
// it is, bit for bit, what comes of the loops of strandsrow.go, which are what every other processor has; tests hold them against each other.

// widest is the largest age, and span, that is gone through so: a movement times that is less than 2^47, for which float64 is exact.
const widest = 1 << 16

// quatNumbers are the numbers that the rotations of a column are extrapolated with.
func (d *Delta) quatNumbers(age, span int64) kernel.Quats {
	return kernel.Quats{
		M: d.m, Straight: int64(bitOf(age|span == 1)), Age: float64(age), Half: float64(span/2) + 0.5, Part: 1 / float64(span),
		Limit: float64(4 * d.m), Whole: float64(2 * d.m * d.m), Length: float64(d.length),
	}
}

// goWide sets d.tops, if columns of such rows are to have their tokens found several rows at a time.
func (d *Delta) goWide() {
	if !d.wide || !d.ready || d.row == rowOther {
		return
	}
	var tops kernel.Tops
	for i := range d.lanes {
		if d.lanes[i].bits > 31 {
			return
		}
		tops[i], tops[i+groupLanes] = uint32(d.top(i)), uint32(d.top(i))
	}
	d.tops = tops
}

// wideAt is tokensAt of rows that are gone through several at a time.
func (d *Delta) wideAt(s *Strands, c *Column, first int, age, span int64) {
	_ = s.Usual[:s.N]                // SAFETY: of all that the assembly reads and writes there are MaxStrands rows, whole fours, and these are no more
	last := &d.lanes[len(d.lanes)-1] // all have as many contexts
	contexts, nothing := uint16(first*kernel.ShortTokens), uint16(len(last.short)-2)
	now, base, from := &c.Now, &c.Base, &c.Before
	half, part := float64(span/2)+0.5, 1/float64(span)
	if d.row == rowTurn {
		t := d.quatNumbers(age, span)
		from = &s.Origin
		kernel.AimQuats(&s.batch, c, &t)
		kernel.QuatParts(&s.batch, c, &t)
	} else {
		for k := 0; k < MaxStrands; k += 8 {
			binary.LittleEndian.PutUint64(s.Usual[k:], binary.LittleEndian.Uint64(c.Differ[k:])&0x0F0F0F0F0F0F0F0F)
		}
		clear(s.Odd[:])
		if age|span != 1 {
			from = &s.Origin
			kernel.Retrace(from, base, &c.Before, s.N, float64(age), half, part)
		}
	}
	kernel.Tokens(&s.batch, now, base, from, &d.tops, contexts, nothing)
}

package wire

import "encoding/binary"

// Where the processor has registers of eight numbers, the tokens of a column are found two to four rows at a time, in assembly (docs/adr/0023). What comes of
// it is, bit for bit, what comes of the loops of strandsrow.go, which are what every other processor has; tests hold them against each other.

type (
	// wideColumn is a version of a column's rows, one behind the other.
	wideColumn [MaxStrands * groupLanes]uint32
	// wideTops is the largest number of each lane, twice.
	wideTops [2 * groupLanes]uint32
)

// widest is the largest age, and span, that is gone through so: a movement times that is less than 2^47, for which float64 is exact.
const widest = 1 << 16

// turnNumbers is what the rotations of a column take.
type turnNumbers struct {
	m               int64   // Delta.m
	straight        int64   // 1 where age and span are 1
	age, half, part float64 // of which half is half of span, rounded down, and 1/2, and part 1 through span
	limit           float64 // how far a component goes on
	whole           float64 // the square of the length that quaternions have,
	length          float64 // and Delta.length
}

// goWide sets d.tops, if columns of such rows are to have their tokens found several rows at a time.
func (d *Delta) goWide() {
	if !d.wide || !d.ready || d.row == rowOther {
		return
	}
	var tops wideTops
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
	_ = s.usual[:s.n]                // SAFETY: of all that the assembly reads and writes there are MaxStrands rows, whole fours, and these are no more
	last := &d.lanes[len(d.lanes)-1] // all have as many contexts
	contexts, nothing := uint16(first*shortTokens), uint16(len(last.short)-2)
	now, base, from := (*wideColumn)(&c.now), (*wideColumn)(&c.base), (*wideColumn)(&c.before)
	half, part := float64(span/2)+0.5, 1/float64(span)
	if d.row == rowTurn {
		t := turnNumbers{d.m, int64(bit(age|span == 1)), float64(age), half, part, float64(4 * d.m), float64(2 * d.m * d.m), float64(d.length)}
		from = &s.from
		aimWide(s, c, &t)
		partsWide(s, c, &t)
	} else {
		for k := 0; k < MaxStrands; k += 8 {
			binary.LittleEndian.PutUint64(s.usual[k:], binary.LittleEndian.Uint64(c.differ[k:])&0x0F0F0F0F0F0F0F0F)
		}
		clear(s.odd[:])
		if age|span != 1 {
			from = &s.from
			goOnWide(from, base, (*wideColumn)(&c.before), s.n, float64(age), half, part)
		}
	}
	findWide(s, now, base, from, &d.tops, contexts, nothing)
}

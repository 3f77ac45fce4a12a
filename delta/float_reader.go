package delta

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A RowReader decodes rows of only floats in two steps: the extrapolations of all rows of a group, then the tokens of each. The rows equal
// those of Delta.Read.

// floatsExpected has the extrapolations of rows of floats, by row and lane.
type floatsExpected struct {
	at         [MaxExpected * groupLanes]int32  // the lane, in the order of floats
	context    [MaxExpected * groupLanes]uint32 // of its token without the previous lane's miss, times 2; plus 1 if it is extrapolated downwards
	more, less [MaxExpected]float64             // of rotations, by row: see spinFactors
}

const (
	floatInfinite = 0x7F800000 // the bits of the infinite float
	expectedLanes = MaxExpected*groupLanes - 1
)

// expect extrapolates n rows of d. Consecutive rows are stride lanes apart. first is the context without movement.
func (e *floatsExpected) expect(d *Delta, n, stride int, base, before []uint32, first int, age, span int64) {
	width, turns, contexts := len(d.lanes), int64(0), uint32(2*first)
	if d.spins {
		turns = spinTurns(age, span)
	}
	if turns > 0 {
		for k, at := 0, 0; k < n; k, at = k+1, at+stride {
			i := k & (MaxExpected - 1)
			e.more[i], e.less[i] = spinFactors((*[4]uint32)(base[at:]), (*[4]uint32)(before[at:]), turns)
		}
	}
	times, part := float64(age), float64(span)
	for k, row := 0, 0; k < n; k, row = k+1, row+stride {
		r1, r2, to := base[row:row+width], before[row:row+width], k*groupLanes
		more, less := e.more[k&(MaxExpected-1)], e.less[k&(MaxExpected-1)]
		for i, b := range r1 {
			now, was := float64(math.Float32frombits(b)), float64(math.Float32frombits(r2[i&(groupLanes-1)]))
			var lane uint32
			if turns > 0 {
				lane = math.Float32bits(float32(float64(more*now) - float64(less*was)))
			} else {
				step := now - was
				if age|span != 1 {
					step = float64(float64(step*times) / part)
				}
				lane = math.Float32bits(float32(now + step))
			}
			if lane&floatInfinite == floatInfinite {
				lane = b
			}
			expected := orderedFloat(lane)
			movement := expected - orderedFloat(b)
			side := movement >> 63
			steps := uint32(bits.Len64(uint64(movement^side-side))) / 2
			j := (to + i) & expectedLanes
			e.at[j], e.context[j] = int32(expected), contexts+min(steps, movementSteps)*(2*misses)+uint32(side&1)
		}
	}
}

// floatRoom is more than the bytes that the bits of a row of floats lie in.
const floatRoom = 48

// floats decodes a row of floats that differs. lanes has the row as of T.
func (q *RowReader) floats(row *expectedRow, k int, lanes []uint32) (read, legal bool) {
	at, acc, n, miss, buf := q.At, q.Acc, q.N, q.Miss, q.Buf
	if at+floatRoom > len(buf) {
		return false, true
	}
	entry := uint(row.which.entries[uint(row.Context[k&(MaxExpected-1)])|uint(uint8(acc))])
	if entry&sizeMask == 0 {
		entry = row.which.long(uint(row.Context[k&(MaxExpected-1)]), acc)
	}
	acc, n = acc>>(entry&sizeMask), n-entry&sizeMask
	changed := entry >> symbolShift
	if changed == 0 {
		return true, false
	}
	for ; changed != 0; changed &= changed - 1 {
		acc |= binary.LittleEndian.Uint64(buf[at:]) << (n & 63)
		at, n = at+int((63-n)>>3), n|56
		i := uint(bits.TrailingZeros(changed)) & (groupLanes - 1)
		j := (uint(k)*groupLanes + i) & expectedLanes
		context := uint(row.floats.context[j])
		place := context>>1<<decoderBits + miss
		entry := uint(row.tokens[i].entries[place|uint(uint8(acc))])
		if entry&sizeMask == 0 {
			entry = row.tokens[i].long(place, acc)
		}
		size, length := entry&sizeMask, entry>>lengthShift&lengthMask
		raw := (size - length) & 63
		magnitude := uint64(entry>>topShift&3)<<raw | acc>>length&(1<<raw-1)
		acc, n = acc>>size, n-size
		sign := -(uint64(entry>>signShift^context) & 1)
		lane, ok := floatAt(int64(row.floats.at[j]), int64(magnitude^sign-sign))
		if !ok || lane&floatInfinite == floatInfinite || lane == lanes[i] {
			return true, false
		}
		lanes[i], miss = lane, entry>>missShift<<decoderBits
	}
	q.At, q.Acc, q.N, q.Miss = at, acc, n, miss
	return true, true
}

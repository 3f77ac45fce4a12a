package wire

import (
	"encoding/binary"
	"math/bits"
)

// RowReader reads rows that were extrapolated together. It takes the bits of a [BitReader] and gives back what it has not read. What it does not read
// itself, [Delta.Read] reads: the two read the same.
type RowReader struct {
	buf  []byte // of the reader it began with
	at   int    // the next byte of buf that is not in acc
	acc  uint64 // bits next to be read; above n some that come after them
	n    uint   // how many
	miss int    // Versions.Miss of the rows of an entity
}

// Begin begins with what is left of a reader.
func (q *RowReader) Begin(r *BitReader) { q.Resume(r, 0) }

// Resume is Begin for the next rows of an entity of which others have been read.
func (q *RowReader) Resume(r *BitReader, miss int) {
	q.buf, q.at, q.acc, q.n, q.miss = r.buf, 0, r.acc, r.n, miss
}

// End gives back what is left.
func (q *RowReader) End(r *BitReader) {
	if q.n < 64 {
		q.acc &= 1<<q.n - 1
	}
	r.buf, r.acc, r.n = q.buf[q.at:], q.acc, q.n
}

// Miss is what Versions.Miss is after the rows that were read.
func (q *RowReader) Miss() int { return q.miss }

// refill brings at least 56 bits into the accumulator, or all that are left.
func (q *RowReader) refill() {
	if q.n >= 56 {
		return
	}
	if at := q.at; at+8 <= len(q.buf) {
		q.acc |= binary.LittleEndian.Uint64(q.buf[at:]) << (q.n & 63)
		q.at, q.n = at+int((63-q.n)>>3), q.n|56
		return
	}
	q.refillLast()
}

// refillLast is refill near the end.
func (q *RowReader) refillLast() {
	q.acc &= 1<<(q.n&63) - 1
	for ; q.at < len(q.buf) && q.n <= 56; q.at, q.n = q.at+1, q.n+8 {
		q.acc |= uint64(q.buf[q.at]) << q.n
	}
}

// Row reads the k-th row of those that were extrapolated, which was base at T. It returns false, having read nothing, where Delta.Read has to.
func (q *RowReader) Row(d *Delta, e *Expected, k int, lanes, base []uint32) bool {
	if e.odd[k&(MaxExpected-1)] {
		return false
	}
	q.refill()
	at, acc, n := q.at, q.acc, q.n
	if q.row(d, e, k&(MaxExpected-1), lanes[:len(d.lanes)], base[:len(d.lanes)]) {
		return true
	}
	q.at, q.acc, q.n = at, acc, n
	return false
}

// row is Row, but for what it has read where it returns false.
func (q *RowReader) row(d *Delta, e *Expected, k int, lanes, base []uint32) bool {
	acc, n, miss := q.acc, q.n, q.miss
	changed, length := d.groups[0].read.symbol(int(e.which[k]), acc)
	if length > n || changed == 0 || d.row == rowTurn && changed&1 != 0 {
		return false
	}
	acc, n = acc>>(length&63), n-length
	copy(lanes, base)
	for ; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros(changed) & (groupLanes - 1)
		l, of := &d.lanes[i], uint(e.context[i][k])
		context := of>>1 + uint(miss)
		entry := uint(l.read.entries[context<<decoderBits|uint(acc&(1<<decoderBits-1))])
		if entry == 0 {
			entry = l.read.long(int(context), acc)
		}
		raw := entry >> rawShift & rawMask
		size := entry&lengthMask + raw
		if size > n {
			q.acc, q.n = acc, n
			q.refill()
			if acc, n = q.acc, q.n; size > n {
				return false
			}
		}
		magnitude := uint64(entry>>topShift&3)<<raw | acc>>(entry&lengthMask)&(1<<raw-1)
		acc, n = acc>>(size&63), n-size
		sign := -uint64(entry>>signShift&1 ^ of&1)
		now := uint64(e.lane[i][k]) + (magnitude ^ sign - sign)
		if now > l.most || uint32(now) == base[i] {
			return false
		}
		lanes[i], miss = uint32(now), int(entry>>missShift)
	}
	if d.row == rowTurn && !d.plan.ops[d.plan.lanes[0].op].legalQuat((*[4]uint32)(lanes)) {
		return false
	}
	q.acc, q.n, q.miss = acc, n, miss
	return true
}

// Symbol reads a symbol of a table in a context. It returns false, having read nothing, where the bits end.
func (q *RowReader) Symbol(t *SymbolReader, context int) (symbol uint, ok bool) {
	q.refill()
	symbol, length := t.symbol(context, q.acc)
	if length > q.n {
		return 0, false
	}
	q.acc, q.n = q.acc>>(length&63), q.n-length
	return symbol, true
}

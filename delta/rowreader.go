package delta

import (
	"encoding/binary"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
	"math/bits"
)

// RowReader reads rows that were extrapolated together. It takes the bits of a [BitReader] and gives back the rest. It reads the same as [Delta.Read],
// which it calls for rare rows.
type RowReader struct {
	buf []byte // of the reader it began with
	at  int    // the next byte of buf that is not in acc
	acc uint64 // bits next to be read; above n some that come after them
	n   uint   // how many

	miss uint // Versions.Miss
}

// Begin begins with the bits that are left of a reader.
func (q *RowReader) Begin(r *wire.BitReader) {
	q.buf, q.acc, q.n = r.State()
	q.at = 0
}

// End gives back the bits that are left.
func (q *RowReader) End(r *wire.BitReader) {
	r.SetState(q.buf[q.at:], q.acc&(1<<q.n-1), q.n)
}

// refillLast brings the bits that are left near the end into the accumulator, 56 of them or all.
func refillLast(buf []byte, at int, acc uint64, n uint) (int, uint64, uint) {
	for acc &= 1<<n - 1; at < len(buf) && n < 56; at, n = at+1, n+8 {
		acc |= uint64(buf[at]) << n
	}
	return at, acc, n
}

// Entity reads the rows of the k-th entity of those whose rows were extrapolated, all that its record says. Its lanes were base at T and, where T' is leaned on, before
// at T'. It returns false where Delta.Read would for one of them, or the bits end.
func (q *RowReader) Entity(groups []RowGroup, k int, lanes, base, before []uint32) bool {
	k &= MaxExpected - 1
	q.miss = 0
	copy(lanes, base)
	for i := range groups {
		g := &groups[i]
		q.refill()
		entry := uint(g.symbols[uint(g.context[k])|uint(q.acc&(1<<decoderBits-1))])
		if entry == 0 {
			entry = g.which.long(uint(g.context[k]), q.acc)
		}
		if entry&lengthMask > q.n {
			return false
		}
		q.acc, q.n = q.acc>>(entry&lengthMask), q.n-entry&lengthMask
		for changed := entry >> rawShift; changed != 0; changed &= changed - 1 {
			row := &g.rows[bits.TrailingZeros(changed)&(MaxGroupRows-1)]
			q.refill()
			if row.which == nil {
				if !q.rare(row, lanes, base, before) {
					return false
				}
			} else if !q.row(row, k, lanes, base, before) {
				return false
			}
		}
	}
	return true
}

// row reads a row that differs.
func (q *RowReader) row(row *expectedRow, k int, lanes, base, before []uint32) bool {
	acc, n, miss := q.acc, q.n, q.miss
	entry := uint(row.symbols[uint(row.context[k])|uint(acc&(1<<decoderBits-1))])
	if entry == 0 {
		entry = row.which.long(uint(row.context[k]), acc)
	}
	to, changed := lanes[row.at:], entry>>rawShift
	if changed&row.odd != 0 {
		return q.rare(row, lanes, base, before)
	}
	if entry&lengthMask > n || changed == 0 {
		return false
	}
	acc, n = acc>>(entry&lengthMask), n-entry&lengthMask
	for ; changed != 0; changed &= changed - 1 {
		if n < MaxCodeLength {
			q.at, acc, n = refillLast(q.buf, q.at, acc, n)
		}
		i := uint(bits.TrailingZeros(changed)) & (groupLanes - 1)
		cell := row.cells[uint(k)<<2|i]
		context := uint(cell>>cellContext) + miss<<decoderBits
		entry := uint(row.tokens[i][context&(1<<16-1)|uint(acc&(1<<decoderBits-1))])
		if entry == 0 {
			entry = row.lanes[i].read.long(context, acc)
		}
		raw := entry >> rawShift & rawMask
		size := entry&lengthMask + raw
		if size > n {
			if q.at, acc, n = refillLast(q.buf, q.at, acc, n); size > n {
				return false
			}
		}
		magnitude := uint64(entry>>topShift&3)<<raw | acc>>(entry&lengthMask)&(1<<raw-1)
		acc, n = acc>>(size&63), n-size
		sign := -(uint64(entry>>signShift&1) ^ cell>>cellSign&1)
		now := uint64(uint32(cell)) + (magnitude ^ sign - sign)
		if now > row.most[i] || uint32(now) == to[i] {
			return false
		}
		to[i], miss = uint32(now), entry>>missShift
	}
	q.acc, q.n, q.miss = acc, n, miss
	return !row.turn || row.legalTurn((*[4]uint32)(to))
}

// refill brings 56 bits into the accumulator, or all that are left.
func (q *RowReader) refill() {
	if at := q.at; at+8 <= len(q.buf) && q.n < 56 {
		q.acc |= binary.LittleEndian.Uint64(q.buf[at:]) << (q.n & 63)
		q.at, q.n = at+int((63-q.n)>>3), q.n|56
		return
	}
	q.at, q.acc, q.n = refillLast(q.buf, q.at, q.acc, q.n)
}

// rare reads a row by Delta.Read.
func (q *RowReader) rare(row *expectedRow, lanes, base, before []uint32) bool {
	var r wire.BitReader
	q.End(&r)
	if !row.read(&r, lanes[row.at:], base, before, &q.miss) {
		return false
	}
	q.Begin(&r)
	return true
}

// read reads a row by Delta.Read.
func (e *expectedRow) read(r *wire.BitReader, lanes, base, before []uint32, miss *uint) bool {
	n := len(e.delta.lanes)
	v := quantize.Versions{Base: base[e.at:][:n], Age: e.age, Span: e.span, Miss: int(*miss)}
	if before != nil {
		v.Before = before[e.at:][:n]
	}
	ok := e.delta.Read(r, lanes[:n], &v)
	*miss = uint(v.Miss)
	return ok
}

// legalTurn is op.legalQuat for lanes that are no larger than they may be. Far from a tie whole numbers tell: a step is two of them.
func (e *expectedRow) legalTurn(lanes *[4]uint32) bool {
	m := int64(e.most[1])
	x, y, z := 2*int64(lanes[1])-m, 2*int64(lanes[2])-m, 2*int64(lanes[3])-m
	if near := max(abs(x), abs(y), abs(z)) + 3; near*near <= 2*m*m-x*x-y*y-z*z {
		return true
	}
	return e.delta.plan.LegalRow(lanes[:])
}

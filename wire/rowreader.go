package wire

import (
	"encoding/binary"
	"math/bits"
)

// RowReader reads rows that were extrapolated together. It takes the bits of a [BitReader] and gives back what it has not read. What it does not read
// itself, [Delta.Read] reads: the two read the same.
type RowReader struct {
	buf []byte // of the reader it began with
	at  int    // the next byte of buf that is not in acc
	acc uint64 // bits next to be read; above n some that come after them
	n   uint   // how many
}

// Begin begins with what is left of a reader.
func (q *RowReader) Begin(r *BitReader) { q.buf, q.at, q.acc, q.n = r.buf, 0, r.acc, r.n }

// End gives back what is left.
func (q *RowReader) End(r *BitReader) {
	r.buf, r.acc, r.n = q.buf[q.at:], q.acc&(1<<q.n-1), q.n
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
	buf, at, acc, n, miss := q.buf, q.at, q.acc, q.n, uint(0)
	k &= MaxExpected - 1
	copy(lanes, base)
	for i := range groups {
		g := &groups[i]
		if at+8 > len(buf) || n >= 56 {
			at, acc, n = refillLast(buf, at, acc, n)
		} else {
			acc |= binary.LittleEndian.Uint64(buf[at:]) << (n & 63)
			at, n = at+int((63-n)>>3), n|56
		}
		entry := uint(g.symbols[uint(g.context[k])|uint(acc&(1<<decoderBits-1))])
		if entry == 0 {
			entry = g.which.long(uint(g.context[k]), acc)
		}
		if entry&lengthMask > n {
			return false
		}
		acc, n = acc>>(entry&lengthMask), n-entry&lengthMask
		for changed := entry >> rawShift; changed != 0; changed &= changed - 1 {
			row := &g.rows[bits.TrailingZeros(changed)&(len(g.rows)-1)]
			if at+8 > len(buf) || n >= 56 {
				at, acc, n = refillLast(buf, at, acc, n)
			} else {
				acc |= binary.LittleEndian.Uint64(buf[at:]) << (n & 63)
				at, n = at+int((63-n)>>3), n|56
			}
			entry, to := row.odd<<rawShift, lanes[row.at:]
			if row.which != nil {
				entry = uint(row.symbols[uint(row.context[k])|uint(acc&(1<<decoderBits-1))])
				if entry == 0 {
					entry = row.which.long(uint(row.context[k]), acc)
				}
			}
			changed := entry >> rawShift
			if changed&row.odd != 0 {
				r := BitReader{buf: buf[at:], acc: acc & (1<<n - 1), n: n}
				if !row.read(&r, to, base, before, &miss) {
					return false
				}
				buf, at, acc, n = r.buf, 0, r.acc, r.n
				continue
			}
			if entry&lengthMask > n || changed == 0 {
				return false
			}
			acc, n = acc>>(entry&lengthMask), n-entry&lengthMask
			for ; changed != 0; changed &= changed - 1 {
				if n < MaxCodeLength {
					at, acc, n = refillLast(buf, at, acc, n)
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
					if at, acc, n = refillLast(buf, at, acc, n); size > n {
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
			if row.turn && !row.legalTurn((*[4]uint32)(to)) {
				return false
			}
		}
	}
	q.buf, q.at, q.acc, q.n = buf, at, acc, n
	return true
}

// read reads a row by Delta.Read.
func (e *expectedRow) read(r *BitReader, lanes, base, before []uint32, miss *uint) bool {
	n := len(e.delta.lanes)
	v := Versions{Base: base[e.at:][:n], Age: e.age, Span: e.span, Miss: int(*miss)}
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
	return e.delta.plan.ops[e.delta.plan.lanes[0].op].legalQuat(lanes)
}

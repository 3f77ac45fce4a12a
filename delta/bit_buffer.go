package delta

// BitBuffer collects bits in 64-bit words, first bit lowest: the bits that a BitWriter would write, in a form that is
// quick to copy. The zero value is empty.
type BitBuffer struct {
	list []uint64 // full words, and the padded one of Finish
	acc  uint64   // bits not yet in list, from bit 0; zero above n
	n    uint     // number of bits in acc, 0..63

	turn rotation // of the row being encoded; here, so that it is not cleared for each row
}

// Reset removes all bits and keeps the memory.
func (w *BitBuffer) Reset() { w.list, w.acc, w.n = w.list[:0], 0, 0 }

// Reserve makes room for this many further words. The capacity at least doubles, so that a reused buffer soon stops
// growing.
func (w *BitBuffer) Reserve(words int) {
	if len(w.list)+words > cap(w.list) {
		w.list = append(make([]uint64, 0, max(2*cap(w.list), len(w.list)+words)), w.list...)
	}
}

// put appends the lowest bits of v, 0 to 63; higher bits must be zero.
func (w *BitBuffer) put(v uint64, bits uint) {
	w.acc |= v << (w.n & 63)
	if w.n += bits; w.n >= 64 {
		w.spill(v, bits)
	}
}

// spill appends the full accumulator to the list; v and bits are those of the last put.
func (w *BitBuffer) spill(v uint64, bits uint) {
	w.list = append(w.list, w.acc)
	w.n -= 64
	w.acc = v >> ((bits - w.n) & 63)
}

// Symbol appends the symbol's code in a context of a table.
func (w *BitBuffer) Symbol(t *Table, context, symbol int) {
	e := t.code(context).enc[symbol]
	w.put(uint64(e&0xFFFF), uint(e>>16))
}

// Write appends the lowest bits of v, 0 to 64; higher bits must be zero.
func (w *BitBuffer) Write(v uint64, bits uint) {
	w.acc |= v << (w.n & 63)
	if w.n += bits; w.n >= 64 {
		w.list = append(w.list, w.acc)
		w.n -= 64
		w.acc = v >> (bits - w.n) // a shift by 64 gives zero
	}
}

// Append appends the first count bits of 64-bit words, first bit lowest. It panics if there are fewer.
func (w *BitBuffer) Append(words []uint64, count int) {
	acc, n, list := w.acc, w.n&63, w.list
	for ; count >= 64; count, words = count-64, words[1:] {
		v := words[0]
		list = append(list, acc|v<<n)
		acc = v >> 1 >> (63 - n) // zero if n is 0
	}
	if w.acc, w.list = acc, list; count > 0 {
		w.Write(words[0]&(1<<count-1), uint(count))
	}
}

// Bits returns the number of bits, including the padding of Finish.
func (w *BitBuffer) Bits() int { return len(w.list)*64 + int(w.n) }

// Finish pads the last word with zeros. Later bits start in the next word.
func (w *BitBuffer) Finish() {
	if w.n > 0 {
		w.list, w.acc, w.n = append(w.list, w.acc), 0, 0
	}
}

// All returns the words; call Finish first. They are valid until the next Reset.
func (w *BitBuffer) All() []uint64 { return w.list }

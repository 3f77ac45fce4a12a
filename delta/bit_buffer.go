package delta

// BitBuffer gathers bits in words of 64, the first of them in bit 0: what a BitWriter would write, kept so that it is quickly
// copied. The zero value is empty.
type BitBuffer struct {
	list []uint64 // full ones, and what Finish made
	acc  uint64   // bits not yet in list, from bit 0; zero above n
	n    uint     // how many, 0..63

	turn rotation // of the row that is being coded: here, so that it need not be cleared for each
}

// Reset forgets all words and keeps their memory.
func (w *BitBuffer) Reset() { w.list, w.acc, w.n = w.list[:0], 0, 0 }

// Reserve makes room for so many words more. The room at least doubles, so that a buffer that is used again soon is large
// enough for good.
func (w *BitBuffer) Reserve(words int) {
	if len(w.list)+words > cap(w.list) {
		w.list = append(make([]uint64, 0, max(2*cap(w.list), len(w.list)+words)), w.list...)
	}
}

// put appends the lowest bits of v, 0 to 63; those above must be zero.
func (w *BitBuffer) put(v uint64, bits uint) {
	w.acc |= v << (w.n & 63)
	if w.n += bits; w.n >= 64 {
		w.spill(v, bits)
	}
}

// spill moves a full word to the list; v and bits are what was added last.
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

// Write appends the lowest bits of v, 0 to 64; those above must be zero.
func (w *BitBuffer) Write(v uint64, bits uint) {
	w.acc |= v << (w.n & 63)
	if w.n += bits; w.n >= 64 {
		w.list = append(w.list, w.acc)
		w.n -= 64
		w.acc = v >> (bits - w.n) // of 64 bits nothing is left: Go shifts to zero
	}
}

// Append appends the first count bits of words of 64, the first of them in bit 0. It panics if they are fewer.
func (w *BitBuffer) Append(words []uint64, count int) {
	acc, n, list := w.acc, w.n&63, w.list
	for ; count >= 64; count, words = count-64, words[1:] {
		v := words[0]
		list = append(list, acc|v<<n)
		acc = v >> 1 >> (63 - n) // of no bits when n is 0
	}
	if w.acc, w.list = acc, list; count > 0 {
		w.Write(words[0]&(1<<count-1), uint(count))
	}
}

// Bits returns how many bits were appended; bits that fill up a word count after Finish.
func (w *BitBuffer) Bits() int { return len(w.list)*64 + int(w.n) }

// Finish fills the last word with zeros. Later bits begin at the next one.
func (w *BitBuffer) Finish() {
	if w.n > 0 {
		w.list, w.acc, w.n = append(w.list, w.acc), 0, 0
	}
}

// All returns the words, the last of them as Finish has left it. They are good until the next Reset.
func (w *BitBuffer) All() []uint64 { return w.list }

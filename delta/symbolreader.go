package delta

import (
	"sync"
	"sync/atomic"
)

// SymbolReader finds a symbol of a table in one look at the next bits. It is made for readers of many rows; Table.Read and Table.ReadToken read the same.
type SymbolReader struct {
	table   *Table
	tokens  bool
	entries []uint16                  // by context and the next decoderBits bits; 0 where the code is longer
	made    [AgeClasses]atomic.Uint32 // by class of age: the entries of its contexts are there
	making  sync.Mutex
}

// An entry of a symbol has its length and, from bit 4 on, the symbol. That of a token has its length, how many raw bits follow, what is above these in
// its magnitude, its sign, and how far off it says the lane to be.
const (
	decoderBits = 8
	lengthMask  = 15
	rawShift    = 4
	rawMask     = 63
	topShift    = 10
	signShift   = 12
	missShift   = 13
)

// SymbolReader returns the table's reader of symbols. The table has contexts for each class of age, and is not one of tokens.
func (t *Table) SymbolReader() *SymbolReader {
	t.onceRead.Do(func() { t.read = newSymbolReader(t, false) })
	return t.read
}

// tokenReader is SymbolReader for a table of tokens.
func (t *Table) tokenReader() *SymbolReader {
	t.onceRead.Do(func() { t.read = newSymbolReader(t, true) })
	return t.read
}

func newSymbolReader(t *Table, tokens bool) *SymbolReader {
	return &SymbolReader{table: t, tokens: tokens, entries: make([]uint16, len(t.codes)<<decoderBits)}
}

// Want makes ready for the contexts of an age in ticks. It has to be called before a symbol is read in one of them. Any number of goroutines may call it.
func (t *SymbolReader) Want(age int64) { t.wantClass(AgeClass(age)) }

// wantClass is Want for a class of age.
func (t *SymbolReader) wantClass(class int) {
	if t.made[class].Load() == 0 {
		t.make(class)
	}
}

// make makes the entries of a class of age.
//
//go:noinline
func (t *SymbolReader) make(class int) {
	t.making.Lock()
	defer t.making.Unlock()
	if t.made[class].Load() != 0 {
		return
	}
	n := len(t.table.codes) / AgeClasses
	for context := class * n; context < (class+1)*n; context++ {
		entries := t.entries[context<<decoderBits:][:1<<decoderBits]
		for symbol, e := range t.table.code(context).enc {
			length := e >> 16
			for i := int(e & 0xFFFF); length <= decoderBits && i < len(entries); i += 1 << length {
				entries[i] = t.entry(length, symbol)
			}
		}
	}
	t.made[class].Store(1)
}

// entry is that of a symbol.
func (t *SymbolReader) entry(length uint32, symbol int) uint16 {
	if !t.tokens {
		return uint16(length) | uint16(symbol)<<rawShift
	}
	raw, top, sign := 0, uint16(symbol), uint16(0)
	switch {
	case symbol >= 3:
		raw, top, sign = (symbol-3)>>2, uint16(2|(symbol-3)>>1&1), uint16((symbol-3)&1)
	case symbol == 2:
		top, sign = 1, 1
	}
	miss := uint16(0)
	if symbol >= 3 { // as missOf has it: more than 1 bit, more than 4
		miss = 1 + uint16(bitOf(raw+2 > 4))
	}
	return uint16(length) | uint16(raw)<<rawShift | top<<topShift | sign<<signShift | miss<<missShift
}

// long is the entry of a code that is longer than decoderBits, of the context whose entries begin at a place.
//
//go:noinline
func (t *SymbolReader) long(place uint, acc uint64) uint {
	c := t.table.code(int(place >> decoderBits))
	e := uint(c.fast[acc&uint64(len(c.fast)-1)])
	if e == longCode {
		e = c.long(acc)
	}
	return uint(t.entry(uint32(e>>12), int(e&0xFFF)))
}

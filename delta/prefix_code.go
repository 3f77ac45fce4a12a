package delta

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// Bounds of prefix codes.
const (
	// MaxCodeLength is the longest code in bits.
	MaxCodeLength = 15
	// MaxSymbols is the largest alphabet.
	MaxSymbols = 4096
)

// Errors of prefix codes and sets of tables.
var (
	// ErrCodeOverfull means that there are more codes than the lengths allow: one would be a prefix of another.
	ErrCodeOverfull = errors.New("wire: over-full prefix code")
	// ErrCodeUnderfull means that the code is not complete: some bits would have no meaning.
	ErrCodeUnderfull = errors.New("wire: under-full prefix code")
	// ErrCodeTooDeep means that a code is longer than MaxCodeLength.
	ErrCodeTooDeep = errors.New("wire: prefix code too deep")
	// ErrAlphabet means that the number of symbols or contexts is wrong or out of range.
	ErrAlphabet = errors.New("wire: wrong alphabet")
)

const (
	fastBits = 9      // index bits of Code.fast, at most
	longCode = 0xFFFF // entry of Code.fast for longer codes; else length << 12 | symbol
)

// Code is a canonical prefix code for the symbols 0..n-1; the lengths alone determine it. Codes are assigned in the
// order of (length, symbol): each is the previous plus 1, extended by zeros to its length. The most significant bit is
// sent first:
//
//	symbol   0 1 2 3 4        0  1   2  3   4
//	length   2 3 2 3 2   ->  00 110 01 111 10
//
// A Code is complete: any bits start with the code of some symbol. It is immutable; any number of goroutines may use
// it.
type Code struct {
	enc    []uint32                  // by symbol: length << 16 | code, its first bit in bit 0
	fast   []uint16                  // by the next bits: length << 12 | symbol, or longCode
	sorted []uint16                  // symbols in code order, for codes longer than fast
	end    [MaxCodeLength + 1]uint16 // by length: the first 15-bit number above the codes of that length
	base   [MaxCodeLength + 1]uint16 // by length: difference of a code and its index in sorted
}

// NewCode returns the code with these lengths, one per symbol. A single symbol has length 0 and takes no bits;
// otherwise each length is 1 to MaxCodeLength. The errors wrap ErrAlphabet, ErrCodeTooDeep, ErrCodeOverfull or
// ErrCodeUnderfull.
func NewCode(lengths []uint8) (*Code, error) {
	c := new(Code)
	if err := c.build(lengths); err != nil {
		return nil, err
	}
	return c, nil
}

// checkLengths returns the number of codes per length, or an error if no code has these lengths.
func checkLengths(lengths []uint8) (count [MaxCodeLength + 1]int, err error) {
	if len(lengths) == 0 || len(lengths) > MaxSymbols {
		return count, fmt.Errorf("%w: %d symbols, not 1 to %d", ErrAlphabet, len(lengths), MaxSymbols)
	}
	used := 0 // part of the 2^MaxCodeLength bit patterns
	for symbol, n := range lengths {
		switch {
		case n > MaxCodeLength:
			return count, fmt.Errorf("%w: symbol %d has %d bits, at most %d", ErrCodeTooDeep, symbol, n, MaxCodeLength)
		case n == 0 && len(lengths) > 1:
			return count, fmt.Errorf("%w: symbol %d of %d has no code", ErrCodeUnderfull, symbol, len(lengths))
		}
		count[n]++
		used += 1 << (MaxCodeLength - n)
	}
	switch {
	case used > 1<<MaxCodeLength:
		return count, fmt.Errorf("%w: %d of %d", ErrCodeOverfull, used, 1<<MaxCodeLength)
	case used < 1<<MaxCodeLength:
		return count, fmt.Errorf("%w: %d of %d", ErrCodeUnderfull, used, 1<<MaxCodeLength)
	}
	return count, nil
}

// build sets c to the code with these lengths.
func (c *Code) build(lengths []uint8) error {
	count, err := checkLengths(lengths)
	if err != nil {
		return err
	}
	var first, at [MaxCodeLength + 1]int // by length: first code; index in sorted of the next symbol
	longest, code, place := 0, 0, 0
	for n := 1; n <= MaxCodeLength; n++ {
		code <<= 1
		first[n], at[n] = code, place
		c.base[n] = uint16(place - code)
		code += count[n]
		place += count[n]
		c.end[n] = uint16(code << (MaxCodeLength - n))
		if count[n] > 0 {
			longest = n
		}
	}
	c.sorted = make([]uint16, len(lengths))
	c.enc = make([]uint32, len(lengths))
	c.fast = make([]uint16, 1<<min(longest, fastBits))
	for i := range c.fast {
		c.fast[i] = longCode
	}
	for symbol, n := range lengths {
		c.sorted[at[n]] = uint16(symbol)
		at[n]++
		reversed := uint32(bits.Reverse16(uint16(first[n] << (16 - n))))
		first[n]++
		c.enc[symbol] = uint32(n)<<16 | reversed
		for i := int(reversed); n <= fastBits && i < len(c.fast); i += 1 << n {
			c.fast[i] = uint16(n)<<12 | uint16(symbol)
		}
	}
	return nil
}

// Symbols returns the size of the alphabet.
func (c *Code) Symbols() int { return len(c.enc) }

// Length returns the length of a symbol's code in bits.
func (c *Code) Length(symbol int) int { return int(c.enc[symbol] >> 16) }

// Write appends a symbol's code. A symbol outside the alphabet panics.
func (c *Code) Write(w *wire.BitWriter, symbol int) {
	e := c.enc[symbol]
	w.Write(uint64(e&0xFFFF), uint(e>>16))
}

// Read returns the next symbol. If the bits end within its code, the reader fails and the symbol is 0.
func (c *Code) Read(r *wire.BitReader) int {
	next := r.Peek(MaxCodeLength)
	e := uint(c.fast[next&uint64(len(c.fast)-1)])
	if e == longCode {
		e = c.long(next)
	}
	if !r.Drop(e >> 12) {
		r.Fail()
		return 0
	}
	return int(e & 0xFFF)
}

// long returns the length of the code at the start of acc, which is longer than fastBits. The code is complete, so the
// search ends.
func (c *Code) long(acc uint64) uint {
	next := bits.Reverse16(uint16(acc)) >> 1 // first bit on top
	n := uint(fastBits + 1)
	for n < MaxCodeLength && next >= c.end[n] {
		n++
	}
	return n<<12 | uint(c.sorted[c.base[n]+next>>(MaxCodeLength-n)])
}

// leaf is a symbol during the search for code lengths.
type leaf struct {
	weight uint64
	symbol int
}

// codeLengths returns the lengths of an optimal complete prefix code of at most limit bits: it minimises the sum of
// weight × length, by package-merge (Larmore and Hirschberg, 1990). Every symbol gets a code. Of equal weights the
// lower symbol gets the shorter code, so that the result is unique. Weights must be positive. Their sum times limit
// must fit 64 bits. There are at most 2^limit.
func codeLengths(weights []uint64, limit int) []uint8 {
	lengths := make([]uint8, len(weights))
	if len(weights) < 2 {
		return lengths
	}
	leaves := make([]leaf, len(weights))
	for symbol, w := range weights {
		leaves[symbol] = leaf{w, symbol}
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(b.symbol, a.symbol))
	})
	// The list of a level has every leaf, and each pair of neighbours of the level below as a package, by weight.
	// isLeaf stores per level which items are leaves.
	isLeaf := make([][]bool, limit)
	var list, packages []uint64
	for level := range isLeaf {
		list, isLeaf[level] = mergeLevel(leaves, packages)
		packages = packages[:0:0]
		for i := 0; i+1 < len(list); i += 2 {
			packages = append(packages, list[i]+list[i+1])
		}
	}
	// The 2n-2 lightest items of the top level are the code. A leaf among them adds one bit to its symbol's length; a
	// package stands for two items of the level below.
	take := 2*len(leaves) - 2
	for level := limit - 1; level >= 0 && take > 0; level-- {
		chosen := 0
		for _, l := range isLeaf[level][:take] {
			if l {
				lengths[leaves[chosen].symbol]++
				chosen++
			}
		}
		take = 2 * (take - chosen)
	}
	return lengths
}

// mergeLevel merges leaves and packages by weight, leaves first on a tie.
func mergeLevel(leaves []leaf, packages []uint64) (list []uint64, isLeaf []bool) {
	list = make([]uint64, 0, len(leaves)+len(packages))
	isLeaf = make([]bool, 0, cap(list))
	for i, j := 0, 0; i < len(leaves) || j < len(packages); {
		if j == len(packages) || i < len(leaves) && leaves[i].weight <= packages[j] {
			list, isLeaf = append(list, leaves[i].weight), append(isLeaf, true)
			i++
			continue
		}
		list, isLeaf = append(list, packages[j]), append(isLeaf, false)
		j++
	}
	return list, isLeaf
}

// A token encodes a signed number with an entropy table. The symbol has the bit length of the magnitude, the sign, and
// the bit after the leading one. The remaining bits follow uncompressed: within one symbol they are almost equally
// likely.
//
//	number            symbol                              raw bits
//	0                 0                                   0
//	+1, -1            1, 2                                0
//	bit length k >= 2 3 + 4(k-2) + 2 × next bit + sign    k-2       sign: 1 below zero
//
// Each number has one token.

// MaxTokenBits is the largest bit length of a token's magnitude.
const MaxTokenBits = 63

// Token returns the symbol of v and its raw bits.
func Token(v int64) (symbol int, raw uint64, rawBits uint) {
	sign := int(uint64(v) >> 63)
	magnitude := uint64(v^v>>63) + uint64(sign)
	if magnitude < 2 {
		return int(magnitude) + (sign & int(magnitude)), 0, 0
	}
	k := uint(bits.Len64(magnitude))
	next := int(magnitude >> (k - 2) & 1)
	return 3 + 4*int(k-2) + 2*next + sign, magnitude & (1<<(k-2) - 1), k - 2
}

// WriteToken appends the token of v in a context: symbol, then raw bits. It panics if v is too large for the table's
// alphabet.
func (t *Table) WriteToken(w *wire.BitWriter, context int, v int64) {
	symbol, raw, n := Token(v)
	if n > MaxTokenBits-2 {
		panic("wire: WriteToken: the number has more bits than any alphabet")
	}
	e := t.code(context).enc[symbol]
	length := uint(e >> 16)
	if length+n <= 64 {
		w.Write(raw<<length|uint64(e&0xFFFF), length+n)
		return
	}
	w.Write(uint64(e&0xFFFF), length)
	w.Write(raw, n)
}

// ReadToken reads a token of WriteToken. If the bits end, or the symbol stands for no number, the reader fails and the
// result is 0.
func (t *Table) ReadToken(r *wire.BitReader, context int) int64 {
	c := t.code(context)
	next := r.Peek(2 * MaxCodeLength) // loads most raw bits as well
	e := uint(c.fast[next&uint64(len(c.fast)-1)])
	if e == longCode {
		e = c.long(next)
	}
	length, symbol, n := e>>12, e&0xFFF, uint(0)
	if symbol >= 3 {
		n = (symbol - 3) >> 2
	}
	if n > MaxTokenBits-2 || !r.Drop(length+n) {
		return slowToken(r, length, symbol, n)
	}
	return tokenValue(symbol, next>>(length&63)&(1<<(n&63)-1), n)
}

// slowToken reads the raw bits if the accumulator has too few.
func slowToken(r *wire.BitReader, length, symbol, n uint) int64 {
	r.Read(length)
	if n > MaxTokenBits-2 {
		r.Fail()
	}
	raw := r.Read(n)
	if r.Failed() {
		return 0
	}
	return tokenValue(symbol, raw, n)
}

// tokenValue is the inverse of Token.
func tokenValue(symbol uint, raw uint64, n uint) int64 {
	if symbol < 3 {
		return int64(symbol&1) - int64(symbol>>1)
	}
	sign := -int64((symbol - 3) & 1)
	magnitude := int64((2|uint64(symbol-3)>>1&1)<<(n&63) | raw)
	return magnitude ^ sign - sign
}

// movementSteps is the number of size classes of a movement; those above 2^(movementSteps-1) share one.
const movementSteps = 12

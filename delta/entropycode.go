package delta

import (
	"errors"
	"fmt"
	"github.com/arche-netcode/netcode/wire"
	"math/bits"
)

// Bounds of prefix codes.
const (
	// MaxCodeLength is the longest code in bits.
	MaxCodeLength = 15
	// MaxSymbols is the largest alphabet.
	MaxSymbols = 4096
)

// Why a prefix code or a set of tables is refused.
var (
	// ErrCodeOverfull says that the lengths promise more codes than there are: two would be one another's prefix.
	ErrCodeOverfull = errors.New("wire: over-full prefix code")
	// ErrCodeUnderfull says that some bits would mean nothing: a code that is not complete wastes them, and a reader would meet them.
	ErrCodeUnderfull = errors.New("wire: under-full prefix code")
	// ErrCodeTooDeep says that a code is longer than MaxCodeLength.
	ErrCodeTooDeep = errors.New("wire: prefix code too deep")
	// ErrAlphabet says that the number of symbols or contexts is not the one that is needed, or is none that can be.
	ErrAlphabet = errors.New("wire: wrong alphabet")
)

const (
	fastBits = 9      // bits that the fast table of a Code looks at, at most
	longCode = 0xFFFF // its entry where the code is longer; a symbol's is length << 12 | symbol
)

// Code is a canonical prefix code: each symbol 0..n-1 has a code of its own, none is the start of another, and the
// lengths alone say which. Codes are given out in the order of (length, symbol), each the one before plus 1, with as
// many zeros behind it as it is longer; they travel most significant bit first:
//
//	symbol   0 1 2 3 4        0  1   2  3   4
//	length   2 3 2 3 2   ->  00 110 01 111 10
//
// A Code is complete: whatever bits a reader meets are the start of some symbol's code. It does not change and may be
// used by any number of goroutines.
type Code struct {
	enc    []uint32                  // by symbol: length << 16 | code, its first bit in bit 0
	fast   []uint16                  // by the next bits: length << 12 | symbol, or longCode
	sorted []uint16                  // symbols in the order of their codes, for those beyond fast
	end    [MaxCodeLength + 1]uint16 // by length: first number of 15 bits that is above the codes so long
	base   [MaxCodeLength + 1]uint16 // by length: what to add to a code to find its place in sorted
}

// NewCode returns the code with these lengths, one a symbol. A single symbol has length 0 and takes no bits; else
// each is 1 to MaxCodeLength. The errors wrap ErrAlphabet, ErrCodeTooDeep, ErrCodeOverfull or ErrCodeUnderfull.
func NewCode(lengths []uint8) (*Code, error) {
	c := new(Code)
	if err := c.build(lengths); err != nil {
		return nil, err
	}
	return c, nil
}

// checkLengths returns how many codes there are of each length, or why the lengths are those of no code.
func checkLengths(lengths []uint8) (count [MaxCodeLength + 1]int, err error) {
	if len(lengths) == 0 || len(lengths) > MaxSymbols {
		return count, fmt.Errorf("%w: %d symbols, not 1 to %d", ErrAlphabet, len(lengths), MaxSymbols)
	}
	used := 0 // of the numbers of MaxCodeLength bits
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

// build makes c the code with these lengths.
func (c *Code) build(lengths []uint8) error {
	count, err := checkLengths(lengths)
	if err != nil {
		return err
	}
	var first, at [MaxCodeLength + 1]int // by length: first code, and place in sorted of the next symbol
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

// Length returns how many bits a symbol takes.
func (c *Code) Length(symbol int) int { return int(c.enc[symbol] >> 16) }

// Write appends a symbol's code. A symbol outside the alphabet panics.
func (c *Code) Write(w *wire.BitWriter, symbol int) {
	e := c.enc[symbol]
	w.Write(uint64(e&0xFFFF), uint(e>>16))
}

// Read returns the next symbol. Where the bits end within its code the reader fails, and the symbol is 0.
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

// long finds the code at the start of acc that is longer than the fast table reaches. The code is complete, so the
// last length always ends the search.
func (c *Code) long(acc uint64) uint {
	next := bits.Reverse16(uint16(acc)) >> 1 // first bit on top
	n := uint(fastBits + 1)
	for n < MaxCodeLength && next >= c.end[n] {
		n++
	}
	return n<<12 | uint(c.sorted[c.base[n]+next>>(MaxCodeLength-n)])
}

package delta

import (
	"github.com/arche-netcode/netcode/wire"
	"math/bits"
)

// A token stands for a signed number in an entropy table: its magnitude's bit length, its sign and the bit after the
// leading one, together one symbol; the bits below follow as they are. Numbers of one bucket are about as likely as each
// other, so the table learns where the mass lies and the raw bits cost what they must.
//
//	number            symbol                              raw bits
//	0                 0                                   0
//	+1, -1            1, 2                                0
//	bit length k >= 2 3 + 4(k-2) + 2 × next bit + sign    k-2       sign: 1 below zero
//
// No number has two tokens.

// MaxTokenBits is the largest bit length of a token's magnitude.
const MaxTokenBits = 63

// TokenSymbols returns the alphabet of tokens for magnitudes up to width bits, 1 to MaxTokenBits: 32 for the difference
// of any two lanes, 33 for a lane's distance from a linear extrapolation.
func TokenSymbols(width int) int {
	if width < 1 || width > MaxTokenBits {
		panic("wire: a token has 1 to 63 bits")
	}
	return 3 + 4*(width-1)
}

// Token returns the symbol that stands for v, and the raw bits that follow it.
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

// WriteToken appends the token of v in a context: its symbol and its raw bits. A number too large for the table's
// alphabet panics.
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

// ReadToken reads what WriteToken wrote. Where the bits end early, or the table has symbols that stand for no number,
// the reader fails and the number is 0.
func (t *Table) ReadToken(r *wire.BitReader, context int) int64 {
	c := t.code(context)
	next := r.Peek(2 * MaxCodeLength) // so that most raw bits are at hand too
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

// slowToken is the rest of ReadToken where the accumulator does not hold the raw bits.
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

// TokenLength returns how many bits v takes in a context.
func (t *Table) TokenLength(context int, v int64) int {
	symbol, _, n := Token(v)
	return t.Length(context, symbol) + int(n)
}

// movementSteps is how many magnitudes of a movement are told apart: above 2^(movementSteps-1) all count as one.
const movementSteps = 12

// MovementContexts is how many contexts MovementContext tells apart.
const MovementContexts = 2*movementSteps + 1

// MovementContext returns the context that a field's previous movement makes, by its sign and bit length: fast fields
// stay fast and keep their direction.
func MovementContext(previous int64) int {
	sign := int(uint64(previous) >> 63)
	magnitude := uint64(previous^previous>>63) + uint64(sign)
	if magnitude == 0 {
		return 0
	}
	return 2*min(bits.Len64(magnitude), movementSteps) - 1 + sign
}

package thin

import (
	"errors"
	"math/bits"
)

// ErrMalformed is the error of bytes that no honest server sends.
var ErrMalformed = errors.New("thin: malformed")

// must panics with ErrMalformed; guard returns it.
func must(holds bool) {
	if !holds {
		panic(ErrMalformed)
	}
}

// guard runs f and returns ErrMalformed if it met illegal bytes.
func guard(f func()) (err error) {
	defer func() {
		if why := recover(); why != nil {
			if why != ErrMalformed { //nolint:errorlint // must panics with this value.
				panic(why)
			}
			err = ErrMalformed
		}
	}()
	f()
	return nil
}

// stream reads or writes bits, the least significant bit of a byte first.
type stream struct {
	b  []byte
	at int
}

func (s *stream) read(n int) (v uint64) {
	must(s.at+n <= 8*len(s.b))
	for i := range n {
		v |= uint64(s.b[s.at/8]>>(s.at%8)&1) << i
		s.at++
	}
	return v
}

// number reads a Var.
func (s *stream) number() uint64 {
	n := 2
	for s.read(1) == 0 {
		n++
		must(n <= 32)
	}
	return s.read(n) + 1<<n - 4
}

func (s *stream) write(v uint64, n int) {
	for i := range n {
		if s.at%8 == 0 {
			s.b = append(s.b, 0)
		}
		s.b[s.at/8] |= byte(v>>i&1) << (s.at % 8)
		s.at++
	}
}

func (s *stream) writeNumber(v uint64) {
	n := bits.Len64(v+4) - 1
	s.write(1<<(n-2), n-1)
	s.write(v+4-1<<n, n)
}

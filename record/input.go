package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/arche-netcode/netcode/tick"
)

// mostSought bounds the bytes that are summed in vain while searching for a valid chunk after damage. Forged heads
// could otherwise have the same bytes summed again and again.
const mostSought = 4 * maxRaw

// DamageError describes a part of a recording that no Writer wrote; it wraps ErrDamaged. The reader that returned it is
// before the next valid chunk.
type DamageError struct {
	Chunk  int       // first damaged chunk, from 1
	Offset int64     // offset in the file of that chunk, in bytes
	After  tick.Tick // last readable tick before it; tick.None for none
	Next   tick.Tick // first readable tick after it; tick.None for none
	What   string    // description of the fault
}

// Error implements error.
func (e *DamageError) Error() string {
	lost := fmt.Sprintf("ticks %d to %d are lost", e.After+1, e.Next-1)
	switch {
	case e.Next == tick.None && e.After == tick.None:
		lost = "nothing is left"
	case e.Next == tick.None:
		lost = fmt.Sprintf("nothing behind tick %d is left", e.After)
	case e.After == tick.None:
		lost = fmt.Sprintf("what was before tick %d is lost", e.Next)
	case e.Next == e.After+1:
		lost = "no tick is lost"
	}
	return fmt.Sprintf("%v: chunk %d, at byte %d: %s; %s", ErrDamaged, e.Chunk, e.Offset, e.What, lost)
}

// Unwrap returns ErrDamaged.
func (e *DamageError) Unwrap() error { return ErrDamaged }

// fault is why a chunk cannot be read. sort is ErrCut or ErrDamaged.
type fault struct {
	sort error
	what string
}

func (f *fault) Error() string { return fmt.Sprintf("%v: %s", f.sort, f.what) }
func (f *fault) Unwrap() error { return f.sort }

func faulty(sort error, format string, args ...any) error {
	return &fault{sort, fmt.Sprintf(format, args...)}
}

// input reads a recording with lookahead. Its memory grows with the bytes that arrive, not with the sizes that they
// claim.
type input struct {
	in     io.Reader
	held   bytes.Buffer
	offset int64 // of the first byte in held
}

// peek returns the next n bytes; fewer only at the end.
func (i *input) peek(n int) ([]byte, error) {
	if more := n - i.held.Len(); more > 0 {
		if _, err := io.CopyN(&i.held, i.in, int64(more)); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return i.held.Bytes()[:min(n, i.held.Len())], nil
}

// skip advances by n bytes of the lookahead.
func (i *input) skip(n int) { i.offset += int64(len(i.held.Next(n))) }

// look returns the head and the compressed bytes of the next chunk, without advancing. It verifies the checksum.
func (r *Reader) look() (h chunkHead, packed []byte, err error) {
	fixed, err := r.in.peek(chunkFixed)
	switch {
	case err != nil:
		return h, nil, err
	case len(fixed) == 0:
		return h, nil, io.EOF
	case len(fixed) < chunkFixed:
		return h, nil, faulty(ErrCut, "within the head of a chunk")
	}
	if h, err = r.head(fixed); err != nil {
		return h, nil, err
	}
	all, err := r.in.peek(chunkFixed + int(h.stored))
	if err != nil {
		return h, nil, err
	}
	packed = all[chunkFixed:]
	if uint32(len(packed)) < h.stored {
		return h, packed, faulty(ErrCut, "%d of %d bytes of a chunk", len(packed), h.stored)
	}
	if checksum(all[:chunkFixed-4], packed) != h.sum {
		return h, packed, faulty(ErrDamaged, "its sum is wrong")
	}
	return h, packed, nil
}

// chunk returns the next chunk as look does. If it is invalid, the reader advances to the next valid chunk and returns
// an error: ErrDamaged, or ErrCut if there is none.
func (r *Reader) chunk() (h chunkHead, packed []byte, err error) {
	if h, packed, err = r.look(); err == nil {
		return h, packed, nil
	}
	var wrong *fault
	if !errors.As(err, &wrong) {
		return h, nil, err
	}
	r.chunks++
	damage := &DamageError{Chunk: r.chunks, Offset: r.in.offset, After: r.end, What: wrong.what}
	r.in.skip(1)
	if failed := r.seekWhole(damage); failed != nil {
		return h, nil, failed
	}
	if wrong.sort == ErrCut && damage.Next == tick.None {
		return h, nil, err
	}
	return h, nil, damage
}

// seekWhole advances to the next valid chunk, or to the end, and stores its first tick in damage.
func (r *Reader) seekWhole(damage *DamageError) error {
	const piece = 1 << 12
	for sought := 0; sought <= mostSought; {
		some, err := r.in.peek(piece)
		if err != nil {
			return err
		}
		at := bytes.Index(some, []byte(chunkMagic))
		if at < 0 {
			if len(some) < piece {
				break
			}
			r.in.skip(piece - len(chunkMagic) + 1) // the remaining bytes may be the start of a magic number
			continue
		}
		r.in.skip(at)
		h, packed, err := r.look()
		if err == nil {
			damage.Next = h.first
			return nil
		}
		if !errors.As(err, new(*fault)) {
			return err
		}
		sought += len(packed)
		r.in.skip(1)
	}
	r.in = input{in: bytes.NewReader(nil), offset: r.in.offset}
	return nil
}

// within returns the error for a consumed chunk with a valid checksum but invalid contents: no Writer wrote it.
func (r *Reader) within(after tick.Tick, what string) error {
	damage := &DamageError{Chunk: r.chunks, Offset: r.began, After: after, What: what}
	if err := r.seekWhole(damage); err != nil {
		return err
	}
	return damage
}

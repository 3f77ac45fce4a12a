package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/arche-netcode/netcode/tick"
)

// mostSought bounds the bytes that are summed in vain in the search for a chunk behind damage. Forged heads would have the
// same bytes summed over and over.
const mostSought = 4 * maxRaw

// DamageError is a stretch of a recording that is not what a Writer wrote: it is ErrDamaged. The reader that returned it
// stands before the next chunk that is whole.
type DamageError struct {
	Chunk  int       // The first one that is damaged, counted from 1.
	Offset int64     // Where in the file that one begins, in bytes.
	After  tick.Tick // The last tick before it that can be read, tick.None for none.
	Next   tick.Tick // The first one behind it that can be, tick.None for none.
	What   string    // The fault.
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

// fault is why a chunk cannot be read: sort is ErrCut or ErrDamaged.
type fault struct {
	sort error
	what string
}

func (f *fault) Error() string { return fmt.Sprintf("%v: %s", f.sort, f.what) }
func (f *fault) Unwrap() error { return f.sort }

func faulty(sort error, format string, args ...any) error {
	return &fault{sort, fmt.Sprintf(format, args...)}
}

// input reads a recording, and can look ahead. Its memory grows with the bytes that come, not with the sizes that they
// promise.
type input struct {
	in     io.Reader
	held   bytes.Buffer
	offset int64 // of the first byte that is held
}

// peek returns the next n bytes, fewer only at the end.
func (i *input) peek(n int) ([]byte, error) {
	if more := n - i.held.Len(); more > 0 {
		if _, err := io.CopyN(&i.held, i.in, int64(more)); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return i.held.Bytes()[:min(n, i.held.Len())], nil
}

// skip goes on by n bytes, which were looked at.
func (i *input) skip(n int) { i.offset += int64(len(i.held.Next(n))) }

// look looks at the chunk that begins here, without going on: its head and its packed bytes, whose sum is right.
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

// chunk looks at the next chunk. Where there is none the reader goes on to the next one that is whole, and tells what lies
// before it: ErrDamaged, or ErrCut where that is the end.
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

// seekWhole goes on to the next chunk that is whole, or to the end, and notes its first tick.
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
			r.in.skip(piece - len(chunkMagic) + 1) // what is left may be the beginning of a magic
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

// within is damage in a chunk whose sum is right, and which lies behind: no Writer wrote it.
func (r *Reader) within(after tick.Tick, what string) error {
	damage := &DamageError{Chunk: r.chunks, Offset: r.began, After: after, What: what}
	if err := r.seekWhole(damage); err != nil {
		return err
	}
	return damage
}

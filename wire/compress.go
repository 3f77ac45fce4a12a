package wire

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrCompression means that compressed bytes are damaged, or not what was declared.
var ErrCompression = errors.New("wire: damaged compressed data")

// Flags of a compressed payload: its first byte.
const (
	flagRaw        byte = 0
	flagCompressed byte = 1
)

// Compressor makes bytes fewer and brings them back. It may keep state to be used again, so one belongs to one
// goroutine; calls do not depend on earlier ones. Both ends must use the same kind.
type Compressor interface {
	// Compress writes src in fewer bytes to dst, and returns how many. It returns false, with dst worth nothing, when
	// they do not fit.
	Compress(dst, src []byte) (n int, ok bool)
	// Decompress fills dst with what Compress made src of: neither a byte less nor more, from all of src. Src comes
	// from outside: whatever it holds, Decompress returns an error and neither panics nor grows anything without bound.
	Decompress(dst, src []byte) error
	// Ratio returns how many bytes a single compressed byte can stand for at most: what tells a declared size that is
	// possible from one that only wants memory.
	Ratio() int
}

// AppendCompressed appends src in whichever form is shorter, behind a flag. For what is large and repetitive, such as
// the world that a joining client gets: packets of deltas do not shrink. Without a compressor it stays raw.
//
//	+---+-------------+           +---+------------------+-----------------+
//	| 0 | bytes       |           | 1 | varint size      | compressed      |
//	+---+-------------+           +---+------------------+-----------------+
//	 raw                           compressed, in all shorter than raw would be
//
// It allocates only to grow dst. Src must not lie in dst's spare capacity.
func AppendCompressed(dst, src []byte, c Compressor) []byte {
	var form [MaxVarint]byte
	size := AppendVarint(form[:0], uint64(len(src)))
	dst = slices.Grow(dst, 1+len(src))
	if room := len(src) - len(size) - 1; room > 0 && c != nil {
		at := len(dst) + 1 + len(size)
		if n, ok := c.Compress(dst[at:at+room:at+room], src); ok && n > 0 && n <= room {
			return append(append(dst, flagCompressed), size...)[:at+n]
		}
	}
	return append(append(dst, flagRaw), src...)
}

// CompressedSize returns how many bytes a payload of AppendCompressed holds, without decompressing it, or the error that
// AppendDecompressed would return. Of compressed bytes it is what they claim, which they may not keep.
func CompressedSize(payload []byte, limit int, c Compressor) (int, error) {
	_, size, err := parseCompressed(payload, limit, c)
	return size, err
}

// parseCompressed checks all that can be known before anything is decompressed. The body is raw where the payload is.
func parseCompressed(payload []byte, limit int, c Compressor) (body []byte, size int, err error) {
	if len(payload) == 0 {
		return nil, 0, ErrTruncated
	}
	flag, body := payload[0], payload[1:]
	declared := uint64(len(body))
	if flag != flagRaw {
		if flag != flagCompressed || c == nil {
			return nil, 0, fmt.Errorf("%w: compression flag %d", ErrMalformed, flag)
		}
		n := 0
		if declared, n, err = ReadVarint(body); err != nil {
			return nil, 0, err
		}
		body = body[n:]
		if most := uint64(len(body)) * uint64(max(c.Ratio(), 1)); declared <= uint64(len(payload)-1) || declared > most {
			return nil, 0, fmt.Errorf("%w: %d bytes cannot stand for %d", ErrMalformed, len(body), declared)
		}
	}
	if declared > uint64(max(limit, 0)) {
		return nil, 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, declared, limit)
	}
	return body, int(declared), nil
}

// AppendDecompressed appends what AppendCompressed was given. More than limit bytes are refused, from the declared size
// and before anything is allocated. The errors are ErrTooLong, ErrTruncated, ErrMalformed and ErrCompression; dst is then
// returned as it was. It allocates only to grow dst, besides what the compressor needs.
func AppendDecompressed(dst, payload []byte, limit int, c Compressor) ([]byte, error) {
	body, size, err := parseCompressed(payload, limit, c)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	if payload[0] == flagRaw {
		return append(dst, body...), nil
	}
	dst = slices.Grow(dst, size)[:start+size]
	if err := c.Decompress(dst[start:], body); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// deflateRatio is the most that a byte of DEFLATE can stand for: 258 bytes in two bits.
const deflateRatio = 1032

// Deflate is the Compressor of the standard library, DEFLATE of RFC 1951. The zero value is ready; it keeps its
// state, some hundred kilobytes once it was used, for the next call. Its output may differ from one Go version to
// another; all of them read it.
type Deflate struct {
	writer *flate.Writer
	reader io.ReadCloser
	src    bytes.Reader
	dst    cappedWriter
	tail   [1]byte
}

// cappedWriter takes no more bytes than its slice holds.
type cappedWriter struct {
	buf []byte
	n   int
}

func (w *cappedWriter) Write(b []byte) (int, error) {
	if len(b) > len(w.buf)-w.n {
		return 0, ErrOverflow
	}
	w.n += copy(w.buf[w.n:], b)
	return len(b), nil
}

// Compress implements Compressor.
func (d *Deflate) Compress(dst, src []byte) (n int, ok bool) {
	d.dst = cappedWriter{buf: dst}
	defer func() { d.dst.buf = nil }()
	if d.writer == nil {
		w, err := flate.NewWriter(&d.dst, flate.DefaultCompression)
		if err != nil {
			return 0, false // not with a level that exists
		}
		d.writer = w
	} else {
		d.writer.Reset(&d.dst)
	}
	if _, err := d.writer.Write(src); err != nil {
		return 0, false
	}
	if err := d.writer.Close(); err != nil {
		return 0, false
	}
	return d.dst.n, true
}

// Decompress implements Compressor.
func (d *Deflate) Decompress(dst, src []byte) error {
	d.src.Reset(src)
	defer d.src.Reset(nil)
	if d.reader == nil {
		d.reader = flate.NewReader(&d.src)
	} else if err := d.reader.(flate.Resetter).Reset(&d.src, nil); err != nil {
		return fmt.Errorf("%w: %w", ErrCompression, err)
	}
	if _, err := io.ReadFull(d.reader, dst); err != nil {
		return fmt.Errorf("%w: it ends before %d bytes: %w", ErrCompression, len(dst), err)
	}
	switch n, err := io.ReadFull(d.reader, d.tail[:]); {
	case n > 0:
		return fmt.Errorf("%w: more than %d bytes", ErrCompression, len(dst))
	case err != io.EOF:
		return fmt.Errorf("%w: %w", ErrCompression, err)
	case d.src.Len() > 0:
		return fmt.Errorf("%w: %d bytes after its end", ErrCompression, d.src.Len())
	}
	return nil
}

// Ratio implements Compressor.
func (d *Deflate) Ratio() int { return deflateRatio }

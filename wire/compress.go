package wire

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrCompression means that compressed bytes are damaged, or have another size than declared.
var ErrCompression = errors.New("wire: damaged compressed data")

// Flags of a compressed payload, in its first byte.
const (
	flagRaw        byte = 0
	flagCompressed byte = 1 // by DEFLATE
)

// deflateRatio is the maximum compression ratio of DEFLATE: 258 bytes in two bits.
const deflateRatio = 1032

// Deflate compresses with DEFLATE (RFC 1951) of the standard library. The zero value is ready. After its first use it
// keeps some hundred kilobytes of state for the next call; it belongs to one goroutine. Its output may differ between
// Go versions; all of them can read it.
type Deflate struct {
	writer *flate.Writer
	reader io.ReadCloser
	src    bytes.Reader
	dst    cappedWriter
	tail   [1]byte
}

// AppendCompressed appends src in the shorter form, after a flag. Use it for large and repetitive data, such as the
// world sent to a joining client; packets of deltas do not shrink. With a nil d the form is raw.
//
//	+---+-------------+           +---+------------------+-----------------+
//	| 0 | bytes       |           | 1 | varint size      | compressed      |
//	+---+-------------+           +---+------------------+-----------------+
//	     raw                           compressed; in total shorter than raw
//
// It allocates only to grow dst. src must not overlap dst's spare capacity.
func AppendCompressed(dst, src []byte, d *Deflate) []byte {
	var form [MaxVarint]byte
	size := AppendVarint(form[:0], uint64(len(src)))
	dst = slices.Grow(dst, 1+len(src))
	if room := len(src) - len(size) - 1; room > 0 && d != nil {
		at := len(dst) + 1 + len(size)
		if n, ok := d.compress(dst[at:at+room], src); ok {
			return append(append(dst, flagCompressed), size...)[:at+n]
		}
	}
	return append(append(dst, flagRaw), src...)
}

// AppendDecompressed is the inverse of AppendCompressed. It refuses a declared size above limit before it allocates
// anything. The errors are ErrTooLong, ErrTruncated, ErrMalformed and ErrCompression; it then returns dst unchanged. It
// allocates only to grow dst, besides the state of d.
func AppendDecompressed(dst, payload []byte, limit int, d *Deflate) ([]byte, error) {
	if len(payload) == 0 {
		return dst, ErrTruncated
	}
	flag, body := payload[0], payload[1:]
	size := uint64(len(body))
	if flag != flagRaw {
		if flag != flagCompressed || d == nil {
			return dst, fmt.Errorf("%w: compression flag %d", ErrMalformed, flag)
		}
		declared, n, err := ReadVarint(body)
		if err != nil {
			return dst, err
		}
		size, body = declared, body[n:]
		if size <= uint64(len(payload)-1) || size > uint64(len(body))*deflateRatio {
			return dst, fmt.Errorf("%w: %d bytes cannot stand for %d", ErrMalformed, len(body), size)
		}
	}
	if size > uint64(max(limit, 0)) {
		return dst, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, size, limit)
	}
	if flag == flagRaw {
		return append(dst, body...), nil
	}
	start := len(dst)
	dst = slices.Grow(dst, int(size))[:start+int(size)]
	if err := d.decompress(dst[start:], body); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// cappedWriter accepts no more bytes than its slice has room for.
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

// compress compresses src to dst and returns the number of bytes; false if they do not fit.
func (d *Deflate) compress(dst, src []byte) (n int, ok bool) {
	d.dst = cappedWriter{buf: dst}
	defer func() { d.dst.buf = nil }()
	if d.writer == nil {
		d.writer, _ = flate.NewWriter(&d.dst, flate.DefaultCompression) // the level exists, so there is no error
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

// decompress fills dst from all of src, which is untrusted.
func (d *Deflate) decompress(dst, src []byte) error {
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

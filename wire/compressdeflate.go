package wire

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
)

// deflateRatio is the most that a byte of DEFLATE can stand for: 258 bytes in two bits.
const deflateRatio = 1032

// Deflate is the Compressor of the standard library, DEFLATE of RFC 1951. The zero value is ready; it keeps its
// state, some hundred kilobytes once it was used, for the next call. What it writes may differ from one Go version to
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

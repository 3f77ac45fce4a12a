package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// errTrace is wrapped by every fault of a recording.
var errTrace = errors.New("not a recording")

const (
	traceHeader = 16
	traceWords  = 11
	traceRecord = 2 + 4*traceWords
)

// TraceBody is one body as recorded in one frame.
type TraceBody struct {
	Body        int
	Position    [3]float32 // metres
	Orientation [4]float32 // x, y, z, w
	Velocity    [3]float32 // m/s
	Interacting bool
	Awake       bool
}

// Trace reads recorded motion frame by frame from a gzip stream and never holds more than one record of it.
// The format is NTRC version 1:
//
//	"NTRC"  u16 version=1  u16 bodies  u16 words=11  u16 hz  u32 frames
//	per frame: u16 n, then n x { u16 body, 11 x u32 }
type Trace struct {
	Bodies, Hz, Frames int

	file   io.ReadSeeker
	packed *gzip.Reader
	reader *bufio.Reader
	frame  int
	record [traceRecord]byte
	body   TraceBody // handed out by pointer: here, so that a frame allocates nothing
}

// openTrace opens the recording at path. The caller closes the file.
func openTrace(path string) (*Trace, io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	trace, err := newTrace(file)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return trace, file, nil
}

// newTrace reads the header of a recording.
func newTrace(file io.ReadSeeker) (*Trace, error) {
	t := &Trace{file: file}
	return t, t.Rewind()
}

// Rewind starts again at the first frame.
func (t *Trace) Rewind() error {
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := t.unpack(); err != nil {
		return fmt.Errorf("%w: %w", errTrace, err)
	}
	var head [traceHeader]byte
	if _, err := io.ReadFull(t.reader, head[:]); err != nil {
		return fmt.Errorf("%w: header: %w", errTrace, err)
	}
	if string(head[:4]) != "NTRC" {
		return fmt.Errorf("%w: it does not begin with NTRC", errTrace)
	}
	version, words := binary.LittleEndian.Uint16(head[4:]), binary.LittleEndian.Uint16(head[8:])
	if version != 1 || words != traceWords {
		return fmt.Errorf("%w: version %d with %d words a body", errTrace, version, words)
	}
	t.Bodies = int(binary.LittleEndian.Uint16(head[6:]))
	t.Hz = int(binary.LittleEndian.Uint16(head[10:]))
	frames := binary.LittleEndian.Uint32(head[12:])
	if t.Bodies == 0 || t.Hz == 0 || frames == 0 || frames > math.MaxInt32 {
		return fmt.Errorf("%w: %d bodies, %d Hz, %d frames", errTrace, t.Bodies, t.Hz, frames)
	}
	t.Frames, t.frame = int(frames), 0
	return nil
}

func (t *Trace) unpack() error {
	if t.packed != nil {
		if err := t.packed.Reset(t.file); err != nil {
			return err
		}
		t.reader.Reset(t.packed)
		return nil
	}
	packed, err := gzip.NewReader(t.file)
	if err != nil {
		return err
	}
	t.packed, t.reader = packed, bufio.NewReaderSize(packed, 1<<16)
	return nil
}

// Next gives each body that changed in the next frame to apply. It is io.EOF after the last frame.
func (t *Trace) Next(apply func(*TraceBody)) error {
	if t.frame == t.Frames {
		return io.EOF
	}
	t.frame++
	if _, err := io.ReadFull(t.reader, t.record[:2]); err != nil {
		return fmt.Errorf("%w: frame %d: %w", errTrace, t.frame, err)
	}
	count := int(binary.LittleEndian.Uint16(t.record[:]))
	if count > t.Bodies {
		return fmt.Errorf("%w: frame %d changes %d of %d bodies", errTrace, t.frame, count, t.Bodies)
	}
	body := &t.body
	for range count {
		if _, err := io.ReadFull(t.reader, t.record[:]); err != nil {
			return fmt.Errorf("%w: frame %d: %w", errTrace, t.frame, err)
		}
		body.parse(&t.record)
		if body.Body >= t.Bodies {
			return fmt.Errorf("%w: frame %d moves body %d of %d", errTrace, t.frame, body.Body, t.Bodies)
		}
		apply(body)
	}
	return nil
}

func (b *TraceBody) parse(record *[traceRecord]byte) {
	b.Body = int(binary.LittleEndian.Uint16(record[:]))
	var words [traceWords]uint32
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(record[2+4*i:])
	}
	floats(b.Position[:], words[0:])
	floats(b.Orientation[:], words[3:])
	floats(b.Velocity[:], words[7:])
	b.Interacting, b.Awake = words[10]&1 != 0, words[10]&2 != 0
}

func floats(dst []float32, words []uint32) {
	for i := range dst {
		dst[i] = math.Float32frombits(words[i])
	}
}

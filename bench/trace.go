package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// motion is a source of bodies that move.
type motion interface {
	name() string
	hz() int
	// next moves on by one frame and returns every body, valid until the next call; false after the last frame.
	next() ([]body, bool, error)
}

// body is one body as of one frame; z is up.
type body struct {
	position    [3]float32 // metres
	orientation [4]float32 // unit quaternion x, y, z, w
	velocity    [3]float32 // m/s
	interacting bool
}

// recording is recorded motion in the NTRC format, version 1:
//
//	"NTRC"  u16 version  u16 bodies  u16 words  u16 hz  u32 frames
//	per frame: u16 n, then n x { u16 body, 11 x u32 }   only bodies that changed; frame 0 has all
//
// little-endian inside gzip. The words are position xyz, orientation xyzw, velocity xyz and flags, bit 0 interacting.
type recording struct {
	file   string
	rate   int
	frames int
	now    []body
	in     *bufio.Reader
	source *os.File
	record [recordBytes]byte
}

const (
	recordWords = 11
	recordBytes = 2 + 4*recordWords
)

// openRecording reads the header of the file.
func openRecording(file string) (*recording, error) {
	source, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	r := &recording{file: file, source: source}
	if err := r.rewind(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: not a recording: %w", file, err), source.Close())
	}
	return r, nil
}

func (r *recording) rewind() error {
	unpacked, err := gzip.NewReader(r.source)
	if err != nil {
		return err
	}
	r.in = bufio.NewReaderSize(unpacked, 1<<16)
	var head [16]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return err
	}
	field := func(at int) int { return int(binary.LittleEndian.Uint16(head[at:])) }
	if string(head[:4]) != "NTRC" || field(4) != 1 || field(8) != recordWords {
		return fmt.Errorf("header % x", head)
	}
	r.now, r.rate = make([]body, field(6)), field(10)
	r.frames = int(binary.LittleEndian.Uint32(head[12:]))
	if len(r.now) == 0 || r.rate == 0 {
		return fmt.Errorf("%d bodies at %d Hz", len(r.now), r.rate)
	}
	return nil
}

func (r *recording) name() string { return "recorded" }

func (r *recording) hz() int { return r.rate }

func (r *recording) next() ([]body, bool, error) {
	if r.frames == 0 {
		return nil, false, r.source.Close()
	}
	r.frames--
	var count [2]byte
	if _, err := io.ReadFull(r.in, count[:]); err != nil {
		return nil, false, fmt.Errorf("%s: %w", r.file, err)
	}
	for range binary.LittleEndian.Uint16(count[:]) {
		if _, err := io.ReadFull(r.in, r.record[:]); err != nil {
			return nil, false, fmt.Errorf("%s: %w", r.file, err)
		}
		index := int(binary.LittleEndian.Uint16(r.record[:]))
		if index >= len(r.now) {
			return nil, false, fmt.Errorf("%s: body %d of %d", r.file, index, len(r.now))
		}
		r.now[index] = r.body()
	}
	return r.now, true, nil
}

// body decodes the record.
func (r *recording) body() (b body) {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(r.record[2+4*i:]) }
	for i := range b.position {
		b.position[i] = math.Float32frombits(word(i))
	}
	for i := range b.orientation {
		b.orientation[i] = math.Float32frombits(word(3 + i))
	}
	for i := range b.velocity {
		b.velocity[i] = math.Float32frombits(word(7 + i))
	}
	b.interacting = word(10)&1 != 0
	return b
}

// writeMotion records a motion in the same format.
func writeMotion(file string, source motion) (err error) {
	var raw bytes.Buffer
	var was []body
	frames := 0
	for {
		bodies, more, err := source.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if was == nil {
			was = make([]body, len(bodies))
		}
		changed := uint16(0)
		at := raw.Len()
		raw.Write([]byte{0, 0})
		for i := range bodies {
			if frames == 0 || bodies[i] != was[i] {
				bodies[i].appendTo(&raw, uint16(i))
				changed++
			}
		}
		binary.LittleEndian.PutUint16(raw.Bytes()[at:], changed)
		copy(was, bodies)
		frames++
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(out)
	head := append([]byte("NTRC"), 1, 0)
	for _, field := range []int{len(was), recordWords, source.hz()} {
		head = binary.LittleEndian.AppendUint16(head, uint16(field))
	}
	head = binary.LittleEndian.AppendUint32(head, uint32(frames))
	_, err = packed.Write(head)
	if err == nil {
		_, err = packed.Write(raw.Bytes())
	}
	return errors.Join(err, packed.Close(), out.Close())
}

// appendTo writes the body as a record.
func (b *body) appendTo(to *bytes.Buffer, index uint16) {
	record := binary.LittleEndian.AppendUint16(make([]byte, 0, recordBytes), index)
	for _, part := range [][]float32{b.position[:], b.orientation[:], b.velocity[:]} {
		for _, v := range part {
			record = binary.LittleEndian.AppendUint32(record, math.Float32bits(v))
		}
	}
	flags := uint32(0)
	if b.interacting {
		flags = 1
	}
	to.Write(binary.LittleEndian.AppendUint32(record, flags))
}

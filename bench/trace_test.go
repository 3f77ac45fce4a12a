package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// record writes a recording of two bodies: both in frame 0, body 1 in frame 1, none in frame 2.
func record(t *testing.T) []byte {
	t.Helper()
	var raw bytes.Buffer
	put := func(v any) { require.NoError(t, binary.Write(&raw, binary.LittleEndian, v)) }
	body := func(index uint16, x float32, flags uint32) {
		put(index)
		put([10]float32{x, 2, 3, 0, 0, 0, 1, 7, 8, 9})
		put(flags)
	}
	raw.WriteString("NTRC")
	put([4]uint16{1, 2, recordWords, 60})
	put(uint32(3))
	put(uint16(2))
	body(0, 10, 2)
	body(1, 20, 3)
	put(uint16(1))
	body(1, 21, 0)
	put(uint16(0))
	return raw.Bytes()
}

func writeRecording(t *testing.T, raw []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "some.trace.gz")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(file, packed.Bytes(), 0o600))
	return file
}

func TestRecordingIsRead(t *testing.T) {
	r, err := openRecording(writeRecording(t, record(t)))
	require.NoError(t, err)
	require.Equal(t, 60, r.hz())
	turned := [4]float32{0, 0, 0, 1}
	fast := [3]float32{7, 8, 9}
	want := [][]body{
		{{[3]float32{10, 2, 3}, turned, fast, false}, {[3]float32{20, 2, 3}, turned, fast, true}},
		{{[3]float32{10, 2, 3}, turned, fast, false}, {[3]float32{21, 2, 3}, turned, fast, false}},
		{{[3]float32{10, 2, 3}, turned, fast, false}, {[3]float32{21, 2, 3}, turned, fast, false}},
	}
	for _, frame := range want {
		got, more, err := r.next()
		require.NoError(t, err)
		require.True(t, more)
		require.Equal(t, frame, got)
	}
	_, more, err := r.next()
	require.NoError(t, err)
	require.False(t, more)
}

// A recording that ends too early, at any byte, is an error and not an end.
func TestRecordingCutShort(t *testing.T) {
	whole := record(t)
	for n := range len(whole) - 2 {
		r, err := openRecording(writeRecording(t, whole[:n]))
		for more := true; err == nil && more; {
			_, more, err = r.next()
		}
		require.Error(t, err, n)
	}
}

func TestRecordingOfAnotherKindIsRefused(t *testing.T) {
	for at, value := range map[int]byte{0: 'X', 4: 2, 8: 10, 6: 0, 10: 0} {
		raw := record(t)
		raw[at] = value
		_, err := openRecording(writeRecording(t, raw))
		require.Error(t, err, at)
	}
	raw := record(t)
	raw[18] = 2 // a body that does not exist
	r, err := openRecording(writeRecording(t, raw))
	require.NoError(t, err)
	_, _, err = r.next()
	require.Error(t, err)
}

// Generated motion is the same each time, is finite, and has bodies that wake and bodies that sleep again.
func TestGeneratedMotion(t *testing.T) {
	a, b := newGenerated(), newGenerated()
	var changed changeCounter
	awake, asleep := 0, false
	for frames := 0; ; frames++ {
		x, more, err := a.next()
		require.NoError(t, err)
		y, _, _ := b.next()
		if !more {
			require.Equal(t, generatedFrames, frames)
			break
		}
		if !slices.Equal(x, y) {
			t.Fatalf("frame %d differs", frames)
		}
		changed.count(x)
		now := 0
		for i := range a.moves {
			length := 0.0
			for _, v := range x[i].orientation {
				length += float64(v) * float64(v)
			}
			// Not require: this runs 1.6 million times.
			if math.IsNaN(float64(x[i].position[0])) || math.Abs(length-1) > 1e-4 {
				t.Fatalf("frame %d, body %d: %+v", frames, i, x[i])
			}
			if a.moves[i].awake {
				now++
			}
		}
		asleep = asleep || now < awake
		awake = now
	}
	require.True(t, asleep)
	perFrame := float64(changed.total) / (generatedFrames - 1)
	require.Greater(t, perFrame, 5.0)
	require.Less(t, perFrame, 300.0)
	t.Logf("%.1f bodies change in a frame", perFrame)
}

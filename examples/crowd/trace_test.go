package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"
)

// recorded is the folder of the recordings beside the project, if there is one.
func recorded(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "traces", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no recording to read: %v", err)
	}
	return path
}

func traceHead(bodies, hz uint16, frames uint32) []byte {
	b := []byte("NTRC")
	for _, v := range []uint16{1, bodies, traceWords, hz} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, frames)
}

func appendBody(b []byte, body uint16, words ...uint32) []byte {
	b = binary.LittleEndian.AppendUint16(b, body)
	for i := range traceWords {
		var w uint32
		if i < len(words) {
			w = words[i]
		}
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// twoFrames is a recording of two bodies: both in the first frame, the second alone in the second.
func twoFrames() []byte {
	b := append(traceHead(2, 60, 2), 2, 0)
	b = appendBody(b, 0, math.Float32bits(1.5))
	b = appendBody(b, 1, 0, 0, 0, 0, 0, 0, math.Float32bits(1), 0, 0, math.Float32bits(-3), 3)
	return appendBody(append(b, 1, 0), 1, math.Float32bits(9))
}

func zipped(plain []byte) *bytes.Reader {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(plain)
	_ = w.Close()
	return bytes.NewReader(b.Bytes())
}

// readAll reads a recording to its end and gives its bodies.
func readAll(file io.ReadSeeker) (all []TraceBody, err error) {
	trace, err := newTrace(file)
	for err == nil {
		err = trace.Next(func(b *TraceBody) { all = append(all, *b) })
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, errTrace) {
		return all, nil
	}
	return all, err
}

func TestTraceReads(t *testing.T) {
	all, err := readAll(zipped(twoFrames()))
	require.NoError(t, err)
	require.Equal(t, []TraceBody{
		{Body: 0, Position: [3]float32{1.5}},
		{Body: 1, Orientation: [4]float32{3: 1}, Velocity: [3]float32{2: -3}, Interacting: true, Awake: true},
		{Body: 1, Position: [3]float32{9}},
	}, all)
}

func TestTraceRefuses(t *testing.T) {
	broken := func(at int, to byte) []byte {
		b := twoFrames()
		b[at] = to
		return b
	}
	for name, plain := range map[string][]byte{
		"magic":    broken(0, 'X'),
		"version":  broken(4, 2),
		"bodies":   traceHead(0, 60, 1),
		"words":    broken(8, 12),
		"hz":       traceHead(2, 0, 1),
		"frames":   traceHead(2, 60, 0),
		"crowd":    broken(traceHeader, 3),
		"stranger": broken(traceHeader+2, 2),
	} {
		_, err := readAll(zipped(plain))
		require.ErrorIs(t, err, errTrace, name)
	}
	_, err := readAll(bytes.NewReader(twoFrames()))
	require.ErrorIs(t, err, errTrace, "not zipped")
}

func TestTraceRefusesEveryTruncation(t *testing.T) {
	whole := twoFrames()
	for n := range whole {
		_, err := readAll(zipped(whole[:n]))
		require.ErrorIs(t, err, errTrace, "%d bytes", n)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(twoFrames())
	f.Add(traceHead(901, 60, 1800))
	f.Fuzz(func(t *testing.T, plain []byte) {
		if all, err := readAll(zipped(plain)); err == nil {
			require.LessOrEqual(t, len(all)*traceRecord, len(plain))
		}
	})
}

func TestTraceReadsTheRecordings(t *testing.T) {
	for name, frames := range map[string]int{"cubes45.trace.gz": 1800, "cubes91.trace.gz": 1200} {
		trace, file, err := openTrace(recorded(t, name))
		require.NoError(t, err)
		require.Equal(t, []int{901, 60, frames}, []int{trace.Bodies, trace.Hz, trace.Frames})
		first := 0
		require.NoError(t, trace.Next(func(*TraceBody) { first++ }))
		require.Equal(t, 901, first, "the first frame has every body")
		require.NoError(t, file.Close())
		all, err := readAll(mustOpen(t, recorded(t, name)))
		require.NoError(t, err)
		require.Greater(t, len(all), frames)
	}
}

func mustOpen(t *testing.T, path string) io.ReadSeeker {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestReplayMovesBodiesAndStartsAgain(t *testing.T) {
	trace, err := newTrace(zipped(twoFrames()))
	require.NoError(t, err)
	w := ecs.NewWorld()
	replay := &Replay{Trace: trace, OnErr: func(err error) { require.NoError(t, err) }}
	replay.Initialize(&w)
	at := generic.NewMap1[Position](&w)
	x := func() []float32 { return []float32{at.Get(replay.bodies[0]).X, at.Get(replay.bodies[1]).X} }
	for _, want := range [][]float32{{1.5, 0}, {1.5, 9}, {1.5, 0}, {1.5, 9}} {
		replay.Update(&w)
		require.Equal(t, want, x())
	}
}

func TestReplayTellsOnceWhenTheRecordingBreaks(t *testing.T) {
	trace, err := newTrace(zipped(twoFrames()[:100]))
	require.NoError(t, err)
	w := ecs.NewWorld()
	var told []error
	replay := &Replay{Trace: trace, OnErr: func(err error) { told = append(told, err) }}
	replay.Initialize(&w)
	for range 3 {
		replay.Update(&w)
	}
	require.Len(t, told, 1)
	require.ErrorIs(t, told[0], errTrace)
}

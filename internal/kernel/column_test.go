package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
)

// Load reads the same rows in assembly as in Go, and finds the lanes that differ.
func TestLoadIsPlain(t *testing.T) { rapid.Check(t, loads) }

// FuzzLoad is TestLoadIsPlain for a fuzzer.
func FuzzLoad(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(loads)) }

func loads(t *rapid.T) {
	n, rows := rapid.IntRange(1, Lanes).Draw(t, "lanes"), rapid.IntRange(1, MaxStreams).Draw(t, "rows")
	lane := rapid.OneOf(rapid.Uint32Range(0, 2), rapid.SampledFrom([]uint32{1 << 31, 1<<31 + 1, 1<<31 - 1, 1<<32 - 1}))
	draw := func() []uint32 { return rapid.SliceOfN(lane, n, n).Draw(t, "row") }
	var got, want Column
	got.Begin(n, Wide())
	want.Begin(n, false)
	any := uint8(0)
	for k := range rows {
		now, base, before := draw(), draw(), draw()
		got.Point(k, now, base, before)
		want.Point(k, now, base, before)
		differ := uint8(0)
		for i := range n {
			if now[i] != base[i] {
				differ |= 1 << i
			}
			if base[i] != before[i] {
				differ |= 1 << (i + Lanes)
			}
		}
		want.Differ[k], any = differ, any|differ&(1<<Lanes-1)
	}
	differ := want.Differ
	got.Touch(rows)
	got.Load(rows)
	want.Load(rows)
	require.Equal(t, differ, want.Differ)
	require.Equal(t, differ, got.Differ)
	require.Equal(t, any, want.Any)
	require.Equal(t, any, got.Any)
	for at := range rows * Lanes {
		if at%Lanes < n {
			require.Equal(t, [3]uint32{want.Now[at], want.Base[at], want.Before[at]}, [3]uint32{got.Now[at], got.Base[at], got.Before[at]})
		}
	}
}

// A row that is too short is refused.
func TestPointStaysInside(t *testing.T) {
	var c Column
	c.Begin(3, Wide())
	row, short := make([]uint32, 3), make([]uint32, 2)
	require.Panics(t, func() { c.Point(0, short, row, row) })
	require.Panics(t, func() { c.Point(0, row, short, row) })
	require.Panics(t, func() { c.Point(0, row, row, short) })
	require.Panics(t, func() { c.Point(MaxStreams, row, row, row) })
	require.Panics(t, func() { c.Load(MaxStreams + 1) })
}

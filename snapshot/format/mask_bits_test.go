//go:build netcode_256

package format

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

type one struct{ N uint8 }

// schemaOf is a protocol with so many components.
func schemaOf(components int) *Schema {
	var plans []*quantize.Plan
	for row := range components {
		plan, err := quantize.Compile(reflect.TypeFor[one](), fmt.Sprintf("c%03d", row))
		if err != nil {
			panic(err)
		}
		plans = append(plans, plan)
	}
	return NewSchema(plans)
}

// TestGoldenRows compares the rows of records with their golden vectors: components of the protocol, rows, bits, and what is illegal.
func TestGoldenRows(t *testing.T) {
	f, err := os.Open("testdata/rows.golden")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		if in.Text() == "" || in.Text()[0] == '#' {
			continue
		}
		lines++
		fields := strings.Fields(in.Text())
		components, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		b, err := hex.DecodeString(fields[2])
		require.NoError(t, err)
		s := schemaOf(components)
		r := wire.NewBitReader(b)
		got, ok := s.ReadMask(&r, Mask{})
		legal := ok && !r.Failed()
		if require.Equal(t, fields[1] != "illegal", legal, in.Text()); !legal {
			continue
		}
		require.Equal(t, "["+strings.NewReplacer(",", " ", "-", "").Replace(fields[1])+"]", got.String())
		buf := make([]byte, 64)
		w := wire.NewBitWriter(buf)
		s.WriteMask(&w, got, Mask{})
		require.LessOrEqual(t, w.Bits(), s.MaskBits(got))
		require.Equal(t, fields[2], hex.EncodeToString(buf[:w.Finish()]))
	}
	require.Greater(t, lines, 8)
}

// TestRowsComeBack writes and reads any set of rows of any protocol.
func TestRowsComeBack(t *testing.T) {
	schemas := map[int]*Schema{}
	for _, n := range []int{1, 63, 64, 65, 71, 72, 128, 200, 255, 256} {
		schemas[n] = schemaOf(n)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 63, 64, 65, 71, 72, 128, 200, 255, 256}).Draw(t, "components")
		var m Mask
		for _, row := range rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "rows") {
			m = m.With(row)
		}
		var unknown Mask
		for _, row := range rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "rows that the other end lacks") {
			unknown = unknown.With(row)
		}
		m = m.Minus(unknown)
		s := schemas[n]
		buf := make([]byte, 64)
		w := wire.NewBitWriter(buf)
		s.WriteMask(&w, m, unknown)
		require.LessOrEqual(t, w.Bits(), s.MaskBits(m))
		r := wire.NewBitReader(buf[:w.Finish()])
		back, ok := s.ReadMask(&r, unknown)
		require.True(t, ok && !r.Failed())
		require.Equal(t, m, back)
	})
}

// FuzzReadMask reads any bytes. What is legal is written as it was read.
func FuzzReadMask(f *testing.F) {
	s := schemaOf(200)
	f.Add([]byte{1, 0, 0, 0, 1})
	f.Add([]byte{255, 255, 255, 255, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewBitReader(b)
		first := r
		m, ok := s.ReadMask(&r, Mask{})
		if !ok || r.Failed() {
			return
		}
		require.True(t, m.Below(200) == m)
		buf := make([]byte, 64)
		w := wire.NewBitWriter(buf)
		s.WriteMask(&w, m, Mask{})
		bits := w.Bits()
		require.Equal(t, 8*len(b)-bits, r.Remaining(), "as long as it was")
		for again := wire.NewBitReader(buf[:w.Finish()]); bits > 0; bits-- {
			require.Equal(t, again.Bool(), first.Bool())
		}
	})
}

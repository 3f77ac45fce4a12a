package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func goldenHex(text string) (uint64, error) { return strconv.ParseUint(text, 16, 64) }

// TestGoldenHalves holds halves, axes and the debug encoding against vectors of another program.
func TestGoldenHalves(t *testing.T) {
	text, err := os.ReadFile("testdata/golden_half.txt")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		word := strings.Fields(line)
		seen[word[0]]++
		b := number(t, goldenBytes, word[len(word)-1])
		buf := make([]byte, 200)
		w, bw := wire.NewWriter(buf), wire.NewBitWriter(buf)
		switch word[0] {
		case "half":
			h, reason := wire.HalfOf(math.Float64frombits(number(t, goldenHex, word[1])))
			require.Equal(t, wire.NoFault, reason, line)
			w.Uint16(uint16(h))
			require.Equal(t, b, w.Written(), line)
		case "axis":
			a, reason := wire.AxisOf(math.Float64frombits(number(t, goldenHex, word[1])))
			require.Equal(t, wire.NoFault, reason, line)
			w.Int8(int8(a))
			require.Equal(t, b, w.Written(), line)
		case "halfvalue", "axisvalue":
			bytes := number(t, goldenBytes, word[1])
			r := wire.NewReader(bytes)
			v := map[string]func() float32{"halfvalue": r.Half, "axisvalue": r.Axis}[word[0]]()
			require.True(t, r.Done(), line)
			require.Equal(t, number(t, goldenHex, word[2]), uint64(math.Float32bits(v)), line)
			map[string]func(float32) wire.FaultReason{"halfvalue": w.Half, "axisvalue": w.Axis}[word[0]](v)
			require.Equal(t, bytes, w.Written(), line)
		case "sticks", "unpacked":
			p := mustCompile[sticks](t, "Sticks")
			if word[0] == "unpacked" {
				p = mustDebug[golden](t, "Golden")
			} else {
				require.Equal(t, word[2], strconv.Itoa(p.Bits()))
			}
			var want []uint32
			for _, n := range strings.Split(word[1], ",") {
				want = append(want, uint32(number(t, goldenUint, n)))
			}
			lanes, r := make([]uint32, p.Lanes()), wire.NewBitReader(b)
			require.True(t, p.ReadRow(&r, lanes) && r.Done(), line)
			require.Equal(t, want, lanes, line)
			p.WriteRow(&bw, lanes)
			require.Equal(t, b, buf[:bw.Finish()], line)
			if word[0] == "unpacked" {
				var v golden
				p.Dequantise(lanes, unsafe.Pointer(&v))
				require.Equal(t, b, p.AppendFields(nil, unsafe.Pointer(&v)), line)
			}
		case "refuse":
			r, br, p := wire.NewReader(b), wire.NewBitReader(b), mustCompile[sticks](t, "Sticks")
			switch word[1] {
			case "half":
				r.Half()
			case "axis":
				r.Axis()
			case "sticks":
				if !p.ReadRow(&br, make([]uint32, p.Lanes())) {
					r.Fail(wire.ErrMalformed)
				}
			}
			require.Error(t, r.Err(), line)
		}
	}
	require.Equal(t, map[string]int{"half": 42, "halfvalue": 16, "axis": 20, "axisvalue": 8, "sticks": 4, "unpacked": 4, "refuse": 10}, seen)
}

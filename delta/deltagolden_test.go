package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"github.com/arche-netcode/netcode/wire"

	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoldenDeltas holds the symbols of rows, their contexts and their bytes against vectors that another program wrote
// from the description of the format, with codes of about equal length.
func TestGoldenDeltas(t *testing.T) {
	text, err := os.ReadFile("testdata/golden_coded.txt")
	require.NoError(t, err)
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		word := strings.Fields(line)
		if word[0] != "delta" {
			continue
		}
		seen++
		t.Run(strconv.Itoa(seen), func(t *testing.T) { goldenDelta(t, word[1:]) })
	}
	require.Equal(t, 10, seen)
}

func goldenDelta(t *testing.T, word []string) {
	p, err := quantize.ParsePlan(word[0])
	require.NoError(t, err)
	d := flatDelta(t, p)
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	lanes := func(s string) (list []uint32) {
		if s == "-" {
			return nil
		}
		for _, one := range strings.Split(s, ",") {
			list = append(list, uint32(number(one)))
		}
		return list
	}
	v := quantize.Versions{Base: lanes(word[1]), Before: lanes(word[2]), Age: number(word[3]), Span: number(word[4]), Miss: int(number(word[5]))}
	now := lanes(word[6])
	require.True(t, p.Legal(v.Base) && p.Legal(now) && (v.Before == nil || p.Legal(v.Before)))

	coding, reading := v, v
	list := d.Append(nil, now, &coding)
	var symbols []string
	for _, s := range list {
		head := "-/-"
		if s.Table != nil {
			head = fmt.Sprintf("%d/%d", s.Context, s.Symbol)
		}
		symbols = append(symbols, fmt.Sprintf("%s/%d/%d", head, s.Raw, s.RawBits))
	}
	require.Equal(t, word[7], strings.Join(symbols, ","))
	buf := make([]byte, 200)
	w := wire.NewBitWriter(buf)
	WriteSymbols(&w, list)
	b := buf[:w.Finish()]
	require.Equal(t, fromHex(t, word[8]), b)
	r, got := wire.NewBitReader(b), make([]uint32, p.Lanes())
	require.True(t, d.Read(&r, got, &reading))
	require.Equal(t, now, got)
}

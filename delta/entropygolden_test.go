package delta

import (
	"github.com/arche-netcode/netcode/wire"

	"github.com/arche-netcode/netcode/quantize"

	"bytes"
	"encoding/hex"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenInputs is the component of the golden runs: lanes of 8, 1, 2, 32 + 32, 8 and 10 bits.
type goldenInputs struct {
	A uint8
	B bool
	C uint8 `net:"min=0,max=2"`
	D uint64
	E uint8   `net:"min=0,max=200"`
	F float32 `net:"angle,bits=10"`
}

// TestGoldenTables holds codes, tokens, runs, payloads and table texts against vectors that another program wrote from
// the description of the format.
func TestGoldenTables(t *testing.T) {
	text, err := os.ReadFile("testdata/golden_tables.txt")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		word := strings.Fields(line)
		seen[word[0]]++
		t.Run(line[:min(len(line), 60)], func(t *testing.T) {
			switch word[0] {
			case "code", "token":
				goldenCode(t, word[0] == "token", word[1], word[2], fromHex(t, word[3]))
			case "run":
				goldenRun(t, word[1], fromHex(t, word[2]))
			case "payload":
				goldenPayload(t, fromHex(t, word[1]), fromHex(t, word[2]))
			case "tables":
				text := strings.NewReplacer("|", "\n", "_", " ").Replace(word[1])
				set, err := ParseTables([]byte(text))
				require.NoError(t, err)
				require.Equal(t, text, string(set.AppendText(nil)))
			}
		})
	}
	require.Equal(t, map[string]int{"code": 7, "token": 4, "run": 5, "payload": 5, "tables": 2}, seen)
}

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimSuffix(text, "-"))
	require.NoError(t, err)
	return b
}

// numbers reads a list with commas.
func numbers(t *testing.T, text string) (list []int64) {
	t.Helper()
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.ParseInt(word, 10, 64)
		require.NoError(t, err)
		list = append(list, v)
	}
	return list
}

func goldenCode(t *testing.T, token bool, lengths, values string, b []byte) {
	var list []uint8
	for _, digit := range lengths {
		list = append(list, uint8(strings.IndexRune(lineDigits, digit)))
	}
	table, err := NewTable("t", [][]uint8{list})
	require.NoError(t, err)
	buf := make([]byte, len(b)+8)
	w, r := wire.NewBitWriter(buf), wire.NewBitReader(b)
	for _, v := range numbers(t, values) {
		if token {
			table.WriteToken(&w, 0, v)
			require.Equal(t, v, table.ReadToken(&r, 0))
			continue
		}
		table.Write(&w, 0, int(v))
		require.Equal(t, int(v), table.Read(&r, 0))
	}
	require.True(t, r.Done())
	require.True(t, bytes.Equal(b, buf[:w.Finish()]))
}

func goldenRun(t *testing.T, text string, b []byte) {
	p := mustCompile[goldenInputs](t, "Inputs")
	var rows []uint32
	if text != "-" {
		for _, row := range strings.Split(text, ";") {
			for _, v := range numbers(t, row) {
				rows = append(rows, uint32(v))
			}
		}
	}
	count := len(rows) / p.Lanes()
	buf, got := make([]byte, len(b)+8), make([]uint32, len(rows))
	w, r := wire.NewBitWriter(buf), wire.NewBitReader(b)
	p.WriteRun(&w, rows, count)
	require.Equal(t, b, buf[:w.Finish()])
	read, ok := p.ReadRun(&r, got, count)
	require.True(t, ok)
	require.Equal(t, count, read)
	require.Equal(t, rows, append([]uint32(nil), got...))
	require.True(t, r.Done())
}

func goldenPayload(t *testing.T, payload, meaning []byte) {
	var d wire.Deflate
	got, err := wire.AppendDecompressed([]byte{}, payload, len(meaning), &d)
	require.NoError(t, err)
	require.Equal(t, meaning, got)
	again := wire.AppendCompressed(nil, meaning, &d) // not the same bytes on every version of Go, but the same flag
	require.Equal(t, payload[0], again[0])
}

func mustCompile[T any](t testing.TB, name string) *quantize.Plan {
	t.Helper()
	p, err := quantize.Compile(reflect.TypeFor[T](), name)
	require.NoError(t, err)
	return p
}

package delta

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// TestGoldenDeltas compares symbols, contexts and bytes of rows with vectors that another program wrote from the
// description of the format, with codes of about equal length.
func TestGoldenDeltas(t *testing.T) {
	seen := 0
	for _, line := range rowtest.Vectors(os.ReadFile("testdata/golden_coded.txt")) {
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
	v := quantize.Baselines{Base: lanes(word[1]), Before: lanes(word[2]), Age: number(word[3]), Span: number(word[4]), Miss: int(number(word[5]))}
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

// TestGoldenTables compares codes, tokens, runs, payloads and table texts with vectors that another program wrote from
// the description of the format.
func TestGoldenTables(t *testing.T) {
	seen := map[string]int{}
	for _, line := range rowtest.Vectors(os.ReadFile("testdata/golden_tables.txt")) {
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

// numbers parses a list with commas.
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
	p := mustCompile[rowtest.Inputs](t, "Inputs")
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
	read, ok := p.ReadRun(&r, got, count, false)
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

// The components of the golden deltas: each kind of lane, alone and between others.
type (
	goldenLin struct {
		A float32 `net:"min=-512,max=512,step=0.002"`
		B float32 `net:"axis"`
		C float64 `net:"min=0,max=1,step=0.001"`
	}
	goldenTurn struct {
		A float32 `net:"angle,bits=10"`
		B float64 `net:"angle,bits=20"`
	}
	goldenFlt  struct{ A, B float32 }
	goldenSpin struct {
		R [4]float32 `net:"quat,bits=9"`
	}
	goldenWide struct {
		P float32 `net:"min=-8,max=8,step=0.01"`
		Q float32
		R [4]float32 `net:"quat,bits=16"`
		S bool
	}
	goldenNum struct {
		A uint8
		B int16
		C int16   `net:"min=-5,max=500"`
		D float32 `net:"half"`
		E uint32
	}
	goldenRaw struct {
		A uint64
		B int64
		C float64
		D uint64 `net:"min=10,max=4294967306"`
	}
	goldenTags struct {
		A float32    `net:"extrapolate=previous"`
		B float32    `net:"angle,bits=10,extrapolate=previous"`
		R [4]float32 `net:"quat,bits=9,extrapolate=previous"`
		C uint32     `net:"extrapolate=linear"`
		D uint16     `net:"extrapolate=none"`
		E float32    `net:"min=0,max=1,step=0.01,extrapolate=previous"`
		F int16      `net:"min=-5,max=500,extrapolate=linear"`
	}
	goldenPrv struct {
		A float32 `net:"extrapolate=previous"`
		B float32 `net:"extrapolate=none"`
		C float32
	}
	goldenOne  struct{ A uint16 }
	goldenFlag struct{ A bool }
)

type (
	goldenRot  struct{ Q [4]float32 } // goes on turning
	goldenPose struct {
		At         float32
		X, Y, Z, W float32 // likewise
		Wheels     [5]float32
	}
)

// goldenPlan returns one of these plans, from its description.
func goldenPlan(t *testing.T, description string) *quantize.Plan {
	t.Helper()
	name, _, _ := strings.Cut(description, "{")
	for _, of := range []reflect.Type{
		reflect.TypeFor[goldenLin](), reflect.TypeFor[goldenTurn](), reflect.TypeFor[goldenFlt](), reflect.TypeFor[goldenSpin](),
		reflect.TypeFor[goldenWide](), reflect.TypeFor[goldenNum](), reflect.TypeFor[goldenRaw](), reflect.TypeFor[goldenOne](),
		reflect.TypeFor[goldenFlag](), reflect.TypeFor[goldenTags](), reflect.TypeFor[goldenPrv](), reflect.TypeFor[goldenRot](), reflect.TypeFor[goldenPose](),
	} {
		if of.Name() == "golden"+name {
			p, err := quantize.Compile(of, name)
			require.NoError(t, err)
			require.Equal(t, description, string(p.Describe(nil)))
			return p
		}
	}
	require.Fail(t, "no component is named "+name)
	return nil
}

// stairs is a TableSource whose codes differ by context, by the rule in the file.
type stairs struct{}

func (stairs) Table(name, _ string, symbols, contexts int) (*Table, error) {
	flatLengths := func(n int) []uint8 {
		weights := make([]uint64, n)
		for i := range weights {
			weights[i] = 1
		}
		return codeLengths(weights, MaxCodeLength)
	}
	lengths := flatLengths(symbols)
	if u := min(4, symbols-2); u > 0 {
		for i := range u {
			lengths[i] = uint8(i + 1)
		}
		for i, n := range flatLengths(symbols - u) {
			lengths[u+i] = uint8(u) + n
		}
	}
	all := make([][]uint8, contexts)
	for context := range all {
		for symbol := range symbols {
			all[context] = append(all[context], lengths[(symbol+context)%symbols])
		}
	}
	return NewTable(name, all)
}

func goldenLanes(t *testing.T, text string) (lanes []uint32) {
	t.Helper()
	if text == "-" {
		return nil
	}
	for _, n := range strings.Split(text, ",") {
		lanes = append(lanes, uint32(rowtest.Number(t, rowtest.Uint, n)))
	}
	return lanes
}

// TestGoldenDiffer compares WriteNext with vectors that another program wrote from the description of the format.
func TestGoldenDiffer(t *testing.T) {
	seen := map[string]int{}
	for _, line := range rowtest.Vectors(os.ReadFile("testdata/golden_differ.txt")) {
		word := strings.Fields(line)
		seen[word[0]]++
		p := goldenPlan(t, word[1])
		d, err := NewDelta(p, stairs{})
		require.NoError(t, err)
		v := quantize.Baselines{Age: rowtest.Number(t, rowtest.Int, word[2]), Span: rowtest.Number(t, rowtest.Int, word[3]), Before: goldenLanes(t, word[4]), Base: goldenLanes(t, word[5])}
		lanes := make([]uint32, p.Lanes())
		if word[0] == "refuse" {
			r := wire.NewBitReader(fromHex(t, word[6]))
			require.False(t, d.Read(&r, lanes, &v) && r.Done(), line)
			continue
		}
		now, payload := goldenLanes(t, word[6]), fromHex(t, word[7])
		buf := make([]byte, 64)
		w := wire.NewBitWriter(buf)
		coding := v // encoding may change a row
		WriteSymbols(&w, d.Append(nil, now, &coding))
		require.Equal(t, strings.TrimSuffix(word[7], "-"), hex.EncodeToString(buf[:w.Finish()]), line)
		r := wire.NewBitReader(payload)
		require.True(t, d.Read(&r, lanes, &v) && r.Done(), line)
		require.Equal(t, now, lanes, line)
		seen["age "+strconv.Itoa(AgeClass(v.Before != nil, v.Age, v.Span))]++
	}
	require.Len(t, seen, 2+AgeClasses, "rows, refusals and every class of age")
}

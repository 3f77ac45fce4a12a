package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"github.com/arche-netcode/netcode/wire"

	"encoding/hex"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// goldenPlan is the plan of one of them, by its description.
func goldenPlan(t *testing.T, description string) *quantize.Plan {
	t.Helper()
	name, _, _ := strings.Cut(description, "{")
	for _, of := range []reflect.Type{
		reflect.TypeFor[goldenLin](), reflect.TypeFor[goldenTurn](), reflect.TypeFor[goldenFlt](), reflect.TypeFor[goldenSpin](),
		reflect.TypeFor[goldenWide](), reflect.TypeFor[goldenNum](), reflect.TypeFor[goldenRaw](), reflect.TypeFor[goldenOne](),
		reflect.TypeFor[goldenFlag](), reflect.TypeFor[goldenTags](), reflect.TypeFor[goldenPrv](),
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

// stairs is a TableSource whose codes differ from context to context, by the rule that stands in the file.
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
		lanes = append(lanes, uint32(number(t, goldenUint, n)))
	}
	return lanes
}

// TestGoldenDiffer holds rows as what differs against vectors that another program wrote from the description of the format.
func TestGoldenDiffer(t *testing.T) {
	text, err := os.ReadFile("testdata/golden_differ.txt")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		word := strings.Fields(line)
		if word[0] == "#" {
			continue
		}
		seen[word[0]]++
		p := goldenPlan(t, word[1])
		d, err := NewDelta(p, stairs{})
		require.NoError(t, err)
		v := quantize.Versions{Age: number(t, goldenInt, word[2]), Span: number(t, goldenInt, word[3]), Before: goldenLanes(t, word[4]), Base: goldenLanes(t, word[5])}
		lanes := make([]uint32, p.Lanes())
		if word[0] == "refuse" {
			r := wire.NewBitReader(fromHex(t, word[6]))
			require.False(t, d.Read(&r, lanes, &v) && r.Done(), line)
			continue
		}
		now, payload := goldenLanes(t, word[6]), fromHex(t, word[7])
		buf := make([]byte, 64)
		w := wire.NewBitWriter(buf)
		coding := v // which coding a row may change
		WriteSymbols(&w, d.Append(nil, now, &coding))
		require.Equal(t, strings.TrimSuffix(word[7], "-"), hex.EncodeToString(buf[:w.Finish()]), line)
		r := wire.NewBitReader(payload)
		require.True(t, d.Read(&r, lanes, &v) && r.Done(), line)
		require.Equal(t, now, lanes, line)
		seen["age "+strconv.Itoa(AgeClass(v.Age))]++
	}
	require.Len(t, seen, 2+AgeClasses, "rows, refusals and every class of age")
}

func number[T any](t *testing.T, parse func(string) (T, error), text string) T {
	t.Helper()
	v, err := parse(text)
	require.NoError(t, err, text)
	return v
}

func goldenUint(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
func goldenInt(text string) (int64, error)   { return strconv.ParseInt(text, 10, 64) }

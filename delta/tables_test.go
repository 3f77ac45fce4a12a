package delta

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// drawTables returns a set of random tables.
func drawTables(t *rapid.T) *Tables {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9._-]{1,8}`), 0, 4, rapid.ID[string]).Draw(t, "names")
	var tables []*Table
	for _, name := range names {
		first := drawLengths(t, 40)
		lengths := [][]uint8{first}
		for range rapid.IntRange(0, 3).Draw(t, "contexts") {
			lengths = append(lengths, codeLengths(rapid.SliceOfN(rapid.Uint64Range(1, 1000), len(first), len(first)).Draw(t, "weights"), MaxCodeLength))
		}
		table, err := NewTable(name, lengths)
		require.NoError(t, err)
		tables = append(tables, table)
	}
	set, err := NewTables(tables...)
	require.NoError(t, err)
	return set
}

func TestTablesTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawTables(t)
		text := set.AppendText(nil)
		again, err := ParseTables(text)
		require.NoError(t, err)
		require.Equal(t, set.Hash(), again.Hash())
		require.Equal(t, string(text), string(again.AppendText(nil)))
		require.True(t, strings.HasSuffix(string(text), fmt.Sprintf("sum %016x\n", set.Hash())))

		windows, err := ParseTables(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
		require.NoError(t, err)
		require.Equal(t, set.Hash(), windows.Hash())
	})
}

// A text with any changed, missing or additional byte is refused.
func TestTablesTextRefusesEveryChange(t *testing.T) {
	text := exampleTables(t).AppendText(nil)
	for i := range text {
		_, err := ParseTables(text[:i])
		require.Error(t, err, "cut at %d", i)
		for _, to := range []byte{'0', '1', 'f', 'z', ' ', '\n', '\r', 0, text[i] ^ 1} {
			changed := bytes.Clone(text)
			if changed[i] = to; to == text[i] {
				continue
			}
			_, err := ParseTables(changed)
			require.Error(t, err, "%q at %d", to, i)
		}
		shifted := append(bytes.Clone(text[:i]), append([]byte{'2'}, text[i:]...)...)
		_, err = ParseTables(shifted)
		require.Error(t, err, "shifted at %d", i)
	}
	for _, tail := range []string{"\n", "x", "table a symbols=1 contexts=1\n0\n", string(text)} {
		_, err := ParseTables(append(bytes.Clone(text), tail...))
		require.Error(t, err, tail)
	}
}

// exampleTables is the set of the comment on AppendText, and a second one.
func exampleTables(t testing.TB) *Tables {
	t.Helper()
	delta, err := NewTable("position.delta", [][]uint8{{2, 3, 2, 3, 2}, {1, 4, 4, 3, 2}})
	require.NoError(t, err)
	one, err := NewTable("nothing", [][]uint8{{0}})
	require.NoError(t, err)
	set, err := NewTables(delta, one)
	require.NoError(t, err)
	return set
}

// summed appends the valid checksum to a body.
func summed(body string) []byte {
	return fmt.Appendf([]byte(body), "sum %016x\n", sumTables([]byte(body)))
}

func TestTablesTextIsAsDocumented(t *testing.T) {
	body := "wire.tables 1\ntable nothing symbols=1 contexts=1\n0\ntable position.delta symbols=5 contexts=2\n23232\n14432\n"
	set := exampleTables(t)
	require.Equal(t, string(summed(body)), string(set.AppendText(nil)))
	require.Equal(t, uint64(0xaf63dc4c8601ec8c), sumTables([]byte("a")), "FNV-1a 64 of its authors' test vectors")
	require.Len(t, set.All(), 2)
	require.Equal(t, "nothing", set.All()[0].Name())
}

func TestParseTablesRefuses(t *testing.T) {
	head := "wire.tables 1\n"
	digits := func(n int) string { return strings.Repeat("c", n) + "\n" }
	for name, c := range map[string]struct {
		text []byte
		err  error
		says string
	}{
		"nothing":                  {nil, ErrTableText, "wire.tables"},
		"only a sum":               {summed(""), ErrTableText, "wire.tables"},
		"another version":          {summed("wire.tables 2\n"), ErrTableText, "wire.tables 1"},
		"no table, which is legal": {summed(head), nil, ""},
		"no sum":                   {[]byte(head), ErrTableText, "sum"},
		"a wrong sum":              {[]byte(head + "sum 0123456789abcdef\n"), ErrTableSum, "should be"},
		"over-full":                {summed(head + "table a symbols=3 contexts=1\n111\n"), ErrCodeOverfull, "table a, context 0"},
		"under-full":               {summed(head + "table a symbols=3 contexts=2\n122\n123\n"), ErrCodeUnderfull, "context 1"},
		"a symbol without a code":  {summed(head + "table a symbols=3 contexts=1\n110\n"), ErrCodeUnderfull, "symbol 2"},
		"too deep to write":        {summed(head + "table a symbols=3 contexts=1\n12g\n"), ErrTableText, "line 3"},
		"upper case":               {summed(head + "table a symbols=3 contexts=1\n12A\n"), ErrTableText, "line 3"},
		"no symbols":               {summed(head + "table a symbols=0 contexts=1\n\n"), ErrAlphabet, "symbols"},
		"no contexts":              {summed(head + "table a symbols=1 contexts=0\n"), ErrAlphabet, "contexts"},
		"negative":                 {summed(head + "table a symbols=-1 contexts=1\n1\n"), ErrAlphabet, "symbols"},
		"too many symbols":         {summed(head + "table a symbols=4097 contexts=1\n" + digits(4097)), ErrAlphabet, "4096"},
		"too many contexts":        {summed(head + "table a symbols=1 contexts=1025\n" + strings.Repeat("0\n", 1025)), ErrAlphabet, "1024"},
		"a huge number":            {summed(head + "table a symbols=99999999999999999999 contexts=1\n0\n"), ErrAlphabet, "line 2"},
		"fewer than it says":       {summed(head + "table a symbols=2 contexts=9\n11\n"), ErrTableText, "more than follow"},
		"a short line":             {summed(head + "table a symbols=3 contexts=1\n11\n"), ErrAlphabet, "line 3: 2 symbols, not 3"},
		"a long line":              {summed(head + "table a symbols=2 contexts=1\n122\n"), ErrAlphabet, "line 3: 3 symbols, not 2"},
		"another word order":       {summed(head + "table a contexts=1 symbols=2\n11\n"), ErrTableText, "symbols=N"},
		"a leading zero":           {summed(head + "table a symbols=02 contexts=1\n11\n"), ErrTableText, "the only way"},
		"a plus":                   {summed(head + "table a symbols=+2 contexts=1\n11\n"), ErrAlphabet, "symbols"},
		"two spaces":               {summed(head + "table  a symbols=2 contexts=1\n11\n"), ErrTableText, "head of a table"},
		"no name":                  {summed(head + "table  symbols=2 contexts=1\n11\n"), ErrTableText, "name"},
		"a name that is none":      {summed(head + "table a/b symbols=2 contexts=1\n11\n"), ErrTableText, "name"},
		"a name too long":          {summed(head + "table " + strings.Repeat("a", 65) + " symbols=2 contexts=1\n11\n"), ErrTableText, "name"},
		"the same name twice":      {summed(head + "table a symbols=2 contexts=1\n11\ntable a symbols=1 contexts=1\n0\n"), ErrTableText, "two tables"},
		"out of order":             {summed(head + "table b symbols=2 contexts=1\n11\ntable a symbols=1 contexts=1\n0\n"), ErrTableText, "order"},
		"an empty line":            {summed(head + "\ntable a symbols=2 contexts=1\n11\n"), ErrTableText, "head of a table"},
		"too large":                {make([]byte, maxTableText+1), wire.ErrTooLong, "at most"},
		"a large recording":        {append([]byte(recordingHead+"1\r\n\x00"), make([]byte, maxTableText)...), ErrTableText, "it is a recording"},
		"too many codes":           {manyCodes(9), ErrAlphabet, "8192"},
		"as many codes as can be":  {manyCodes(8), nil, ""},
	} {
		_, err := ParseTables(c.text)
		require.ErrorIs(t, err, c.err, name)
		if c.err != nil {
			require.ErrorContains(t, err, c.says, name)
		}
	}
}

// manyCodes returns tables of 1024 contexts.
func manyCodes(tables int) []byte {
	body := "wire.tables 1\n"
	for i := range tables {
		body += fmt.Sprintf("table %d symbols=2 contexts=1024\n", i) + strings.Repeat("11\n", 1024)
	}
	return summed(body)
}

func TestNewTablesRefuses(t *testing.T) {
	_, err := NewTable("a b", [][]uint8{{0}})
	require.ErrorIs(t, err, ErrTableText)
	_, err = NewTable("a", nil)
	require.ErrorIs(t, err, ErrAlphabet)
	_, err = NewTable("a", make([][]uint8, maxContexts+1))
	require.ErrorIs(t, err, ErrAlphabet)
	_, err = NewTable("a", [][]uint8{{1, 1}, {1, 2, 2}})
	require.ErrorIs(t, err, ErrAlphabet)
	_, err = NewTable("a", [][]uint8{{1, 1}, {1, 2}})
	require.ErrorIs(t, err, ErrCodeUnderfull)
	a, err := NewTable("a", [][]uint8{{1, 1}, {1, 1}})
	require.NoError(t, err)
	_, err = NewTables(a, a)
	require.ErrorIs(t, err, ErrTableText)
	var large []*Table
	for i := range 130 {
		list := make([][]uint8, 2)
		for context := range list {
			list[context] = bytes.Repeat([]byte{12}, MaxSymbols)
		}
		table, err := NewTable(fmt.Sprint("t", i), list)
		require.NoError(t, err)
		large = append(large, table)
	}
	_, err = NewTables(large...)
	require.ErrorIs(t, err, wire.ErrTooLong, "the text could not be read again")

	set, err := NewTables(a)
	require.NoError(t, err)
	got, err := set.Find("a", 2, 2)
	require.NoError(t, err)
	require.Equal(t, a, got)
	for _, c := range []struct {
		name              string
		symbols, contexts int
	}{{"b", 2, 2}, {"a", 3, 2}, {"a", 2, 1}} {
		_, err = set.Find(c.name, c.symbols, c.contexts)
		require.ErrorIs(t, err, ErrAlphabet)
	}
	require.Panics(t, func() { r := wire.NewBitReader(nil); a.Read(&r, 2) }, "a context that is none is the program's mistake")
}

// FuzzParseTables: an accepted text is written again unchanged, and its codes read any bits.
func FuzzParseTables(f *testing.F) {
	f.Add(exampleTables(f).AppendText(nil), []byte{1, 2, 3, 255, 0})
	f.Add(summed("wire.tables 1\n"), []byte{})
	f.Add(summed("wire.tables 1\ntable a symbols=3 contexts=1\n111\n"), []byte{})
	f.Fuzz(func(t *testing.T, text, payload []byte) {
		payload = payload[:min(len(payload), 64)]
		// Fix the checksum, which would stop the fuzzer otherwise.
		for _, text := range [][]byte{text, summed(string(text[:max(0, len(text)-sumLine)]))} {
			set, err := ParseTables(text)
			if err != nil {
				require.Nil(t, set)
				continue
			}
			require.Equal(t, strings.ReplaceAll(string(text), "\r\n", "\n"), string(set.AppendText(nil)))
			for _, table := range set.All() {
				for context := range table.Contexts() {
					readAll(t, table, context, payload)
				}
			}
		}
	})
}

// readAll reads and writes symbols until the bits end.
func readAll(t *testing.T, table *Table, context int, payload []byte) {
	r, again := wire.NewBitReader(payload), make([]byte, len(payload)+8)
	w := wire.NewBitWriter(again)
	for range len(payload) * 8 {
		symbol := table.Read(&r, context)
		if symbol >= table.Symbols() {
			t.Fatalf("symbol %d of %d", symbol, table.Symbols())
		}
		if r.Failed() {
			break
		}
		table.Write(&w, context, symbol)
		if w.Bits()+r.Remaining() != len(payload)*8 {
			t.Fatalf("%d is written in other bits than it was read from", symbol)
		}
	}
	whole := w.Bits() / 8
	w.Finish()
	require.Equal(t, payload[:whole], again[:whole])
}

// The shipped text parses like any other; its tables are the same, built at once or lazily.
func TestShippedTablesAreTheirText(t *testing.T) {
	parsed, err := ParseTables([]byte(shippedText))
	require.NoError(t, err)
	lazy := Shipped()
	require.Equal(t, parsed.Hash(), lazy.Hash())
	require.Equal(t, shippedText, string(lazy.AppendText(nil)))
	for _, table := range lazy.All() {
		require.Equal(t, parsed.named(table.Name()).Contexts(), table.Contexts())
	}
}

func (s *Tables) named(name string) *Table {
	for _, t := range s.list {
		if t.name == name {
			return t
		}
	}
	return nil
}

// Every kind of field finds its class.
func TestShippedTablesKnowEveryClass(t *testing.T) {
	for _, p := range []*quantize.Plan{deltaPlan[rowtest.AnyField](t), deltaPlan[loneNumber](t), deltaPlan[rowtest.Inputs](t)} {
		_, err := NewDelta(p, Shipped())
		require.NoError(t, err)
	}
	testDeltaWith(t, deltaPlan[rowtest.AnyField](t), Shipped())
}

// Only used codes are built: a schema costs microseconds.
func TestShippedTablesBuildNoCodeBeforeItIsUsed(t *testing.T) {
	s := Shipped()
	d, err := NewDelta(deltaPlan[rowtest.AnyField](t), s)
	require.NoError(t, err)
	built := func() (n int) {
		for _, table := range s.list {
			for i := range table.codes {
				if table.codes[i].Load() != nil {
					n++
				}
			}
		}
		return n
	}
	require.Zero(t, built())
	base := make([]uint32, d.plan.Lanes())
	now := append([]uint32{}, base...)
	now[0] = 5
	w := wire.NewBitWriter(make([]byte, 400))
	WriteSymbols(&w, d.Append(nil, now, &quantize.Baselines{Base: base, Age: 1}))
	require.LessOrEqual(t, built(), 6)
	require.NotZero(t, built())
}

func TestLazyTablesRefuseIllegalText(t *testing.T) {
	for _, text := range []string{
		"", "wire.tables 1\ntable\nsum 0123456789abcdef\n", "wire.tables 1\nsum 0123456789abcdeg\n",
		"wire.tables 1\ntable a symbols=9 contexts=9\nsum 0123456789abcdef\n",
	} {
		_, err := lazyTables(text)
		require.Error(t, err, text)
	}
}

// A game's own tables come first, and shipped ones replace missing ones. A table of the wrong size is an error, not a
// reason to fall back.
func TestOwnTablesLieOverTheShipped(t *testing.T) {
	trainer := NewTrainer()
	trainer.Table("anyField.0", deltaSymbols, deltaContexts).Count(0, 1)
	own, err := trainer.Build()
	require.NoError(t, err)
	source := own.Over(Shipped())
	first, err := source.Table("anyField.0", "class.linear", deltaSymbols, deltaContexts)
	require.NoError(t, err)
	require.Equal(t, "anyField.0", first.Name())
	second, err := source.Table("anyField.1", "class.linear", deltaSymbols, deltaContexts)
	require.NoError(t, err)
	require.Equal(t, "class.linear", second.Name())
	_, err = source.Table("anyField.0", "class.largest", 4, 4)
	require.ErrorIs(t, err, ErrAlphabet)
}

package delta

import (
	"github.com/arche-netcode/netcode/wire"

	"github.com/arche-netcode/netcode/quantize"

	"testing"

	"github.com/stretchr/testify/require"
)

// The shipped text is a text as any other, and its tables are the same whether made at once or when asked for.
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
	for _, p := range []*quantize.Plan{deltaPlan[anyField](t), deltaPlan[loneNumber](t), deltaPlan[goldenInputs](t)} {
		_, err := NewDelta(p, Shipped())
		require.NoError(t, err)
	}
	testDeltaWith(t, deltaPlan[anyField](t), Shipped())
}

// Only what is used is built: a schema costs microseconds.
func TestShippedTablesBuildNoCodeBeforeItIsUsed(t *testing.T) {
	s := Shipped()
	d, err := NewDelta(deltaPlan[anyField](t), s)
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
	WriteSymbols(&w, d.Append(nil, now, &quantize.Versions{Base: base, Age: 1}))
	require.LessOrEqual(t, built(), 6)
	require.NotZero(t, built())
}

func TestLazyTablesRefuseWhatIsNoText(t *testing.T) {
	for _, text := range []string{
		"", "wire.tables 1\ntable\nsum 0123456789abcdef\n", "wire.tables 1\nsum 0123456789abcdeg\n",
		"wire.tables 1\ntable a symbols=9 contexts=9\nsum 0123456789abcdef\n",
	} {
		_, err := lazyTables(text)
		require.Error(t, err, text)
	}
}

// A game's own tables come first, those that ship stand in, and one of another size is no table to fall back from.
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

func BenchmarkShipped(b *testing.B) {
	for b.Loop() {
		Shipped()
	}
}

package predict

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/rowtest"
)

// A span ends where a slot, an index or a generation is not consecutive, at the end of a table or run, and before an
// entity that is not compared.
func TestSpansAreWhatFollows(t *testing.T) { rapid.Check(t, spans) }

// FuzzSpans is TestSpansAreWhatFollows for a fuzzer.
func FuzzSpans(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(spans)) }

func spans(t *rapid.T) {
	n := rapid.IntRange(1, 20).Draw(t, "slots")
	c := &client{sim: &Simulation{}, slots: make([]slot, n), progress: make([]progress, n)}
	c.order.version = 1
	index, in := uint32(0), make([]int, n) // By slot: the run with the slot.
	for i := range n {
		index += uint32(rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "gap"))
		c.slots[i].id = netcode.NetworkID{Index: index, Generation: uint32(rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "generation"))}
		if rapid.IntRange(0, 9).Draw(t, "unnamed") == 0 {
			c.slots[i].id = netcode.NetworkID{}
		}
		c.progress[i] = progress{generation: c.slots[i].id.Generation, begun: rapid.IntRange(0, 9).Draw(t, "begun") > 0}
		runs := len(c.order.parts)
		if i > 0 && rapid.IntRange(0, 4).Draw(t, "another table") > 0 {
			c.order.parts[runs-1].runs[0].count++
			in[i] = in[i-1]
			continue
		}
		in[i] = runs
		c.order.parts = append(c.order.parts, part{mask: uint64(runs) + 1, runs: []run{{slot: i, count: 1}}})
		c.order.list = append(c.order.list, table{})
	}
	c.findSpans()
	follows := func(i int) bool {
		return c.progress[i].begun && c.slots[i].id != netcode.NetworkID{}
	}
	for i := range n {
		want := span{}
		for k := i; k < n && in[k] == in[i] && follows(k) && c.slots[k].id == (netcode.NetworkID{Index: c.slots[i].id.Index + uint32(k-i), Generation: c.slots[i].id.Generation}); k++ {
			want = span{want.count + 1, uint64(in[i]) + 1}
		}
		require.Equal(t, want, c.comparison.spans[i], "slot %d", i)
	}
	c.comparison.spans[0].count = 99
	c.findSpans()
	require.EqualValues(t, 99, c.comparison.spans[0].count, "nothing changed")
	c.order.version++
	c.findSpans()
	require.NotEqual(t, int32(99), c.comparison.spans[0].count)
}

package record

import (
	"os"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestTally(t *testing.T) {
	text, err := os.ReadFile("/tmp/cubes91.tables")
	require.NoError(t, err)
	tables, err := wire.ParseTables(text)
	require.NoError(t, err)
	ps := plans(t)
	schema := snapshot.NewSchema(ps)
	require.NoError(t, schema.SetTables(tables))
	cfg := snapshot.Config{Window: 128, SentPackets: 1 << 12}
	s := snapshot.NewStore(schema, cfg)
	type cell struct{ code, raw, n int }
	sum := map[string]*cell{}
	at := func(k string) *cell {
		if sum[k] == nil {
			sum[k] = &cell{}
		}
		return sum[k]
	}
	on := false
	s.Watch(func(list []wire.DeltaSymbol) {
		if !on {
			return
		}
		for i := range list {
			name := "raw"
			if list[i].Table != nil {
				name = list[i].Table.Name()
			}
			_, n := list[i].Code()
			c := at(name)
			c.code += int(n)
			c.raw += int(list[i].RawBits)
			c.n++
		}
	})
	v := snapshot.NewView(s, cfg)
	tr := &Training{Store: s, clients: []client{{view: v, delay: tick.Tick(6), buffer: make([]byte, 1200)}}}
	f := frames(t, "cubes45.trace.gz")
	k := 0
	before := uint64(0)
	play(t, tr, f, func() {
		k++
		if k == 20 {
			on = true
			before = v.Stats().Spawns + v.Stats().Updates
		}
	})
	n := float64(len(f) - 20)
	var names []string
	for k := range sum {
		names = append(names, k)
	}
	sort.Strings(names)
	total := 0.0
	for _, k := range names {
		c := sum[k]
		rate := float64(c.code+c.raw) * 60 / 1000 / n
		total += rate
		t.Logf("%-24s n/frame %6.1f code %5.2f raw %5.2f kbit/s %6.2f", k, float64(c.n)/n, float64(c.code)/float64(c.n), float64(c.raw)/float64(c.n), rate)
	}
	st := v.Stats()
	t.Logf("total %.1f; records/frame %.1f; spawns %d", total, float64(st.Spawns+st.Updates-before)/n, st.Spawns)
}

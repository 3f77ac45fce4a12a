package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/stretchr/testify/require"
)

// Making bodies side by side allocates nothing, rows that go their own way included.
func TestStrandsAllocateNothing(t *testing.T) {
	var s Strands
	var c Column
	which, err := Shipped().Find("rows.1", 2, WhichContexts(1))
	require.NoError(t, err)
	for _, d := range append(strandDeltas(t, false), strandDeltas(t, true)...) {
		v := quantize.Versions{Before: make([]uint32, len(d.lanes)), Age: 1, Span: 1}
		now := make([]uint32, len(d.lanes))
		turn := func(by uint32) {
			d.BeginColumn(&c)
			for k := range uint32(MaxStrands) {
				for i := range now {
					now[i] = (k + by) & uint32(d.top(i))
				}
				c.Put(int(k), now, v.Before, v.Before)
			}
			s.Begin(MaxStrands, which, []Column{c}, &v)
			d.CodeColumn(&s, &c, &v)
		}
		for by := range uint32(40) { // what is asked for the first time has its tables made
			turn(by)
		}
		if d.plan.Extrapolates() {
			continue // it is asked for its extrapolation by way of a pool
		}
		alloctest.Zero(t, 5, func() { turn(3) }, d.plan.Name())
	}
}

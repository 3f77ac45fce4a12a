package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"math/rand/v2"
	"testing"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/stretchr/testify/require"
)

// benchColumns is as many columns of rows that move a little, as bodies on circles do.
func benchColumns(b *testing.B, d *Delta, columns int) []Column {
	r := rand.New(rand.NewPCG(3, 9))
	list := make([]Column, columns)
	for i := range list {
		c := &list[i]
		d.BeginColumn(c)
		for k := range MaxStrands {
			var before, base, now [groupLanes]uint32
			for l := range d.lanes {
				if top := int(d.top(l)); d.lanes[l].model != quantize.ModelLargest {
					at, step := top/4+r.IntN(top/2+1), r.IntN(min(top/8, 200)+1)-min(top/16, 100)
					before[l], base[l], now[l] = uint32(at), uint32(at+step), uint32(min(max(at+2*step+r.IntN(5)-2, 0), top))
				}
			}
			c.Put(k, now[:len(d.lanes)], base[:len(d.lanes)], before[:len(d.lanes)])
		}
	}
	return list
}

// BenchmarkTokens is finding the tokens of a column of 32 rows, one row after the other (plain) and several at a time; and, of cold ones, of columns that no
// cache of a core holds.
func BenchmarkTokens(b *testing.B) {
	type (
		place struct {
			X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
		}
		turned struct {
			Q [4]float32 `net:"quat,bits=9"`
		}
	)
	for _, kind := range []struct {
		name string
		plan *quantize.Plan
	}{{"lines", deltaPlan[place](b)}, {"turns", deltaPlan[turned](b)}} {
		for _, of := range []struct {
			name    string
			columns int
			age     int64
		}{{"warm", 1, 1}, {"warm2", 1, 2}, {"cold", 4096, 1}} {
			for _, way := range []string{"plain", "wide"} {
				b.Run(kind.name+"/"+of.name+"/"+way, func(b *testing.B) {
					d, err := NewDelta(kind.plan, Shipped())
					require.NoError(b, err)
					d.Prepare()
					if way == "plain" {
						d.tops = kernel.Tops{}
					} else if d.tops[1] == 0 {
						b.Skip("not here")
					}
					s, columns, v := new(Strands), benchColumns(b, d, of.columns), quantize.Versions{Before: make([]uint32, 4), Age: of.age, Span: 1}
					s.N = MaxStrands
					b.ResetTimer()
					for i := range b.N {
						d.tokensAt(s, &columns[i%of.columns], &v)
					}
				})
			}
		}
	}
}

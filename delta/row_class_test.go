package delta

import (
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"

	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type (
	coarseTurn struct {
		Q [4]float32 `net:"quat,bits=4"`
	}
	fineTurn struct {
		Q [4]float32 `net:"quat,bits=16"`
	}
)

// drawTurns draws three versions of a rotation, usually with the same left-out component: each a few steps from the
// previous one, or arbitrary.
func drawTurns(t *rapid.T, m int64) (rows [3][]uint32) {
	for i := range rows {
		rows[i] = []uint32{rapid.Uint32Range(0, 3).Draw(t, "left out"), 0, 0, 0}
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "the same") > 0 {
			rows[i][0] = rows[0][0]
		}
		near := i > 0 && rapid.Bool().Draw(t, "near")
		for k := 1; k < 4; k++ {
			if rows[i][k] = rapid.Uint32Range(0, uint32(m)).Draw(t, "lane"); near {
				rows[i][k] = uint32(min(max(int64(rows[i-1][k])+rapid.Int64Range(-3, 3).Draw(t, "step"), 0), m))
			}
		}
	}
	return rows
}

// Classes of rows with their own encoder.
func TestRowKinds(t *testing.T) {
	if plain.On {
		t.Skip("a test of row classes, which netcode_plain leaves out")
	}
	type (
		stays struct {
			Q [4]float32 `net:"quat,bits=9,extrapolate=previous"`
		}
		odd struct {
			A float32 `net:"min=-8,max=8,step=0.01"`
			B float32 `net:"min=-8,max=8,step=0.01,extrapolate=previous"`
		}
		five struct {
			A [5]float32 `net:"min=-8,max=8,step=0.01"`
		}
	)
	for _, c := range []struct {
		p    *quantize.Plan
		kind rowClass
	}{
		{deltaPlan[benchPlace](t), classLines}, {deltaPlan[benchTurn](t), classTurn},
		{deltaPlan[stays](t), classOther}, {deltaPlan[odd](t), classOther}, {deltaPlan[five](t), classOther},
	} {
		d, err := NewDelta(c.p, Shipped())
		require.NoError(t, err)
		d.Prepare()
		require.Equal(t, c.kind, d.class, c.p.Name())
	}
	own := deltaPlan[benchPlace](t)
	own.ExtrapolateBy("own", func([]uint32, *quantize.Baselines) {})
	d, err := NewDelta(own, Shipped())
	require.NoError(t, err)
	d.Prepare()
	require.False(t, d.ready, "what a function extrapolates goes the long way")
}

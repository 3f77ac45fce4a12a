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

// drawTurns is a rotation in three versions that leave out the same component, most often, each a few steps from the one
// before or anywhere.
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

// The way of rotations on their own is the plain extrapolation, for lanes of any width, and is that of most.
func TestTurnIsThePlainRotation(t *testing.T) {
	if plain.On {
		t.Skip("a test of row classes, which netcode_plain leaves out")
	}
	for _, p := range []*quantize.Plan{deltaPlan[benchTurn](t), deltaPlan[coarseTurn](t), deltaPlan[fineTurn](t)} {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		d.Prepare()
		require.Equal(t, classTurn, d.class)
		taken, asked := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			rows := drawTurns(t, d.m)
			before, base, now := rows[0], rows[1], rows[2]
			age, span := rapid.Int64Range(1, 70).Draw(t, "age"), rapid.Int64Range(1, 70).Draw(t, "span")
			if rapid.Bool().Draw(t, "a tick each") {
				age, span = 1, 1
			}
			var o offsets
			asked++
			if !d.turn(&o, now, base, before, age, span, 14) {
				return
			}
			taken++
			at, expected := plainRotation(base, before, d.m, age, span)
			q := rotation{m: d.m, at: at, expected: expected}
			for i := 1; i < 4; i++ {
				extrapolated, movement := q.part(int(now[0]&3), i)
				require.Equal(t, movement, o.movement[i])
				require.Equal(t, int64(now[i])-extrapolated, o.distance[i])
			}
			plain := quantize.Baselines{Base: base, Before: before, Age: age, Span: span}
			if v := plain; now[1] != base[1] || now[2] != base[2] || now[3] != base[3] {
				requireCoded(t, d, now, &v, d.Append(nil, now, &plain))
			}
		})
		if !testing.Short() { // then there are too few cases to say
			require.Greater(t, taken, asked/3)
		}
	}
}

// Which rows have a way of their own.
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

package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawThree is a row in three versions, each anywhere, or near the one before, or the same.
func drawThree(t *rapid.T, d *Delta) (rows [3][]uint32) {
	if d.row == rowTurn {
		return drawTurns(t, d.m)
	}
	for i := range rows {
		rows[i] = make([]uint32, len(d.lanes))
		for k := range d.lanes {
			top := uint32(d.top(k))
			switch how := rapid.IntRange(0, 3).Draw(t, "how"); {
			case i == 0 || how == 0:
				rows[i][k] = rapid.Uint32Range(0, top).Draw(t, "lane")
			case how == 1:
				rows[i][k] = uint32(min(max(int64(rows[i-1][k])+rapid.Int64Range(-200, 200).Draw(t, "step"), 0), int64(top)))
			default:
				rows[i][k] = rows[i-1][k]
			}
		}
	}
	return rows
}

// strandDeltas is rows of every kind that bodies made side by side may have, several at a time where the processor can.
func strandDeltas(t *testing.T, wide bool) (list []*Delta) {
	for _, p := range append(codedPlans(t), deltaPlan[coarseTurn](t), deltaPlan[fineTurn](t)) {
		if p.Lanes() <= MaxStrandLanes {
			d, err := NewDelta(p, Shipped())
			require.NoError(t, err)
			d.Prepare()
			d.wide = d.wide && wide
			list = append(list, d)
		}
	}
	require.GreaterOrEqual(t, len(list), 6)
	return list
}

// Bodies that are made side by side are, bit by bit, those that are made row by row.
func TestStrandsAreWhatRowByRowComesTo(t *testing.T) {
	plain, several, s := strandDeltas(t, false), strandDeltas(t, true), new(Strands)
	ahead := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxStrands).Draw(t, "bodies")
		deltas := rapid.SampledFrom([][]*Delta{plain, several}).Draw(t, "how")
		of := rapid.SliceOfN(rapid.SampledFrom(deltas), 1, MaxStrandRows).Draw(t, "rows")
		which, err := Shipped().Find([]string{"rows.1", "rows.2", "rows.3", "rows.4"}[len(of)-1], 1<<len(of), WhichContexts(len(of)))
		require.NoError(t, err)
		v := quantize.Versions{Age: rapid.Int64Range(1, 70).Draw(t, "age"), Span: rapid.Int64Range(1, 70).Draw(t, "span")}
		if rapid.Bool().Draw(t, "a tick each") {
			v.Age, v.Span = 1, 1
		}
		known := rapid.IntRange(0, 3).Draw(t, "T' is leaned on") > 0
		columns, rows := make([]Column, len(of)), make([][][3][]uint32, n)
		for i, d := range of {
			d.BeginColumn(&columns[i])
		}
		for k := range rows {
			for i, d := range of {
				r := drawThree(t, d)
				rows[k] = append(rows[k], r)
				before := r[0]
				if !known {
					before = r[1]
				}
				columns[i].Put(k, r[2], r[1], before)
			}
		}
		if known {
			v.Before = rows[0][0][0]
		}
		s.Begin(n, which, columns, &v)
		for i, d := range of {
			d.CodeColumn(s, &columns[i], &v)
			for k := range n {
				if columns[i].Changed(k) != 0 && s.Odd[k] == 0 {
					ahead++
				}
			}
		}
		var got Words
		for k := range rows {
			var want Words
			apart(&want, of, which, rows[k], v, known)
			require.Equal(t, want.Bits(), s.Bits(k), "of body %d", k)
			want.Finish()
			from := len(got.All())
			first, all := s.Word(k)
			require.Equal(t, want.All()[0], first)
			require.Equal(t, s.Bits(k) < 64, all)
			got.Strand(s, k)
			require.Equal(t, want.All(), got.All()[from:], "of body %d", k)
		}
	})
	if !testing.Short() { // then there are too few cases to say
		require.Greater(t, ahead, 200, "rows that did not go their own way")
	}
}

// apart makes a body row by row.
func apart(w *Words, of []*Delta, which *Table, rows [][3][]uint32, v quantize.Versions, known bool) {
	differ, moves := uint(0), uint(0)
	changed, moved := make([]uint64, len(of)), make([]uint64, len(of))
	lean := func(i int) {
		if v.Base, v.Before = rows[i][1], nil; known {
			v.Before = rows[i][0]
		}
	}
	for i, d := range of {
		lean(i)
		changed[i], moved[i] = d.Compare(rows[i][2], &v)
		differ |= uint(bitOf(changed[i] != 0)) << i
		moves |= uint(bitOf(moved[i] != 0)) << i
	}
	w.Symbol(which, WhichContext(len(of), moves, known, v.Age), int(differ))
	for i, d := range of {
		if lean(i); changed[i] != 0 {
			d.Code(w, rows[i][2], &v, changed[i], moved[i])
		}
	}
}

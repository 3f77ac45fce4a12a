package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Rows that are replaced together are to a store what they are one by one: now, at every tick that it holds, in what changed,
// and in what had to be forgotten for want of room.
func TestReplaceRowsIsReplace(t *testing.T) { rapid.Check(t, replaceRows(t)) }

// FuzzReplaceRows is TestReplaceRowsIsReplace for a fuzzer.
func FuzzReplaceRows(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(replaceRows(f))) }

func replaceRows(t testing.TB) func(*rapid.T) {
	type wide struct{ A, B, C, D, E float32 }
	type small struct{ N int32 }
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t), compile[wide](t), compile[small](t)})
	return func(t *rapid.T) {
		cfg := Config{Window: 8, HistoryBytes: rapid.SampledFrom([]int{0, 1, 90 << 10}).Draw(t, "bytes")}
		single, together := NewStore(schema, cfg), NewStore(schema, cfg)
		stores := []*Store{single, together}
		var ids []wire.NetworkID
		for range rapid.IntRange(1, 25).Draw(t, "ticks") {
			now := single.Tick() + 1
			for _, s := range stores {
				s.Begin(now)
			}
			for range rapid.SampledFrom([]int{0, 0, 1, 150}).Draw(t, "more") {
				ids = append(ids, single.Spawn())
				require.Equal(t, ids[len(ids)-1], together.Spawn())
			}
			seed := rapid.Uint32().Draw(t, "seed")
			next := func(n uint32) uint32 { seed = seed*1664525 + 1013904223; return seed >> 8 % n }
			for row := range schema.Rows() {
				replaceSome(t, stores, ids, row, next)
			}
			if len(ids) > 0 && next(4) == 0 {
				for _, s := range stores {
					s.Despawn(ids[0])
				}
				ids = ids[1:]
			}
			for _, s := range stores {
				s.Commit()
			}
			requireSameStore(t, single, together, ids)
		}
	}
}

// replaceSome gives some entities another value of a row, and sets it where they have none yet, now and then before the others are
// replaced, so that the tick has seen them.
func replaceSome(t *rapid.T, stores []*Store, ids []wire.NetworkID, row int, next func(uint32) uint32) {
	n := stores[0].schema.Plan(row).Lanes()
	lanes := make([]uint32, n)
	var some []wire.NetworkID
	for _, id := range ids {
		for i := range lanes {
			lanes[i] = next(3)
		}
		switch has := stores[0].Row(id, row) != nil; {
		case !has && next(2) == 0, has && next(20) == 0:
			for _, s := range stores {
				s.Set(id, row, lanes)
			}
			if has {
				some = append(some, id)
			}
		case has && next(3) > 0:
			some = append(some, id)
		}
	}
	now := make([]uint32, n*len(some))
	require.True(t, stores[1].Common(some).Has(row))
	for k, id := range some {
		require.Equal(t, stores[0].Row(id, row), stores[1].Row(id, row))
		for i := range lanes {
			now[k*n+i] = next(3)
		}
		stores[0].Replace(id, row, stores[0].Row(id, row), now[k*n:(k+1)*n])
	}
	stores[1].ReplaceRows(some, row, now)
}

func requireSameStore(t *rapid.T, a, b *Store, ids []wire.NetworkID) {
	require.Equal(t, a.Changed(), b.Changed())
	require.Equal(t, a.changed, b.changed)
	require.Equal(t, a.words, b.words)
	require.Equal(t, a.lastChanges, b.lastChanges)
	require.Equal(t, a.earlierChange, b.earlierChange)
	room := a.past.evicted == 0 && b.past.evicted == 0
	if room {
		require.Equal(t, a.past.horizon, b.past.horizon)
	}
	for at := a.Tick(); at > tick.None && at+9 > a.Tick(); at-- {
		for k := 0; k < len(ids); k += 1 + len(ids)/16 {
			for row := range a.schema.Rows() {
				require.Equal(t, a.sinceOf(ids[k].Index, row), b.sinceOf(ids[k].Index, row))
				want, err := a.RowAt(ids[k], row, at)
				got, failed := b.RowAt(ids[k], row, at)
				if !room && at < max(a.past.horizon, b.past.horizon) {
					continue // Rows that come one by one may take more of it.
				}
				require.Equal(t, err, failed)
				require.Equal(t, slices.Clone(want), slices.Clone(got))
			}
		}
	}
}

// An entity that lacks a row, or does not live, has none in common with others.
func TestCommonStateOfAPageThatLacksOne(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t)})
	s := NewStore(schema, Config{})
	s.Begin(1)
	has, lacks := s.Spawn(), s.Spawn()
	s.Set(has, 0, []uint32{1, 2, 3})
	s.Set(has, 1, []uint32{1, 2, 3, 4})
	s.Set(lacks, 1, []uint32{3, 2, 3, 4})
	require.Equal(t, format.FromWords(3), s.Common([]wire.NetworkID{has}))
	require.Equal(t, format.FromWords(2), s.Common([]wire.NetworkID{has, lacks}))
	for _, other := range []wire.NetworkID{{Index: has.Index, Generation: has.Generation + 1}, {Index: 99, Generation: 1}, {}} {
		require.Zero(t, s.Common([]wire.NetworkID{has, other}))
	}
	s.Despawn(has)
	require.Zero(t, s.Common([]wire.NetworkID{has}))
}

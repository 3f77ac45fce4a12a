package snapshot

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// TestBandsAreNoComponents: who asks a store, or a view, for components hears of none for a band, and of a change only where it is one of
// what the client gets.
func TestBandsAreNoComponents(t *testing.T) {
	type place struct {
		X float32 `net:"min=-1000,max=1000,step=0.01"`
	}
	fine, err := quantize.Compile(reflect.TypeFor[place](), "place")
	require.NoError(t, err)
	coarse, err := quantize.CompileCoarse(reflect.TypeFor[place](), "place~1", 4)
	require.NoError(t, err)
	schema := format.NewSchema([]*quantize.Plan{fine, coarse})
	schema.SetOptions(1, format.RowOptions{Every: 4})
	schema.SetBands(0, []format.Band{{Row: 1, Beyond: 10}})
	s := NewStore(schema, Config{})
	near, far := NewView(s, Config{}), NewView(s, Config{})
	s.Begin(1)
	id := s.Spawn()
	s.Set(id, 0, []uint32{0})
	s.Commit()
	near.Observe()
	far.SetSight(id, format.FromWords(2))
	same, other := 0, 0
	for now := s.Tick() + 1; now < 20; now++ {
		s.Begin(now)
		moves := now%4 == 1
		if moves {
			s.Set(id, 0, []uint32{100 * uint32(now)})
		}
		s.Commit()
		want, turn := Mask{}, Mask{}
		if moves {
			want = format.FromWords(1)
		}
		if s.sinceOf(id.Index, 1) == now {
			turn = format.FromWords(1)
		}
		require.Equal(t, want, s.ChangedRows(id))
		require.Equal(t, want, near.ChangedRows(id))
		require.Equal(t, turn, far.ChangedRows(id))
		require.Equal(t, format.FromWords(1), s.Mask(id))
		mask, err := s.MaskAt(id, now)
		require.NoError(t, err)
		require.Equal(t, format.FromWords(1), mask)
		if want == turn {
			same++
		} else {
			other++
		}
		near.Observe()
		far.Observe()
	}
	require.Positive(t, same)
	require.Positive(t, other)
}

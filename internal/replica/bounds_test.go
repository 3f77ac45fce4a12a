package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// payloadOf is a payload of tick 2, of an epoch, of which write writes all from the despawns on.
func payloadOf(epoch uint16, write func(w *wire.BitWriter)) []byte {
	buf := make([]byte, 200)
	w := wire.NewBitWriter(buf)
	w.Write(2, 16)
	if w.Bool(epoch > 0); epoch > 0 {
		w.Write(uint64(epoch), 16)
	}
	write(&w)
	return buf[:w.Finish()]
}

// spawnsOf is the spawns of these indexes, without rows, and no despawns.
func spawnsOf(schema *format.Schema, gaps ...uint32) func(w *wire.BitWriter) {
	return func(w *wire.BitWriter) {
		w.Bool(false)
		w.Bool(false)
		for _, gap := range gaps {
			symbol, raw, n := format.GapSymbol(gap, true)
			schema.Codes.Gap.Write(w, 0, symbol)
			w.Write(raw, n)
			w.Bool(false)
			w.Var(1)
			w.Write(0, uint(schema.Rows()))
			if schema.OnlyFloats(format.Mask{}) {
				w.Bool(false)
			}
		}
		schema.Codes.Gap.Write(w, 0, format.GapEnd)
	}
}

// despawnsOf is the despawns of these indexes, and no records.
func despawnsOf(schema *format.Schema, gaps ...uint64) func(w *wire.BitWriter) {
	return func(w *wire.BitWriter) {
		for _, gap := range gaps {
			w.Bool(true)
			w.Var(gap)
			w.Var(1)
		}
		w.Bool(false)
		w.Bool(false)
		schema.Codes.Gap.Write(w, 0, format.GapEnd)
	}
}

// A value beyond a bound in a payload is refused, and a value at the bound is taken.
func TestPayloadsBeyondABoundAreMalformed(t *testing.T) {
	schema := runSchema(t)
	lists := func(back, near, skip uint64) func(w *wire.BitWriter) { // of tick 2 - 1 - back
		return func(w *wire.BitWriter) {
			w.Bool(false)
			w.Bool(true)
			w.Var(0)
			w.Bool(true)
			w.Bool(false)
			w.Var(back)
			w.Var(near)
			w.Var(skip)
		}
	}
	for _, c := range []struct {
		name    string
		payload []byte
		want    error
	}{
		{"a spawn at the last index", payloadOf(0, spawnsOf(schema, format.MaxEntities-1)), nil},
		{"a spawn behind it", payloadOf(0, spawnsOf(schema, format.MaxEntities)), ErrMalformed},
		{"a spawn behind that of the last index", payloadOf(0, spawnsOf(schema, format.MaxEntities-1, 0)), ErrMalformed},
		{"a despawn at the last index", payloadOf(0, despawnsOf(schema, format.MaxEntities-1)), nil},
		{"a despawn behind it", payloadOf(0, despawnsOf(schema, format.MaxEntities)), ErrMalformed},
		{"a despawn of no 32 bits", payloadOf(0, despawnsOf(schema, 1<<32)), ErrMalformed},
		{"a list", payloadOf(0, lists(0, 0, format.MaxPages-1)), ErrBaseline},
		{"a list of tick 0", payloadOf(0, lists(1, 0, 0)), ErrMalformed},
		{"a list of a page behind the last", payloadOf(0, lists(0, 0, format.MaxPages)), ErrMalformed},
		{"a second baseline too far back", payloadOf(0, lists(0, format.MaxNear+1, 0)), ErrMalformed},
		{"a second baseline before all ticks", payloadOf(0, lists(0, 1, 1)), ErrMalformed},
		{"a usual list that is told at length", payloadOf(0, lists(0, 1, 0)), ErrMalformed},
		{"the epoch that was asked for", payloadOf(1, spawnsOf(schema, 1)), nil},
		{"the epoch after it", payloadOf(2, spawnsOf(schema, 1)), ErrMalformed},
		{"an epoch half the way around", payloadOf(1<<15, spawnsOf(schema, 1)), ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(schema, format.Config{Window: 16}, 1)
			r.Lose()
			require.ErrorIs(t, r.Read(c.payload), c.want)
		})
	}
	r := New(schema, format.Config{Window: 16}, 1)
	require.ErrorIs(t, r.Read(payloadOf(1, spawnsOf(schema, 1))), ErrMalformed, "nothing was asked for")
}

// The last index makes the tables by index as long as they need to be, and no more: FuzzRead of package snapshot found five times as much.
func TestAFarIndexTakesTheMemoryOfTheTablesOnce(t *testing.T) {
	schema := runSchema(t)
	for name, payload := range map[string][]byte{
		"a spawn":   payloadOf(0, spawnsOf(schema, format.MaxEntities-1)),
		"a despawn": payloadOf(0, despawnsOf(schema, format.MaxEntities-1)),
	} {
		r := New(schema, format.Config{Window: 16}, 1)
		require.Less(t, alloctest.Bytes(t, func() { require.NoError(t, r.Read(payload), name) }), uint64(5*format.MaxEntities), name)
	}
}

// A payload with more entities than this end takes is refused whole.
func TestReplicaTakesNoMoreThanMaxEntities(t *testing.T) {
	schema := runSchema(t)
	read := func(payload []byte) (*Replica, error) {
		r := New(schema, format.Config{Window: 16, MaxEntities: 10}, 1)
		return r, r.Read(payload)
	}
	r, err := read(payloadOf(0, spawnsOf(schema, 9)))
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
	require.Equal(t, 10, r.MaxEntities())
	for name, payload := range map[string][]byte{
		"a spawn":   payloadOf(0, spawnsOf(schema, 3, 6)),
		"a despawn": payloadOf(0, despawnsOf(schema, 3, 6)),
	} {
		r, err := read(payload)
		require.ErrorIs(t, err, ErrTooMany, name)
		require.Zero(t, r.Len(), name)
		require.EqualValues(t, 1, r.Stats().TooMany, name)
		require.Empty(t, r.lives, name)
	}
}

// Generations without end take no more memory than a life each for twice the entities that this end takes.
func TestReplicaTakesNoMoreLivesThanItMay(t *testing.T) {
	schema := runSchema(t)
	r := New(schema, format.Config{Window: 64, MaxEntities: 10}, 1)
	next := func(generation uint64) error {
		payload := payloadOf(0, func(w *wire.BitWriter) {
			for range 10 {
				w.Bool(true)
				w.Var(0)
				w.Var(generation)
			}
			w.Bool(false)
			w.Bool(false)
			schema.Codes.Gap.Write(w, 0, format.GapEnd)
		})
		payload[0] = byte(1 + generation)
		return r.Read(payload)
	}
	require.NoError(t, next(1))
	require.NoError(t, next(1), "nobody new")
	require.NoError(t, next(2))
	require.NoError(t, next(2))
	require.ErrorIs(t, next(3), ErrTooMany)
	require.Equal(t, 20, len(r.lives)-len(r.free))
	for now := tick.Tick(4); now < 400; now++ { // those that are gone for two windows are forgotten
		payload := payloadOf(0, spawnsOf(schema, 1))
		payload[0], payload[1] = byte(now), byte(now>>8)
		_ = r.Read(payload)
	}
	require.Less(t, len(r.lives)-len(r.free), 10)
}

// No more lives of an index are kept than a server can have begun.
func TestManyLivesOfOneIndexAreBounded(t *testing.T) {
	r := New(runSchema(t), format.Config{Window: 16}, 1)
	for g := uint32(1); g < 2000; g++ {
		r.despawn(wire.NetworkID{Index: 7, Generation: 2*g + 3000}, 2)
	}
	for g := uint32(2999); g > 0; g-- {
		r.despawn(wire.NetworkID{Index: 7, Generation: g}, 2)
		r.despawn(wire.NetworkID{Index: 7, Generation: 2*g + 3001}, 2)
	}
	depth := 0
	for n := r.head(7); n >= 0; n = r.lives[n].lower {
		depth++
	}
	require.LessOrEqual(t, depth, int(r.mostLives()))
}

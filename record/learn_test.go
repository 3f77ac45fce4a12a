package record

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

type (
	ample struct{ Heights [400]float32 } // 1600 bytes: needs a Config.PacketSize above the default
	vast  struct{ Heights [1900]float32 }
)

// Learn and Measure read the rows that a game with a larger Config.PacketSize sends.
func TestRowsLargerThanAUsualPacketAreLearned(t *testing.T) {
	g := newGame(t, 10, types(ample{}, vast{}, touched{})...)
	var a ample
	var v vast
	c := cast{}
	for f := range 20 {
		g.store.Begin(g.store.Tick() + 1)
		a.Heights[f], v.Heights[f] = float32(f)+0.3, float32(f)+0.7
		put(g.store, c.id(g.store, 0), a)
		put(g.store, c.id(g.store, 1), v)
		put(g.store, c.id(g.store, 2), touched{f%3 == 0})
		g.commit(t)
	}
	require.NoError(t, g.writer.Close())
	trainer := delta.NewTrainer()
	ticks, err := Learn(bytes.NewReader(g.out.Bytes()), 1, 21, delta.NewCounting(trainer, false), nil)
	require.NoError(t, err)
	require.Equal(t, 20, ticks)
	cost, err := Measure(bytes.NewReader(g.out.Bytes()), 1, 21, delta.Shipped(), nil)
	require.NoError(t, err)
	require.NotZero(t, cost.Rows)
}

// Ticks before the first requested one, from the start of its chunk on, are not counted.
func TestTicksBeforeTheFirstCountForNothing(t *testing.T) {
	g := moving(t, 20) // chunks of 10 ticks
	data := g.out.Bytes()
	rows := func(from tick.Tick) uint64 {
		cost, err := Measure(bytes.NewReader(data), from, 21, delta.Shipped(), nil)
		require.NoError(t, err)
		require.Equal(t, cost.Rows == 0, cost.Bits == 0)
		return cost.Rows
	}
	learned := func(from tick.Tick) (symbols int) {
		p := playback{tables: delta.Shipped(), from: from, to: 21, watch: func(list []delta.DeltaSymbol) { symbols += len(list) }}
		require.NoError(t, p.run(bytes.NewReader(data)))
		return symbols
	}
	for from := tick.Tick(12); from < 20; from++ {
		require.Greater(t, rows(from), rows(from+1), "from %d", from)
		require.Greater(t, learned(from), learned(from+1), "from %d", from)
	}
	require.NotZero(t, rows(20))
	require.Zero(t, rows(21))
}

func TestTripsRiseWithinTheWindow(t *testing.T) {
	require.Equal(t, []int{1, 2, 3, 5, 8}, Trips(30))
	for rate := 1; rate <= 1000; rate++ {
		trips := Trips(rate)
		require.NotEmpty(t, trips)
		for i, trip := range trips {
			require.True(t, trip >= 1 && trip < trainWindow && (i == 0 || trip > trips[i-1]), "%d: %v", rate, trips)
		}
	}
}

// With packing off, rows use no tables: there is nothing to train.
func TestRecordingsOfADebugProtocolAreNotLearned(t *testing.T) {
	p, err := quantize.Compile(reflect.TypeFor[place](), "place")
	require.NoError(t, err)
	p.Debug()
	_, err = NewTraining([]*quantize.Plan{p}, delta.Shipped(), 1)
	require.ErrorContains(t, err, "place has packing off")
	var file bytes.Buffer
	_, err = NewWriter(&file, Header{TickRate: 30, Entries: []string{componentOf + string(p.Describe(nil))}}, snapshot.NewStore(format.NewSchema([]*quantize.Plan{p}), snapshot.Config{}))
	require.NoError(t, err)
	_, err = Learn(&file, 1, 9, delta.NewCounting(delta.NewTrainer(), false), nil)
	require.ErrorContains(t, err, "place has packing off")
}

func TestAnEmptyFileIsSaidToBeEmpty(t *testing.T) {
	_, err := Inspect(bytes.NewReader(nil))
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "the file is empty")
}

// A recording passed as tables gives an error that says so.
func TestRecordingsAreNoTables(t *testing.T) {
	_, err := delta.ParseTables(moving(t, 3).out.Bytes())
	require.ErrorIs(t, err, delta.ErrTableText)
	require.ErrorContains(t, err, "it is a recording")
}

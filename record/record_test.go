package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// game is a recorded store and its state at each tick.
type game struct {
	store  *snapshot.Store
	writer *Writer
	out    bytes.Buffer
	held   []map[wire.NetworkID]map[int][]uint32
	ticks  []tick.Tick
}

func newGame(t testing.TB, rate int, list ...reflect.Type) *game {
	t.Helper()
	var plans []*quantize.Plan
	for _, typ := range list {
		p, err := quantize.Compile(typ, typ.Name())
		require.NoError(t, err)
		plans = append(plans, p)
	}
	return newGameOf(t, rate, plans...)
}

func newGameOf(t testing.TB, rate int, plans ...*quantize.Plan) *game {
	t.Helper()
	return newGameOn(t, rate, snapshot.NewStore(format.NewSchema(plans), snapshot.Config{}))
}

func newGameOn(t testing.TB, rate int, store *snapshot.Store) *game {
	t.Helper()
	h := Header{TickRate: rate, Entries: []string{"limits netcode{version:1}"}}
	for _, p := range plansOf(store.Schema()) {
		h.Entries = append(h.Entries, componentOf+string(p.Describe(nil)))
	}
	g := &game{store: store}
	var err error
	g.writer, err = NewWriter(&g.out, h, g.store)
	require.NoError(t, err)
	return g
}

// commit ends a tick and records it.
func (g *game) commit(t require.TestingT) {
	g.store.Commit()
	require.NoError(t, g.writer.Tick())
	now := map[wire.NetworkID]map[int][]uint32{}
	for id := range g.store.All {
		now[id] = map[int][]uint32{}
		for row := range g.store.Schema().Rows() {
			if lanes := g.store.Row(id, row); lanes != nil {
				now[id][row] = append([]uint32{}, lanes...)
			}
		}
	}
	g.held, g.ticks = append(g.held, now), append(g.ticks, g.store.Tick())
}

// check compares a reader's world with the n-th tick.
func (g *game) check(t require.TestingT, r *Reader, n int) {
	found := 0
	for index := range uint32(r.indexes) {
		generation, mask := r.Entity(index)
		if generation == 0 {
			continue
		}
		found++
		rows, ok := g.held[n][wire.NetworkID{Index: index, Generation: generation}]
		require.True(t, ok)
		require.Equal(t, len(rows), mask.Count())
		for row, lanes := range rows {
			require.Equal(t, lanes, append([]uint32{}, r.Row(index, row)...))
		}
	}
	require.Equal(t, len(g.held[n]), found)
}

// play makes random changes to the game.
func (g *game) play(t *rapid.T, ticks int) {
	var ids []wire.NetworkID
	now := tick.Tick(rapid.IntRange(1, 1000).Draw(t, "start"))
	for range ticks {
		g.store.Begin(now)
		now += tick.Tick(rapid.SampledFrom([]int{1, 1, 1, 2, 9}).Draw(t, "step"))
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			n := rapid.IntRange(0, 9).Draw(t, "who")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				ids = append(ids, g.store.Spawn())
			case 1:
				if n < len(ids) {
					g.store.Despawn(ids[n])
					ids = append(ids[:n], ids[n+1:]...)
				}
			case 2:
				if n < len(ids) {
					g.store.Remove(ids[n], n%3)
				}
			default:
				if n < len(ids) {
					put(g.store, ids[n], vitals{Health: uint8(n), Ammo: rapid.Uint16().Draw(t, "ammo")})
					put(g.store, ids[n], exactPlace{X: rapid.Float32Range(-9, 9).Draw(t, "x")})
					put(g.store, ids[n], touched{n%2 == 0})
				}
			}
		}
		g.commit(t)
	}
	require.NoError(t, g.writer.Close())
}

func TestRecordingsPlayBackEveryTick(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newGame(t, rapid.IntRange(1, 8).Draw(rt, "rate"), types(vitals{}, exactPlace{}, touched{})...)
		g.play(rt, rapid.IntRange(0, 30).Draw(rt, "ticks"))
		data := g.out.Bytes()
		r, err := NewReader(bytes.NewReader(data))
		require.NoError(rt, err)
		for n, want := range g.ticks {
			got, err := r.Next()
			require.NoError(rt, err)
			require.Equal(rt, want, got)
			g.check(rt, r, n)
		}
		_, err = r.Next()
		require.Equal(rt, io.EOF, err)

		if len(g.ticks) == 0 {
			return
		}
		aim := rapid.IntRange(0, len(g.ticks)-1).Draw(rt, "aim")
		r, err = NewReader(bytes.NewReader(data))
		require.NoError(rt, err)
		require.NoError(rt, r.Seek(g.ticks[aim]))
		for n := 0; ; n++ {
			got, err := r.Next()
			require.NoError(rt, err)
			require.LessOrEqual(rt, n, 8, "a chunk is a second")
			if got == g.ticks[aim] {
				g.check(rt, r, aim)
				break
			}
			require.NoError(rt, r.Seek(g.ticks[aim]), "it is still to come")
		}
		back := rapid.IntRange(0, aim).Draw(rt, "back")
		require.ErrorIs(rt, r.Seek(g.ticks[back]), ErrBackwards)
		got, err := r.Next()
		if aim++; aim == len(g.ticks) {
			require.Equal(rt, io.EOF, err)
			return
		}
		require.NoError(rt, err)
		require.Equal(rt, g.ticks[aim], got, "nothing has changed")
		g.check(rt, r, aim)
	})
}

// moving records twelve objects that fly, tumble, and rest now and then.
func moving(t testing.TB, ticks int) *game {
	g := newGame(t, 10, types(touched{}, turning{}, place{})...)
	c := cast{}
	for f := range ticks {
		g.store.Begin(tick.Tick(f + 1))
		for n := range 12 {
			if f > 0 && (f/5+n)%4 == 0 {
				continue
			}
			at, id := float64(f)/10+float64(n), c.id(g.store, n)
			put(g.store, id, place{float32(9 * math.Sin(at)), float32(n), float32(20 * math.Abs(math.Cos(3*at)))})
			put(g.store, id, turning{[4]float32{float32(math.Cos(at)), float32(math.Sin(at))}})
			put(g.store, id, touched{f%7 == n})
		}
		g.commit(t)
	}
	require.NoError(t, g.writer.Close())
	return g
}

// Wherever a file is cut, everything valid before is read, and the cut is reported.
func TestRecordingsCutAnywhereAreReadUpToThere(t *testing.T) {
	g := moving(t, 25)
	data := g.out.Bytes()
	first := bytes.Index(data, []byte(chunkMagic))
	chunks := chunksOf(t, data)
	for cut := range data { // each byte of a chunk's head, and one of eleven others
		if cut%11 > 0 && !slices.ContainsFunc(chunks, func(at int) bool { return at-4 < cut && cut < at+40 }) {
			continue
		}
		r, err := NewReader(bytes.NewReader(data[:cut]))
		if cut < first {
			require.Error(t, err, "cut at %d", cut)
			continue
		}
		require.NoError(t, err)
		n := 0
		for ; ; n++ {
			if _, err = r.Next(); err != nil {
				break
			}
			g.check(t, r, n)
		}
		require.Zero(t, n%10, "whole chunks")
		require.True(t, errors.Is(err, ErrCut) || err == io.EOF, "cut at %d: %v", cut, err)
	}
}

// After an error nothing more is written.
func TestWriterStopsAtTheFirstError(t *testing.T) {
	g := newGame(t, 2, types(touched{})...)
	full := errors.New("full")
	g.writer.out = writerFunc(func([]byte) (int, error) { return 0, full })
	var err error
	for f := 1; err == nil && f < 9; f++ {
		g.store.Begin(tick.Tick(f))
		g.store.Commit()
		err = g.writer.Tick()
	}
	require.Equal(t, full, err)
	require.Equal(t, full, g.writer.Tick())
	require.Equal(t, full, g.writer.Close())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestRecordingAllocatesNothing(t *testing.T) {
	g := newGame(t, 10, types(place{})...)
	g.writer.out = io.Discard
	var ids []wire.NetworkID
	f, lanes := 0, make([]uint32, 3)
	step := func() {
		f++
		g.store.Begin(tick.Tick(f))
		for len(ids) < 50 {
			ids = append(ids, g.store.Spawn())
		}
		for i, id := range ids {
			lanes[0], lanes[1] = uint32(f*i)%500000, uint32(f)
			g.store.Set(id, 0, lanes)
		}
		g.store.Commit()
		if err := g.writer.Tick(); err != nil {
			panic(err)
		}
	}
	for range 300 {
		step()
	}
	alloctest.Zero(t, 200, step)
}

// A component's description has its writer after its fields; its rows do not depend on it.
func TestWrittenComponentsAreRead(t *testing.T) {
	for _, writer := range []string{"[owner]", "[named]"} {
		h := Header{TickRate: 1, Entries: []string{"component Place{X:f32[0,1,0.1];Y:f32}" + writer}}
		plans, err := h.Plans()
		require.NoError(t, err)
		require.Equal(t, "Place{X:f32[0,1,0.1];Y:f32}", string(plans[0].Describe(nil)))
	}
}

func TestHeadersAreRefused(t *testing.T) {
	for _, h := range []Header{{TickRate: 0}, {TickRate: 1001}, {TickRate: 1, Entries: []string{""}}, {TickRate: 1, Entries: []string{"a\nb"}}} {
		_, err := NewWriter(io.Discard, h, snapshot.NewStore(format.NewSchema(nil), snapshot.Config{}))
		require.ErrorIs(t, err, ErrFormat, fmt.Sprint(h))
	}
	for _, text := range []string{"", "tick-rate 5\n", "tick-rate 5\nwindow 64", "tick-rate 05\nwindow 64\n", "tick-rate x\nwindow 64\n", "rate 5\nwindow 64\n", "tick-rate 5\nwindow 064\n",
		"tick-rate 5\nwindow 0\n", "tick-rate 5\nwindow 4097\n", "tick-rate 5\nwindow 64\na\r\n"} {
		_, err := parseHeader(text)
		require.ErrorIs(t, err, ErrFormat, text)
	}
}

// A reader accepts any bytes without a panic, and returns only rows that Quantise can produce.
func FuzzReader(f *testing.F) {
	data := moving(f, 4).out.Bytes()
	first := bytes.Index(data, []byte(chunkMagic))
	head := data[:first]
	r, err := NewReader(bytes.NewReader(data))
	require.NoError(f, err)
	h, packed, err := r.look()
	require.NoError(f, err)
	require.NoError(f, r.open(&h, packed))
	schema, err := r.header.schema(r.plans)
	require.NoError(f, err)
	f.Add(data[first:], false)
	f.Add(append([]byte{}, r.raw...), true)
	f.Add([]byte{1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0}, true)
	f.Fuzz(func(t *testing.T, chunk []byte, unpacked bool) {
		reader, err := NewReader(bytes.NewReader(append(bytes.Clone(head), chunk...)))
		require.NoError(t, err)
		index, err := reader.places(func(error) {})
		require.NoError(t, err)
		for i := range max(len(index)-1, 0) {
			require.Less(t, index[i].last, index[i+1].first)
			require.Less(t, index[i].offset, index[i+1].offset)
		}
		r, err := NewReader(io.MultiReader(bytes.NewReader(head), bytes.NewReader(chunk)))
		require.NoError(t, err)
		r.schema = schema
		if unpacked { // past compression and checksum
			r.raw, r.now, r.end, r.left, r.fresh = chunk, 1, 9, 3, true
		}
		for range 100 {
			if _, err := r.Next(); errors.Is(err, ErrDamaged) {
				continue
			} else if err != nil {
				return
			}
			for index := range r.Recent {
				for row, p := range r.Plans() {
					if lanes := r.Row(index, row); lanes != nil {
						require.True(t, p.Legal(lanes))
					}
				}
			}
		}
	})
}

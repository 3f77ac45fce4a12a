package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// chunksOf returns the offsets of a recording's chunks, and its end.
func chunksOf(t testing.TB, data []byte) (at []int) {
	t.Helper()
	next := headerFixed + int(binary.LittleEndian.Uint32(data[len(magic):]))
	for next < len(data) {
		at = append(at, next)
		require.Equal(t, chunkMagic, string(data[next:next+4]))
		next += chunkFixed + int(binary.LittleEndian.Uint32(data[next+4:]))
	}
	require.Equal(t, len(data), next)
	return append(at, next)
}

// flipped returns a copy with one changed byte.
func flipped(data []byte, at ...int) []byte {
	bad := append([]byte{}, data...)
	for _, i := range at {
		bad[i] ^= 0x55
	}
	return bad
}

// One changed byte costs exactly its chunk, whether in the magic number, lengths, ticks, checksum or compressed data.
func TestOneWrongByteCostsOneChunk(t *testing.T) {
	g := moving(t, 45) // chunks of 10 ticks
	data := g.out.Bytes()
	chunks := chunksOf(t, data)
	for n := range 3 { // a valid chunk follows
		for at := chunks[n]; at < chunks[n+1]; at++ {
			if at > chunks[n]+40 { // test the whole head and some of the compressed data
				at = min(at+67, chunks[n+1]-1)
			}
			bad := flipped(data, at)
			info, err := Inspect(bytes.NewReader(bad))
			require.NoError(t, err)
			want := &DamageError{Chunk: n + 1, Offset: int64(chunks[n]), After: tick.Tick(10 * n), Next: tick.Tick(10*n + 11)}
			require.Len(t, info.Damage, 1, "byte %d", at)
			require.ErrorIs(t, info.Damage[0], ErrDamaged)
			want.What = info.Damage[0].What
			require.Equal(t, want, info.Damage[0], "byte %d", at)
			require.NotEmpty(t, want.What)
			require.Equal(t, []any{35, 4, tick.Tick(45), false}, []any{info.Ticks, info.Chunks, info.Last, info.Cut})

			r, err := NewReader(bytes.NewReader(bad))
			require.NoError(t, err)
			found := 0
			for {
				now, err := r.Next()
				var damage *DamageError
				if errors.As(err, &damage) {
					require.Equal(t, want, damage)
					continue
				}
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				g.check(t, r, int(now)-1)
				found++
			}
			require.Equal(t, 35, found)
		}
	}
}

// Valid chunks are found, whatever is between them.
func TestDamageOfMoreThanOneChunkIsPassedOver(t *testing.T) {
	g := moving(t, 65)
	data := g.out.Bytes()
	chunks := chunksOf(t, data)
	cut := func(to int, from int) []byte { return append(append([]byte{}, data[:to]...), data[from:]...) }
	for name, c := range map[string]struct {
		data   []byte
		ticks  []int
		damage int
		cut    bool
	}{
		"two apart":            {flipped(data, chunks[1]+40, chunks[4]+4), []int{1, 21, 31, 51, 61}, 2, false},
		"two in a row":         {flipped(data, chunks[1]+40, chunks[2]+4), []int{1, 31, 41, 51, 61}, 1, false},
		"the first":            {flipped(data, chunks[0]), []int{11, 21, 31, 41, 51, 61}, 1, false},
		"the last":             {flipped(data, chunks[6]+50), []int{1, 11, 21, 31, 41, 51}, 1, false},
		"all":                  {flipped(data, chunks[0], chunks[1], chunks[2], chunks[3], chunks[4], chunks[5], chunks[6]), nil, 1, false},
		"a piece is missing":   {cut(chunks[2]+9, chunks[2]+30), []int{1, 11, 31, 41, 51, 61}, 1, false},
		"two halves":           {cut(chunks[1]+50, chunks[3]+3), []int{1, 41, 51, 61}, 1, false},
		"bytes more":           {append(append(append([]byte{}, data[:chunks[2]]...), "CHNKCHNCHNK"...), data[chunks[2]:]...), []int{1, 11, 21, 31, 41, 51, 61}, 1, false},
		"many bytes more":      {append(append(append([]byte{}, data[:chunks[2]]...), make([]byte, 9999)...), data[chunks[2]:]...), []int{1, 11, 21, 31, 41, 51, 61}, 1, false},
		"a chunk twice":        {cut(chunks[3], chunks[2]), []int{1, 11, 21, 31, 41, 51, 61}, 1, false},
		"and it is cut":        {flipped(data, chunks[1]+40)[:chunks[5]+40], []int{1, 21, 31, 41}, 1, true},
		"cut and nothing more": {data[:chunks[1]+40], []int{1}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			info, err := Inspect(bytes.NewReader(c.data))
			require.NoError(t, err)
			require.Len(t, info.Damage, c.damage)
			require.Equal(t, c.cut, info.Cut)
			require.Equal(t, len(c.ticks), info.Chunks)
			r, err := NewReader(bytes.NewReader(c.data))
			require.NoError(t, err)
			var began []int
			damage := 0
			for err != io.EOF {
				var now tick.Tick
				if now, err = r.Next(); err == nil && r.Fresh() {
					began = append(began, int(now))
				}
				if errors.Is(err, ErrDamaged) {
					require.Equal(t, info.Damage[damage], err)
					require.NotEmpty(t, err.Error())
					damage++
				}
			}
			require.Equal(t, c.ticks, began)
			require.Equal(t, c.damage, damage)
		})
	}
}

func TestDamageErrorTellsTheLostPart(t *testing.T) {
	for want, e := range map[string]DamageError{
		"record: damaged recording: chunk 2, at byte 77: its sum is wrong; ticks 31 to 60 are lost": {2, 77, 30, 61, "its sum is wrong"},
		"record: damaged recording: chunk 2, at byte 77: w; no tick is lost":                        {2, 77, 30, 31, "w"},
		"record: damaged recording: chunk 2, at byte 77: w; nothing behind tick 30 is left":         {2, 77, 30, 0, "w"},
		"record: damaged recording: chunk 1, at byte 77: w; what was before tick 31 is lost":        {1, 77, 0, 31, "w"},
		"record: damaged recording: chunk 1, at byte 77: w; nothing is left":                        {1, 77, 0, 0, "w"},
	} {
		require.Equal(t, want, e.Error())
	}
}

// A forged chunk with a valid checksum is skipped too.
func TestAChunkOfNonsenseIsPassedOver(t *testing.T) {
	g := moving(t, 30)
	data := append([]byte{}, g.out.Bytes()...)
	chunks := chunksOf(t, data)
	data[chunks[1]+8]++ // the declared size is too large
	binary.LittleEndian.PutUint32(data[chunks[1]+28:], checksum(data[chunks[1]:chunks[1]+28], data[chunks[1]+chunkFixed:chunks[2]]))
	info, err := Inspect(bytes.NewReader(data))
	require.NoError(t, err)
	require.Empty(t, info.Damage, "its sum is right")
	counting := delta.NewCounting(delta.NewTrainer(), false)
	ticks, err := Learn(bytes.NewReader(data), 1, 100, counting, nil)
	require.NoError(t, err)
	require.Equal(t, 20, ticks)
}

// Seek stops at damage; a second call continues.
func TestSeekOverDamage(t *testing.T) {
	g := moving(t, 45)
	data := g.out.Bytes()
	chunks := chunksOf(t, data)
	r, err := NewReader(bytes.NewReader(flipped(data, chunks[1]+4)))
	require.NoError(t, err)
	require.ErrorIs(t, r.Seek(35), ErrDamaged)
	require.NoError(t, r.Seek(35))
	now, err := r.Next()
	require.NoError(t, err)
	require.EqualValues(t, 31, now)
	g.check(t, r, 30)
}

// Learn uses the undamaged rest of a recording; the gap has no effect on it.
func TestLearningPassesOverDamage(t *testing.T) {
	g := moving(t, 300)
	chunks := chunksOf(t, g.out.Bytes())
	var all []int
	for n := 3; n < 20; n++ { // 170 ticks: more than the window of the training
		all = append(all, chunks[n]+20)
	}
	bad := flipped(g.out.Bytes(), all...)
	trainer := delta.NewTrainer()
	ticks, err := Learn(bytes.NewReader(bad), 1, 301, delta.NewCounting(trainer, false), nil)
	require.NoError(t, err)
	require.Equal(t, 130, ticks)
	_, err = trainer.BuildKnown(1)
	require.NoError(t, err)
}

// Components with their own extrapolation function are trained in the game's program, from any number of recordings.
func TestTrainingPlaysRecordings(t *testing.T) {
	plans := func() []*quantize.Plan {
		p, err := quantize.Compile(reflect.TypeFor[place](), "place")
		require.NoError(t, err)
		p.ExtrapolateBy("still", func(extrapolated []uint32, v *quantize.Baselines) {})
		return []*quantize.Plan{p}
	}
	g := newGameOf(t, 10, plans()...)
	g.store.Begin(1)
	id, lanes := g.store.Spawn(), make([]uint32, 3)
	for n := range 200 {
		if n > 0 {
			g.store.Begin(tick.Tick(n + 1))
		}
		lanes[0], lanes[1] = uint32(1000+n*n), uint32(n)
		g.store.Set(id, 0, lanes)
		g.commit(t)
	}
	require.NoError(t, g.writer.Close())

	_, err := Learn(bytes.NewReader(g.out.Bytes()), 1, 201, delta.NewCounting(delta.NewTrainer(), false), nil)
	require.ErrorIs(t, err, delta.ErrExtrapolation)
	require.ErrorContains(t, err, "record.Train")
	file := func() io.Reader { return bytes.NewReader(g.out.Bytes()) }
	_, err = Diff(file(), file())
	require.ErrorIs(t, err, delta.ErrExtrapolation)
	difference, err := Diff(file(), file(), plans()...)
	require.NoError(t, err)
	require.Nil(t, difference)
	tables, err := Train(plans(), file(), file(), file(), file())
	require.NoError(t, err)
	var names []string
	for _, table := range tables.All() {
		names = append(names, table.Name())
	}
	require.Contains(t, names, "place.0")

	_, err = Train(plans(), bytes.NewReader(moving(t, 3).out.Bytes()))
	require.ErrorIs(t, err, ErrProtocol)
	_, err = Train(plans(), bytes.NewReader(nil))
	require.ErrorIs(t, err, ErrFormat)
}

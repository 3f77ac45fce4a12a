package record

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// counted is a file that counts the bytes that are read.
type counted struct {
	*bytes.Reader
	read, calls int
}

func (c *counted) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	c.read += n
	c.calls++
	return n, err
}

// indexOf returns the index of a file, the one found by reading everything, and the damage reported by both.
func indexOf(t require.TestingT, data []byte) (index, all []chunkPlace, told, toldAll []error, file *counted) {
	r, err := NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	all, err = r.places(func(err error) { toldAll = append(toldAll, err) })
	require.NoError(t, err)
	file = &counted{Reader: bytes.NewReader(data)}
	r, err = NewReader(file)
	require.NoError(t, err)
	index, err = r.index(file, func(err error) { told = append(told, err) })
	require.NoError(t, err)
	return index, all, told, toldAll, file
}

// A file is opened by the heads of its chunks and its last chunk, wherever it was cut off.
func TestOpeningAFileReadsHeads(t *testing.T) {
	g := moving(t, 400)
	data := g.out.Bytes()
	chunks := chunksOf(t, data)
	index, all, told, _, file := indexOf(t, data)
	require.Len(t, index, 40)
	require.Equal(t, all, index)
	require.Empty(t, told)
	require.LessOrEqual(t, file.read, chunks[0]+40*chunkFixed+chunks[40]-chunks[39])
	for cut := chunks[36]; cut < len(data); cut += 7 {
		index, all, told, toldAll, _ := indexOf(t, data[:cut])
		require.Equal(t, all, index, "cut at %d of %d", cut, len(data))
		require.Equal(t, toldAll, told)
	}
}

// Damage hides no valid chunk: the index has all chunks found by reading the file, and perhaps damaged ones.
func TestTheIndexOfADamagedFile(t *testing.T) {
	data := moving(t, 80).out.Bytes()
	chunks := chunksOf(t, data)
	rapid.Check(t, func(t *rapid.T) {
		bad := bytes.Clone(data)
		for range rapid.IntRange(1, 2).Draw(t, "faults") {
			at := rapid.IntRange(chunks[0], len(data)-1).Draw(t, "byte")
			if rapid.Bool().Draw(t, "of a head") {
				at = chunks[at%8] + at%chunkFixed
			}
			bad[at] ^= rapid.Byte().Draw(t, "bits")
		}
		index, all, _, _, _ := indexOf(t, bad)
		next := 0
		for i, at := range index {
			require.True(t, i == 0 || at.first > index[i-1].last && at.offset > index[i-1].offset)
			switch {
			case next < len(all) && at == all[next]:
				next++
			default:
				require.Contains(t, chunks, int(at.offset), "a damaged chunk is listed")
			}
		}
		require.Equal(t, len(all), next)
	})
}

// crowd records walking players with three components each, at 30 ticks per second.
func crowd(t testing.TB, seconds, players int) []byte {
	type (
		walker struct {
			X, Y float32 `net:"min=-512,max=512,step=0.01"`
		}
		facing struct {
			At float32 `net:"angle,bits=10"`
		}
		points struct{ Health, Armour uint16 }
	)
	var plans []*quantize.Plan
	h := Header{TickRate: 30}
	for _, typ := range types(facing{}, points{}, walker{}) {
		p, err := quantize.Compile(typ, typ.Name())
		require.NoError(t, err)
		plans, h.Entries = append(plans, p), append(h.Entries, componentOf+string(p.Describe(nil)))
	}
	var out bytes.Buffer
	s := snapshot.NewStore(format.NewSchema(plans), snapshot.Config{})
	w, err := NewWriter(&out, h, s.Schema())
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	var ids []wire.NetworkID
	at := make([][2]uint32, players)
	for now := tick.Tick(1); int(now) <= seconds*h.TickRate; now++ {
		s.Begin(now)
		for i := range at {
			if now == 1 {
				ids, at[i] = append(ids, s.Spawn()), [2]uint32{r.Uint32N(100000), r.Uint32N(100000)}
			}
			at[i][0], at[i][1] = (at[i][0]+r.Uint32N(30))%100000, (at[i][1]+r.Uint32N(30))%100000
			s.Set(ids[i], 0, []uint32{r.Uint32N(1024)})
			s.Set(ids[i], 1, []uint32{r.Uint32N(100), uint32(now) / 100})
			s.Set(ids[i], 2, at[i][:])
		}
		s.Commit()
		require.NoError(t, w.Tick(s))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// BenchmarkOpen opens a recording of ten minutes with 64 players and reads its last tick: by the heads of its chunks,
// and by reading everything.
func BenchmarkOpen(b *testing.B) {
	data := crowd(b, 600, 64)
	for name, open := range map[string]func(*Reader, *counted) ([]chunkPlace, error){
		"heads": func(r *Reader, file *counted) ([]chunkPlace, error) { return r.index(file, func(error) {}) },
		"all":   func(r *Reader, _ *counted) ([]chunkPlace, error) { return r.places(func(error) {}) },
	} {
		b.Run(name, func(b *testing.B) {
			var file *counted
			for range b.N {
				file = &counted{Reader: bytes.NewReader(data)}
				r, err := NewReader(file)
				require.NoError(b, err)
				index, err := open(r, file)
				require.NoError(b, err)
				require.NoError(b, r.enter(file, index[len(index)-1]))
				for err == nil {
					_, err = r.Next()
				}
				require.Equal(b, io.EOF, err)
			}
			b.ReportMetric(float64(file.read), "bytes-read")
			b.ReportMetric(float64(file.calls), "reads")
			b.ReportMetric(float64(len(data)), "bytes-file")
		})
	}
}

package delta

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// cube is a body of a recording, quantised as its description says: x y z, largest, three parts, interacting.
type cube [8]int64

// readCubes returns the bodies of each frame. Recordings are not part of this module: without them the test is skipped.
func readCubes(t *testing.T, name string) (frames [][]cube) {
	f, err := os.Open("../../shared/traces/" + name)
	if err != nil {
		t.Skip("no recording: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	now := make([]cube, binary.LittleEndian.Uint16(b[6:]))
	for b = b[16:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint16(b))
		for b = b[2:]; n > 0; n-- {
			quantiseCube(&now[binary.LittleEndian.Uint16(b)], b[2:46])
			b = b[46:]
		}
		frames = append(frames, append([]cube(nil), now...))
	}
	return frames
}

func quantiseCube(c *cube, b []byte) {
	word := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))) }
	for i := range 3 {
		c[i] = int64(math.Round(word(i) * 512))
	}
	largest := 3
	for i := 3; i < 7; i++ {
		if math.Abs(word(i)) > math.Abs(word(largest)) {
			largest = i
		}
	}
	c[3], c[7] = int64(largest), int64(b[40]&1)
	for i, at := 3, 4; i < 7; i++ {
		if i != largest {
			c[at] = int64(math.Floor((math.Copysign(1, word(largest))*word(i)+1/math.Sqrt2)/math.Sqrt2*511 + 0.5))
			at++
		}
	}
}

// cubeTables are the tables of the trace test in order: which fields changed, one a field, gaps between rows.
type cubeTables [9]struct {
	counter *Counter // to be trained, or nil
	table   *Table
}

// symbol counts a symbol or returns its length.
func (c *cubeTables) symbol(table, context, symbol int) int {
	if c[table].counter != nil {
		c[table].counter.Count(context, symbol)
		return 0
	}
	return c[table].table.Length(context, symbol)
}

// token counts a token or returns its length.
func (c *cubeTables) token(table, context int, v int64) int {
	symbol, _, n := Token(v)
	return c.symbol(table, context, symbol) + int(n)
}

// row returns the length of one row against its baseline and the version before that, back frames in between.
func (c *cubeTables) row(now, base, before *cube, back int64) (bits int) {
	changed, moved := 0, 0
	for i := range now {
		changed |= int(bitOf(now[i] != base[i])) << i
		moved |= int(bitOf(base[i] != before[i])) << i
	}
	bits = c.symbol(0, moved, changed)
	if now[3] != base[3] {
		bits += 2
	}
	for _, i := range []int{0, 1, 2, 4, 5, 6} {
		movement := base[i] - before[i]
		switch {
		case changed>>i&1 == 0:
			continue
		case i > 3 && now[3] != base[3]:
			bits += 9 // another quarter of the sphere
			continue
		case i > 3 && base[3] != before[3]:
			movement = 0
		}
		bits += c.token(i+1, MovementContext(movement), now[i]-base[i]-movement*back)
	}
	return bits
}

// frames returns the bits of a recording, and its rows.
func (c *cubeTables) frames(list [][]cube, back int) (bits, rows int) {
	for f := back + 1; f < len(list); f++ {
		last := -1
		for body := range list[f] {
			now, base, before := &list[f][body], &list[f-back][body], &list[f-back-1][body]
			if *now == *base {
				continue
			}
			bits += c.token(8, 0, int64(body-last-1)) + c.row(now, base, before, int64(back))
			last = body
			rows++
		}
	}
	return bits, rows
}

// TestTablesOnRecordedMotion trains on one recording and measures on another, as PERFORMANCE.md §3 did before there was
// any code, with every row independent of the others: its figures are the bounds.
func TestTablesOnRecordedMotion(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a recording")
	}
	train, measure := readCubes(t, "cubes91.trace.gz"), readCubes(t, "cubes45.trace.gz")
	for back, bound := range map[int]float64{6: 199.0, 2: 131.3} {
		trainer, tables := NewTrainer(), new(cubeTables)
		tables[0].counter = trainer.Table("0", 256, 256)
		for i := 1; i < len(tables); i++ {
			tables[i].counter = trainer.Table(string(rune('0'+i)), TokenSymbols(22), MovementContexts)
		}
		tables.frames(train, back)
		set, err := trainer.Build()
		require.NoError(t, err)
		set, err = ParseTables(set.AppendText(nil))
		require.NoError(t, err)
		for i, table := range set.All() {
			tables[i].counter, tables[i].table = nil, table
		}
		bits, rows := tables.frames(measure, back)
		rate := float64(bits) * 60 / 1000 / float64(len(measure)-back-1)
		t.Logf("%d frames back: %.1f kbit/s, %.1f bits a row, at most %.1f; %d bytes of text", back, rate, float64(bits)/float64(rows), bound, len(set.AppendText(nil)))
		require.Less(t, rate, bound)
	}
}

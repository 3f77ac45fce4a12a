package wire

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// drawBytes draws bytes with different compression ratios.
func drawBytes(t *rapid.T) []byte {
	part := rapid.SliceOfN(rapid.Byte(), 0, 50)
	parts := rapid.SliceOfN(part, 1, 3).Draw(t, "parts")
	var b []byte
	for range rapid.IntRange(0, 30).Draw(t, "repeats") {
		b = append(b, parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")]...)
	}
	return b
}

func TestCompressionRoundTrip(t *testing.T) {
	var d Deflate
	forms := [2]int{}
	rapid.Check(t, func(t *rapid.T) {
		src := drawBytes(t)
		before := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "before")
		payload := AppendCompressed(bytes.Clone(before), src, &d)
		require.Equal(t, before, payload[:len(before)])
		payload = payload[len(before):]
		require.LessOrEqual(t, len(payload), 1+len(src))
		require.Equal(t, len(payload) == 1+len(src), payload[0] == flagRaw, "compressed only where it is shorter")
		forms[payload[0]]++

		got, err := AppendDecompressed(before, payload, len(src), &d)
		require.NoError(t, err)
		require.Equal(t, append(bytes.Clone(before), src...), got)
		if len(src) > 0 {
			got, err = AppendDecompressed(before, payload, len(src)-1, &d)
			require.ErrorIs(t, err, ErrTooLong)
			require.Equal(t, before, got)
		}
		var fresh Deflate // state has no effect
		require.Equal(t, payload, AppendCompressed(nil, src, &fresh))
	})
	if !testing.Short() { // short runs have too few cases
		require.Positive(t, forms[flagRaw])
		require.Positive(t, forms[flagCompressed])
	}
}

// Compressed bytes that are cut, longer or changed give an error or, for a bit without meaning, the declared size.
func TestDecompressRefusesDamage(t *testing.T) {
	var d Deflate
	random := rand.New(rand.NewPCG(1, 1))
	src := []byte(strings.Repeat("the same again and again; ", 20))
	for range 100 {
		src = append(src, byte(random.IntN(4)))
	}
	payload := AppendCompressed(nil, src, &d)
	require.Equal(t, flagCompressed, payload[0])
	for cut := range payload {
		got, err := AppendDecompressed([]byte{1}, payload[:cut], 1<<20, &d)
		require.Error(t, err)
		require.Equal(t, []byte{1}, got)
	}
	_, err := AppendDecompressed(nil, append(bytes.Clone(payload), 0), 1<<20, &d)
	require.ErrorIs(t, err, ErrCompression, "a tail")
	refused := 0
	for i := range payload {
		for bit := range 8 {
			changed := bytes.Clone(payload)
			changed[i] ^= 1 << bit
			got, err := AppendDecompressed(nil, changed, len(src), &d)
			if err != nil {
				refused++
				require.Empty(t, got)
				continue
			}
			require.Less(t, len(got), len(src)+1)
		}
	}
	require.Positive(t, refused)
	got, err := AppendDecompressed(nil, payload, len(src), &d)
	require.NoError(t, err, "after so much damage, the state is still good")
	require.Equal(t, src, got)
}

// deflated returns a compressed payload that declares size.
func deflated(t testing.TB, src []byte, size uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(AppendVarint([]byte{flagCompressed}, size))
	w, err := flate.NewWriter(&b, flate.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(src)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestDecompressRefuses(t *testing.T) {
	bomb := make([]byte, 1<<22)
	for name, c := range map[string]struct {
		payload []byte
		limit   int
		c       *Deflate
		err     error
	}{
		"nothing":                         {nil, 100, &Deflate{}, ErrTruncated},
		"only the flag":                   {[]byte{1}, 100, &Deflate{}, ErrTruncated},
		"an unknown flag":                 {[]byte{2, 1, 2, 3}, 100, &Deflate{}, ErrMalformed},
		"compressed, without compressor":  {deflated(t, bomb, 1<<22), 1 << 30, nil, ErrMalformed},
		"raw above the limit":             {[]byte{0, 1, 2, 3}, 2, nil, ErrTooLong},
		"raw with a limit below zero":     {[]byte{0, 1}, -1, nil, ErrTooLong},
		"a bomb that says so":             {deflated(t, bomb, 1<<22), 1 << 20, &Deflate{}, ErrTooLong},
		"a bomb that says less":           {deflated(t, bomb, 1<<20), 1 << 20, &Deflate{}, ErrCompression},
		"less than it says":               {deflated(t, bomb, 1<<22+1), 1 << 23, &Deflate{}, ErrCompression},
		"more than so few bytes can mean": {append([]byte{1}, AppendVarint(nil, 1<<40)...), math.MaxInt, &Deflate{}, ErrMalformed},
		"a size beyond all":               {append(AppendVarint([]byte{1}, 1<<64-1), 1, 2, 3), math.MaxInt, &Deflate{}, ErrMalformed},
		"a size in a longer form":         {append([]byte{1}, 250, 0, 0, 200, 1, 2, 3), 1 << 30, &Deflate{}, ErrMalformed},
		"compressed to more":              {deflated(t, []byte{1, 2, 3}, 3), 100, &Deflate{}, ErrMalformed},
		"compressed to as much":           {append(AppendVarint([]byte{1}, 4), 3, 3, 3), 100, &Deflate{}, ErrMalformed},
		"an illegal block":                {append(AppendVarint([]byte{1}, 50), 7, 7, 7), 100, &Deflate{}, ErrCompression},
	} {
		before := make([]byte, 1, 4)
		got, err := AppendDecompressed(before, c.payload, c.limit, c.c)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, before, got, name)
	}
	got, err := AppendDecompressed(nil, deflated(t, bomb, 1<<22), 1<<22, &Deflate{})
	require.NoError(t, err)
	require.Equal(t, bomb, got)
}

func TestWithoutACompressorAllIsRaw(t *testing.T) {
	require.Equal(t, []byte{0}, AppendCompressed(nil, nil, nil))
	require.Equal(t, []byte{0}, AppendCompressed(nil, nil, &Deflate{}))
	src := bytes.Repeat([]byte{1}, 300)
	payload := AppendCompressed(nil, src, nil)
	require.Equal(t, append([]byte{0}, src...), payload)
	got, err := AppendDecompressed(nil, payload, 300, nil)
	require.NoError(t, err)
	require.Equal(t, src, got)
}

// A declared size cannot make AppendDecompressed allocate more than the existing bytes allow.
func TestDecompressAllocatesNoMoreThanIsJustified(t *testing.T) {
	var d Deflate
	for n := range 40 {
		payload := append([]byte{1}, AppendVarint(nil, uint64(n)*deflateRatio+1)...)
		payload = append(payload, make([]byte, n)...)
		_, err := AppendDecompressed(nil, payload, 1<<30, &d)
		require.ErrorIs(t, err, ErrMalformed)
	}
}

func TestCompressionReusesItsState(t *testing.T) {
	var d Deflate
	src := []byte(strings.Repeat("position velocity rotation ", 50))
	payload, out := make([]byte, 0, 2*len(src)), make([]byte, 0, 2*len(src))
	alloctest.Zero(t, 50, func() {
		payload = AppendCompressed(payload[:0], src, &d)
	})
	alloctest.AtMost(t, 50*4, 50, func() { // the library builds tables for codes above 9 bits
		var err error
		if out, err = AppendDecompressed(out[:0], payload, len(src), &d); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzDecompress: any payload gives an error or at most limit bytes, which come back when they are compressed again.
func FuzzDecompress(f *testing.F) {
	var d Deflate
	for _, src := range []string{"", "a", strings.Repeat("ab", 300), strings.Repeat("the quick brown fox ", 9)} {
		f.Add(AppendCompressed(nil, []byte(src), &d), 1000)
		f.Add(AppendCompressed(nil, []byte(src), &d), len(src))
	}
	f.Add(deflated(f, make([]byte, 1<<16), 1<<16), 1<<15)
	f.Fuzz(func(t *testing.T, payload []byte, limit int) {
		limit = min(limit, 1<<20)
		got, err := AppendDecompressed(nil, payload, limit, &d)
		if err != nil {
			require.Empty(t, got)
			return
		}
		require.LessOrEqual(t, len(got), max(limit, 0))
		again := AppendCompressed(nil, got, &d)
		require.LessOrEqual(t, len(again), len(got)+1)
		if payload[0] == flagRaw && again[0] == flagRaw {
			require.Equal(t, payload, again)
		}
		back, err := AppendDecompressed(nil, again, limit, &d)
		require.NoError(t, err)
		require.Equal(t, string(got), string(back))
	})
}

func BenchmarkCompression(b *testing.B) {
	var d Deflate
	src := []byte(strings.Repeat("position velocity rotation health ", 2000))
	payload, out := AppendCompressed(nil, src, &d), make([]byte, 0, len(src))
	b.Run("compress", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			payload = AppendCompressed(payload[:0], src, &d)
		}
	})
	b.Run("decompress", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			out, _ = AppendDecompressed(out[:0], payload, len(src), &d)
		}
	})
}

// largeMessages returns contents of typical large reliable messages, 30 to 36 kB each.
func largeMessages(random *rand.Rand) map[string][]byte {
	words := strings.Fields("the gate is open push left now who has the flag go back to base medic here nice shot good game well played one more round wait for me behind the wall on my way need ammo")
	var chat strings.Builder
	for chat.Len() < 32<<10 {
		fmt.Fprintf(&chat, "[%02d:%02d] player%d: ", random.IntN(24), random.IntN(60), random.IntN(64))
		for range 3 + random.IntN(9) {
			chat.WriteString(words[random.IntN(len(words))] + " ")
		}
		chat.WriteByte('\n')
	}
	tiles := make([]byte, 180*180) // regions of one tile with single others
	kind := byte(0)
	for i := range tiles {
		if random.IntN(12) == 0 {
			kind = byte(random.IntN(16))
		}
		if tiles[i] = kind; i >= 180 && random.IntN(10) > 0 {
			tiles[i] = tiles[i-180]
		}
	}
	type thing struct {
		Name   string     `json:"name"`
		At     [3]float32 `json:"at"`
		Yaw    float32    `json:"yaw"`
		Health int        `json:"health"`
	}
	var things []thing
	for range 380 {
		things = append(things, thing{words[random.IntN(len(words))], [3]float32{random.Float32() * 512, 0, random.Float32() * 512}, random.Float32() * 6, random.IntN(101)})
	}
	level, _ := json.Marshal(things)
	var packed []byte // positions in 16 bits, a kind, health: as a Serialize method packs them
	var floats []byte // the same as structs of floats
	for range 4000 {
		packed = binary.LittleEndian.AppendUint64(packed, random.Uint64()&0x7F0F_FFFF_FFFF_FFFF)
	}
	for range 2600 {
		for _, v := range []uint32{0x4300_0000 | random.Uint32()&0xFF_FFFF, 0, 0x4300_0000 | random.Uint32()&0xFF_FFFF} {
			floats = binary.LittleEndian.AppendUint32(floats, v)
		}
	}
	return map[string][]byte{"chat log": []byte(chat.String()), "tile map": tiles, "level as JSON": level, "packed structs": packed, "structs of floats": floats}
}

// Compression ratios of large messages, for docs/adr/0029. Text and maps shrink to less than a half, an already packed
// message by less than a tenth.
func TestCompressionOfLargeMessages(t *testing.T) {
	var d Deflate
	most := map[string]float64{"chat log": 0.40, "tile map": 0.20, "level as JSON": 0.45, "packed structs": 1, "structs of floats": 0.75}
	for name, src := range largeMessages(rand.New(rand.NewPCG(1, 2))) {
		payload := AppendCompressed(nil, src, &d)
		share := float64(len(payload)) / float64(len(src))
		t.Logf("%-18s %6d bytes become %6d, %3.0f %%; packets of 1200: %2d become %2d", name, len(src), len(payload), 100*share, (len(src)+1160)/1161, (len(payload)+1160)/1161)
		require.Less(t, share, most[name]+0.001, name)
		if name == "packed structs" {
			require.Greater(t, share, 0.85)
		}
		got, err := AppendDecompressed(nil, payload, len(src), &d)
		require.NoError(t, err)
		require.Equal(t, src, got)
	}
	small := []byte(`{"name":"gate","at":[12.5,0,99.25],"health":80}`)
	require.Greater(t, len(AppendCompressed(nil, small, &d)), len(small)*9/10, "a small message gains nothing")
}

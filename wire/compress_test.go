package wire

import (
	"bytes"
	"compress/flate"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// n bytes of DEFLATE hold at most n*deflateRatio bytes: a larger size is malformed before its limit is looked at.
func TestDecompressAllocatesNoMoreThanIsJustified(t *testing.T) {
	var d Deflate
	for n := range 40 {
		payload := append([]byte{1}, AppendVarint(nil, uint64(n)*deflateRatio+1)...)
		_, err := AppendDecompressed(nil, append(payload, make([]byte, n)...), 0, &d)
		require.ErrorIs(t, err, ErrMalformed)
		require.NotErrorIs(t, err, ErrTooLong)
	}
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

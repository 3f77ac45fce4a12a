package delta

import (
	"github.com/arche-netcode/netcode/wire"

	"bytes"
	"errors"
	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/stretchr/testify/require"
)

func tokenDecoder(t testing.TB) *decoder {
	lengths := make([]uint8, tokenSymbols(16))
	for i := range lengths { // 63 symbols: one of 5 bits, the others of 6
		lengths[i] = 6
	}
	lengths[0] = 5
	table, err := NewTable("tokens", [][]uint8{lengths})
	require.NoError(t, err)
	last := []int64{0, 1, -1, 300, -65535, 7, 12345}
	d := &decoder{frugal: true}
	d.encode = func(dst []byte) ([]byte, error) {
		w := wire.NewBitWriter(dst[:cap(dst)])
		for _, v := range last {
			table.WriteToken(&w, 0, v)
		}
		return dst[:w.Finish()], nil
	}
	b, _ := d.encode(make([]byte, 0, 100))
	d.good = [][]byte{b}
	d.decode = func(b []byte) error {
		r := wire.NewBitReader(b)
		for i := range last {
			last[i] = table.ReadToken(&r, 0)
		}
		if !r.Done() {
			return errRefused
		}
		return nil
	}
	return d
}

func tableTextDecoder(t testing.TB) *decoder {
	table, err := NewTable("t", [][]uint8{{1, 2, 2}, {2, 1, 2}})
	require.NoError(t, err)
	last, err := NewTables(table)
	require.NoError(t, err)
	d := &decoder{good: [][]byte{last.AppendText(nil)}}
	d.encode = func(dst []byte) ([]byte, error) { return last.AppendText(dst), nil }
	d.decode = func(b []byte) error {
		s, err := ParseTables(b)
		if err == nil {
			last = s
		}
		return err
	}
	return d
}

// decoder is one way to decode a value; it must accept all bytes or fail.
type decoder struct {
	good   [][]byte                         // from the encoder
	decode func(b []byte) error             // nil: a legal value, of exactly these bytes
	encode func(dst []byte) ([]byte, error) // of the value decoded last
	frugal bool                             // refuses without a single allocation
}

var errRefused = errors.New("refused")

// Cases 1 and 10 of the catalogue of faults, for tokens and table texts: see package quantize.
func TestCase01PrefixAndTail(t *testing.T) {
	for name, d := range map[string]*decoder{"token": tokenDecoder(t), "table text": tableTextDecoder(t)} {
		for _, good := range d.good {
			require.NoError(t, d.decode(good), name)
			for cut := range good {
				require.Error(t, d.decode(good[:cut]), "%s: cut at %d of %d", name, cut, len(good))
			}
			for n := 1; n <= 64; n++ {
				require.Error(t, d.decode(append(bytes.Clone(good), bytes.Repeat([]byte{37}, n)...)), "%s: a tail of %d", name, n)
			}
			d.mustBeLegal(t, good[1:])
			d.mustBeLegal(t, append([]byte{0}, good...))
			for at := range good {
				for _, flip := range []byte{1, 0x80, 0xFF} {
					damaged := bytes.Clone(good)
					damaged[at] ^= flip
					d.mustBeLegal(t, damaged)
				}
			}
			if bad := good[:len(good)-1]; d.frugal {
				alloctest.Zero(t, 20, func() { _ = d.decode(bad) })
			}
			require.NoError(t, d.decode(good), name)
			pool := bytes.Repeat([]byte("SECRET!!"), 1000)
			b, err := d.encode(pool[:0:len(pool)])
			require.NoError(t, err)
			require.Equal(t, good, b, "%s: what was in the buffer shows", name)
		}
	}
}

// mustBeLegal decodes damaged bytes: they are refused, or they are the only encoding of another value.
func (d *decoder) mustBeLegal(t *testing.T, damaged []byte) {
	t.Helper()
	if d.decode(damaged) == nil {
		again, err := d.encode(make([]byte, 0, 8000))
		require.NoError(t, err)
		require.Equal(t, damaged, again, "two encodings of one value")
	}
}

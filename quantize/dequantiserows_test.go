package quantize

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

type dequantised struct {
	X, Y  float32    `net:"min=-512,max=511.9,step=0.002"`
	Local uint32     `net:"-"`
	Turn  [4]float32 `net:"quat,bits=9"`
	Exact float32
}

// Rows that are dequantised together are what each is alone, and what does not travel stays.
func TestDequantiseRowsIsDequantise(t *testing.T) {
	p := deltaPlan[dequantised](t)
	random := rand.New(rand.NewPCG(3, 14))
	const stride = 11
	for n := range 20 {
		lanes := make([]uint32, max(1, n)*stride)
		var want, got [20]dequantised
		for k := range n {
			row := lanes[k*stride:][:p.Lanes()]
			copy(row, drawReaderRow(random, p, nil))
			if k%5 == 0 {
				row[0] = uint32(p.ops[0].count) // the largest, which may come out above max
			}
			want[k].Local, got[k].Local = uint32(k), uint32(k)
			p.Dequantise(row, unsafe.Pointer(&want[k]))
		}
		memory := unsafe.Slice((*byte)(unsafe.Pointer(&got)), unsafe.Sizeof(got))
		require.True(t, p.DequantiseRows(memory[:n*int(p.Size())], lanes, stride, n, nil))
		require.Equal(t, want, got)
		order := random.Perm(n)
		places := make([]int32, n)
		for k, of := range order {
			places[k] = int32(of)
			p.Dequantise(lanes[of*stride:][:p.Lanes()], unsafe.Pointer(&want[k]))
		}
		require.True(t, p.DequantiseRows(memory[:n*int(p.Size())], lanes, stride, n, places))
		require.Equal(t, want, got, "in an order")
	}
	for _, other := range []*Plan{deltaPlan[readerHealth](t), deltaPlan[lone](t)} {
		memory := make([]byte, 8)
		require.False(t, other.DequantiseRows(memory, []uint32{1}, 1, 1, nil))
		require.Equal(t, make([]byte, 8), memory)
	}
}

package quantize

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// anyField has a field of each kind.
type anyField struct {
	X, Y  float32    `net:"min=-8,max=8,step=0.01"`
	Turn  float32    `net:"angle,bits=7"`
	Q     [4]float32 `net:"quat,bits=9"`
	On    bool
	HP    uint16
	Level int8 `net:"min=-3,max=9"`
	Exact float32
	Wide  float64
	Long  int64
	Soft  float32 `net:"half"`
	Stick float32 `net:"axis"`
	Span  uint64  `net:"min=0,max=1000000000000"`
	Low   uint64  `net:"min=7,max=4294967302"`
}

type lone struct{ On bool }

// chosen has fields that are extrapolated otherwise than is usual.
type chosen struct {
	A float32    `net:"min=-8,max=8,step=0.01,extrapolate=previous"`
	B float32    `net:"min=-8,max=8,step=0.01,extrapolate=none"`
	C float32    `net:"angle,bits=7,extrapolate=previous"`
	D [4]float32 `net:"quat,bits=9,extrapolate=previous"`
	E uint16     `net:"extrapolate=linear"`
	F float32    `net:"extrapolate=previous"`
	G float32    `net:"extrapolate=none"`
	H int64      `net:"extrapolate=none"`
	I [2]int8    `net:"min=-9,max=80,extrapolate=linear"`
	J float32    `net:"axis,extrapolate=linear"` // as usual: it leaves no trace
	K [4]float32 `net:"quat,bits=9,extrapolate=none"`
}

// goldenInputs is the component of the golden runs: lanes of 8, 1, 2, 32 + 32, 8 and 10 bits.
type goldenInputs struct {
	A uint8
	B bool
	C uint8 `net:"min=0,max=2"`
	D uint64
	E uint8   `net:"min=0,max=200"`
	F float32 `net:"angle,bits=10"`
}

type (
	readerPlace struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	readerTurn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	readerHealth struct{ HP uint8 }
	readerPair   struct {
		U, V float32 `net:"min=0,max=9,step=0.5"`
	}
)

func deltaPlan[T any](t testing.TB) *Plan {
	t.Helper()
	p, err := Compile(reflect.TypeFor[T](), reflect.TypeFor[T]().Name())
	require.NoError(t, err)
	return p
}

// drawReaderRow draws the lanes of a row: near others, anywhere, or at a bound.
func drawReaderRow(random *rand.Rand, p *Plan, near []uint32) []uint32 {
	for {
		lanes := make([]uint32, p.Lanes())
		for i := range lanes {
			top := int64(p.Lane(i).Largest)
			switch n := random.IntN(12); {
			case near != nil && n < 4:
				lanes[i] = near[i]
			case near != nil && n < 10:
				lanes[i] = uint32(min(max(int64(near[i])+random.Int64N(41)-20, 0), top))
			case n == 10:
				lanes[i] = uint32(top)
			default:
				lanes[i] = uint32(random.Int64N(top + 1))
			}
		}
		if p.LegalRow(lanes) {
			return lanes
		}
	}
}

type (
	coarseTurn struct {
		Q [4]float32 `net:"quat,bits=4"`
	}
	fineTurn struct {
		Q [4]float32 `net:"quat,bits=16"`
	}
)

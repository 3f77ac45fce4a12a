package rowtest

import "math/rand/v2"

// AnyField has a field of every kind.
type AnyField struct {
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

// Lone has a single field of one bit.
type Lone struct{ On bool }

// Inputs is the component of the golden runs, with lanes of 8, 1, 2, 32 + 32, 8 and 10 bits.
type Inputs struct {
	A uint8
	B bool
	C uint8 `net:"min=0,max=2"`
	D uint64
	E uint8   `net:"min=0,max=200"`
	F float32 `net:"angle,bits=10"`
}

// Components with one kind of field each.
type (
	Place struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	Turn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	Health struct{ HP uint8 }
	Pair   struct {
		U, V float32 `net:"min=0,max=9,step=0.5"`
	}
)

// Draw draws random lanes until they are legal: near others, anywhere, or at a bound. largest is the maximum of each lane.
func Draw(random *rand.Rand, largest []uint64, near []uint32, legal func(lanes []uint32) bool) []uint32 {
	for {
		lanes := make([]uint32, len(largest))
		for i, bound := range largest {
			top := int64(bound)
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
		if legal(lanes) {
			return lanes
		}
	}
}

package snapshot

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// simPosition, simHealth and simFrozen are the components of most tests. They have few values, so that rows often come back to
// earlier ones.
type simPosition struct {
	X int16 `net:"min=-8,max=7"`
	Y int16 `net:"min=0,max=3"`
}
type simHealth struct{ Points uint32 }
type simFrozen struct{}

// replicaGrace is by how many ticks a Replica keeps versions longer than two windows.
const replicaGrace = 4

// bit returns the mask of one row.
func bit(row int) Mask { return format.Bit(row) }

func compile[T any](t testing.TB) *quantize.Plan {
	t.Helper()
	p, err := quantize.Compile(reflect.TypeFor[T](), reflect.TypeFor[T]().Name())
	require.NoError(t, err)
	return p
}

func simSchema(t testing.TB) *Schema {
	return format.NewSchema([]*quantize.Plan{compile[simFrozen](t), compile[simHealth](t), compile[simPosition](t)})
}

const (
	rowFrozen = iota
	rowHealth
	rowPosition
)

type simPacket struct {
	seq     uint64
	tick    tick.Tick
	payload []byte
}

// key makes lanes comparable.
func key(lanes []uint32) string {
	b := make([]byte, 0, 64)
	for _, lane := range lanes {
		b = binary.LittleEndian.AppendUint32(b, lane)
	}
	return string(b)
}

// decodedRecord is a record that a replica decoded.
type decodedRecord struct {
	index uint32
	mask  Mask
	base  tick.Tick
	lanes []uint32
}

// recordsAt returns the indexes that have records of a tick, sorted.
func recordsAt(r *replica.Replica, t tick.Tick) (indexes []uint32) {
	for all, i := r.Records(t), 0; i < all.Len(); i++ {
		indexes = append(indexes, all.RangeAt(i).Index)
	}
	slices.Sort(indexes)
	return indexes
}

// decodedAt returns the records of a tick that a replica decoded, by index.
func decodedAt(r *replica.Replica, t tick.Tick) (list []decodedRecord) {
	for _, index := range recordsAt(r, t) {
		rec := decodedRecord{index: index}
		rec.mask, rec.base, _ = r.RecordAt(index, t)
		for m := rec.mask; !m.IsZero(); m = m.Rest() {
			lanes, _ := r.RowAt(index, m.Lowest(), t)
			rec.lanes = append(rec.lanes, lanes...)
		}
		list = append(list, rec)
	}
	return list
}

// needsFastPaths skips a test that asserts that a fast path was taken.
func needsFastPaths(t testing.TB) {
	t.Helper()
	if plain.On {
		t.Skip("netcode_plain: the build has no fast path")
	}
}

// benchPosition, benchRotation and benchVelocity are a body of 112 bits in three rows.
type benchPosition struct {
	X, Y, Z float32 `net:"min=-256,max=255,step=0.002"`
}
type benchRotation struct {
	Q [4]float32 `net:"quat,bits=9"`
}
type benchVelocity struct {
	X, Y, Z float32 `net:"min=-16,max=16,step=0.02"`
}

// circles are the rows of bodies that run on circles, by tick and row, one body's behind the other's.
func circles(schema *Schema, bodies, ticks int) [][][]uint32 {
	rows := make([][][]uint32, ticks)
	for k := range rows {
		random := rand.New(rand.NewPCG(7, 1))
		rows[k] = make([][]uint32, schema.Rows())
		for range bodies {
			x, y, z := random.Float64()*400-200, random.Float64()*400-200, random.Float64()*20
			radius, phase, turn := 1+random.Float64()*9, random.Float64()*2*math.Pi, 0.02+random.Float64()*0.05
			at := math.Mod(phase+turn*float64(k), 2*math.Pi)
			sin, cos := math.Sincos(at)
			half, rest := math.Sincos(at / 2)
			place := benchPosition{float32(x + radius*cos), float32(y + radius*sin), float32(z)}
			rotation := benchRotation{[4]float32{0, 0, float32(half), float32(rest)}}
			velocity := benchVelocity{float32(-radius * sin), float32(radius * cos), 0}
			for i, v := range []unsafe.Pointer{unsafe.Pointer(&place), unsafe.Pointer(&rotation), unsafe.Pointer(&velocity)} {
				lanes := make([]uint32, schema.Plan(i).Lanes())
				schema.Plan(i).Quantise(v, lanes)
				rows[k][i] = append(rows[k][i], lanes...)
			}
		}
	}
	return rows
}

// noComponent is a mask that shows an entity without any of its components: its row is that of no schema here.
var noComponent = format.Bit(MaxRows - 1)

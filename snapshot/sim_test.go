package snapshot

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// The components of the simulation. Few values, so that rows come back to
// earlier ones often.
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
		indexes = append(indexes, all.Range(i).Index)
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
			lanes, _ := r.LanesAt(index, m.Lowest(), t)
			rec.lanes = append(rec.lanes, lanes...)
		}
		list = append(list, rec)
	}
	return list
}

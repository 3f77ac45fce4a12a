package quantize

import (
	"reflect"

	"github.com/arche-netcode/netcode/wire"
)

// Plan is a compiled component type: the flat list of its sent fields and their encodings. Code that runs per row uses
// this list and never reflection. A Plan does not change after Compile (and Debug); any number of goroutines may use
// it.
//
// A row is stored as lanes: one uint32 per field, two for a 64-bit field, four for a quaternion. Lanes are compared,
// stored, sent and extrapolated. Each lane's number fits the bits that the plan gives it.
type Plan struct {
	name     string
	typ      reflect.Type
	ops      []op    // fields in wire order
	lanes    []lane  // lanes of a row
	widths   []uint8 // bits of each lane
	spans    []span  // ranges of sent bytes
	bits     int     // maximum length of an absolute row
	fixed    int     // number of lanes before those of texts and lists
	fixedOps int     // number of fields before texts and lists
	refs     []int   // first lanes of the entity fields
	varies   bool    // there are lanes whose length in an absolute row depends on their number
	holds    []int   // those of refs that are a handle in memory
	goal     int     // first lane of the target
	aimed    bool    // there is a target
	// floats tells that all lanes belong to exact float32 fields.
	floats    bool
	floatRows bool // see DequantiseRows
	events    []eventLane
	debug     bool // packing is off

	extrapolator string // name of the extrapolation function
	extrapolate  Extrapolation
}

// Name returns the wire name.
func (p *Plan) Name() string { return p.name }

// Type returns the Go type.
func (p *Plan) Type() reflect.Type { return p.typ }

// Size returns the size of the Go type in bytes.
func (p *Plan) Size() uintptr { return p.typ.Size() }

// Lanes returns the number of lanes of a row; 0 for a component without sent fields.
func (p *Plan) Lanes() int { return len(p.lanes) }

// Varies reports whether the length of an absolute row depends on its numbers.
func (p *Plan) Varies() bool { return p.varies || p.fixed < len(p.lanes) }

// Packed reports whether rows are bit-packed: Debug was not called.
func (p *Plan) Packed() bool { return !p.debug }

// Bits returns the length of an absolute row in bits, its maximum if it varies. With packing off, padding
// to the next byte precedes the row.
func (p *Plan) Bits() int { return p.bits }

// Fault is the first problem that Quantise found in a row. The zero value means none.
type Fault struct {
	Reason wire.FaultReason // NoFault for none
	field  string
	kept   bool // a field kept its last good value
}

// Field returns the field's path within the component, such as "Vel.X"; "" without a fault.
func (f Fault) Field() string { return f.field }

// or returns the first of two faults. kept is set if it is set in either.
func (f Fault) or(later Fault) Fault {
	if f.Reason == wire.NoFault {
		return later
	}
	f.kept = f.kept || later.kept
	return f
}

// Plain reports whether the lanes equal the component's memory, word by word, in the machine's byte order. It has only
// exact float32 and uint32 fields without gaps. Code that writes many rows may then copy the lanes instead of calling
// Dequantise.
func (p *Plan) Plain() bool {
	for i := range p.ops {
		o := &p.ops[i]
		word := o.kind == opFloat32 || o.kind == opInt32 && o.flip == 0
		if !word || o.lane != i || o.offset != 4*uintptr(i) {
			return false
		}
	}
	return len(p.ops) > 0 && p.Size() == 4*uintptr(len(p.ops))
}

// Dense reports whether the component consists of sent floats and rotations only: DequantiseRows writes all of its
// memory.
func (p *Plan) Dense() bool { return p.floatRows && p.Size() == 4*uintptr(len(p.lanes)) }

// Fields returns the paths of the sent fields within the component, such as "Vel.X", in wire order.
func (p *Plan) Fields() []string {
	names := make([]string, len(p.ops))
	for i := range p.ops {
		names[i] = p.ops[i].path
	}
	return names
}

// EachField calls each with the number of bits of each field in an absolute row. With packing off, the padding is not
// counted.
func (p *Plan) EachField(lanes []uint32, each func(field, bits int)) {
	var buf [16]byte
	for i := range p.ops {
		o, bits := &p.ops[i], 0
		switch {
		case o.tail != nil:
			bits = p.bitsOf(o, lanes)
		case p.debug:
			bits = 8 * int(o.bytes())
			if o.kind == opTarget {
				bits = 64
			}
		case o.kind >= opHandle:
			w := wire.NewBitWriter(buf[:])
			writeRef(&w, lanes[o.lane], lanes[o.lane+1])
			bits = w.Bits()
		case p.lanes[o.lane].short:
			bits = wire.VarBits(uint64(lanes[o.lane]))
		default:
			for l := o.lane; l < len(p.lanes) && int(p.lanes[l].op) == i; l++ {
				bits += int(p.lanes[l].bits)
			}
		}
		each(i, bits)
	}
}

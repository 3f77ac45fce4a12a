package quantize

import (
	"reflect"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

// Plan is a component type compiled once: the flat list of fields that are sent, and how. Everything that
// runs per row goes by this list and never touches reflection. A Plan does not change after Compile (and
// Debug, if called) and may be used by any number of goroutines.
//
// A row is held as lanes, one uint32 word for each field (two for a 64-bit field, four for a
// quaternion). Lanes are what is compared, kept, sent and extrapolated; every lane's number lies within the
// bits that the plan gives it.
type Plan struct {
	name     string
	typ      reflect.Type
	ops      []op    // fields in order of travel
	lanes    []lane  // words of a row
	widths   []uint8 // their bits
	spans    []span  // runs of bytes that are sent
	bits     int     // of an absolute row, at most
	fixed    int     // lanes before those of texts and lists,
	fixedOps int     // and their fields
	refs     []int   // first lanes of the entity fields
	holds    []int   // those of them that hold a handle in memory
	goal     int     // first lane of the target
	aimed    bool    // there is a target
	// floats tells that all lanes are those of float32 fields that are sent exactly.
	floats    bool
	floatRows bool // see DequantiseRows
	events    []eventLane
	debug     bool // packing is off
	wide      bool // the processor is
	runs      []kernel.FixedRun
	block     *kernel.FixedBlock // of a plan of fixed floats alone, see SnapRows

	extrapolator string // name of extrapolate
	extrapolate  Extrapolation
}

// Name returns the wire name.
func (p *Plan) Name() string { return p.name }

// Type returns the Go type.
func (p *Plan) Type() reflect.Type { return p.typ }

// Size returns the size of the Go type in memory, in bytes.
func (p *Plan) Size() uintptr { return p.typ.Size() }

// Lanes returns how many words a row has; 0 for a component without fields that are sent.
func (p *Plan) Lanes() int { return len(p.lanes) }

// Packed reports whether rows are sent in as few bits as they can, which is so unless Debug was called.
func (p *Plan) Packed() bool { return !p.debug }

// Bits returns the length of an absolute row in bits: what WriteRow writes, or at most writes where there are entity
// fields. With packing off, zeros up to the next byte go before them.
func (p *Plan) Bits() int { return p.bits }

// Fault is the first thing that Quantise found wrong with a row. The zero value means that nothing was.
type Fault struct {
	Reason wire.FaultReason // what is wrong; NoFault where nothing is
	field  string
	kept   bool // A field keeps its last good value: its own has no row.
}

// Field returns the field's path within the component, such as "Vel.X"; empty without a fault.
func (f Fault) Field() string { return f.field }

// or returns the first of two faults of a component, which keeps a value if one of them does.
func (f Fault) or(later Fault) Fault {
	if f.Reason == wire.NoFault {
		return later
	}
	f.kept = f.kept || later.kept
	return f
}

// Plain reports whether a row's lanes are the component's memory, word by word and in the machine's own order: fields
// of float32 and uint32 that are sent exactly, next to each other, and nothing else. Code that writes many rows may then copy
// the lanes instead of calling Dequantise.
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

// Dense reports whether a component is floats and rotations that are sent and nothing else: its memory is what DequantiseRows makes of its lanes, and as
// large.
func (p *Plan) Dense() bool { return p.floatRows && p.Size() == 4*uintptr(len(p.lanes)) }

// Fields returns the fields that are sent, in order, by their paths within the component, such as "Vel.X".
func (p *Plan) Fields() []string {
	names := make([]string, len(p.ops))
	for i := range p.ops {
		names[i] = p.ops[i].path
	}
	return names
}

// EachField tells how many bits each field of a row takes that is sent whole. With packing off what fills up to the next
// byte is no field's.
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
		default:
			for l := o.lane; l < len(p.lanes) && int(p.lanes[l].op) == i; l++ {
				bits += int(p.lanes[l].bits)
			}
		}
		each(i, bits)
	}
}

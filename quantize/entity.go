package quantize

import (
	"math"
	"math/bits"
	"reflect"

	"github.com/arche-netcode/netcode/wire"
)

// An entity field names another entity. In memory it is two uint32, like Arche's handle. In a row it is two lanes, the
// index and the generation of a network id, or zeros for nil. In a packed row it is
//
//	0                                nil
//	1, 5 bits n, max(n,1) bits, Var  n = 0: index 0 or 1; else index 2^n + the bits. Var: generation - 1
//
// so that each value has one encoding and generation 0 has none. In the later rows of a run it is two plain lanes.

// maxRefBits is the maximum length of an entity field in a packed row, in bits.
const maxRefBits = 1 + 5 + 31 + 63

// Refs returns the first lane of each entity field, including the target, in ascending order. Lanes lane and lane+1 are
// the index and generation of a network id, or zeros. Do not change the slice.
func (p *Plan) Refs() []int { return p.refs }

// Handles returns the Refs that are a handle of the local world in memory. Quantise and Dequantise copy the handle;
// their caller converts it to or from a network id. The other Refs are the target and NetworkID fields, which are the
// same in memory and in the row. Do not change the slice.
func (p *Plan) Handles() []int { return p.holds }

// Parts of the errors about entity handles.
const (
	handlesAreLocal = "entity handles are local to a world"
	useNetworkID    = `a message, an input or a collection names an entity by a field of type NetworkID with that tag`
)

// CheckHandles returns an error for the first field that is a handle of the local world or a relation's target. Only
// components may have these: messages and inputs have no conversion to network ids.
func (p *Plan) CheckHandles() error {
	at := -1
	if lane, relation := p.Target(); relation {
		at = lane
	}
	if len(p.holds) > 0 {
		at = p.holds[0]
	}
	if at < 0 {
		return nil
	}
	c := compiler{root: rootName(p.typ)}
	return c.fail(p.ops[p.lanes[at].op].path, `%s, also with the tag net:"entity": %s`, handlesAreLocal, useNetworkID)
}

// Target returns the first lane of a relation's target. ok reports whether the component is a relation: its first field
// embeds ecs.Relation of Arche, or ecs.RelationMarker of Ark. The target has no memory; Quantise and Dequantise do not touch it.
func (p *Plan) Target() (lane int, ok bool) { return p.goal, p.aimed }

// isEntity reports whether t is a struct of exactly two uint32.
func isEntity(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 2 &&
		t.Field(0).Type.Kind() == reflect.Uint32 && t.Field(1).Type.Kind() == reflect.Uint32
}

// isRelation reports whether t is a relation by the rule of Arche or Ark, whose marker has another name.
func isRelation(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() == 0 {
		return false
	}
	f := t.Field(0)
	return f.Name == f.Type.Name() && (f.Name == "Relation" || f.Name == "RelationMarker") && wire.IsECS(f.Type)
}

// entity compiles an entity field.
func (c *compiler) entity(t reflect.Type, path string, offset uintptr) error {
	if path == "" {
		path = "value"
	}
	kind := opHandle
	if t == reflect.TypeFor[wire.NetworkID]() {
		kind = opID
	} else {
		c.plan.holds = append(c.plan.holds, len(c.plan.lanes))
	}
	return c.ref(op{kind: kind, size: 4, offset: offset, path: path, text: "entity"})
}

// target adds the target of a relation.
func (c *compiler) target() error {
	c.tag = tag{}
	c.plan.goal, c.plan.aimed = len(c.plan.lanes), true
	return c.ref(op{kind: opTarget, size: 4, path: "target", text: "entity"})
}

// ref adds a field of two lanes, a network id.
func (c *compiler) ref(o op) error {
	c.plan.refs = append(c.plan.refs, len(c.plan.lanes))
	return c.add(o, lane{bits: 32, max: math.MaxUint32}, lane{bits: 32, max: math.MaxUint32, check: checkRef})
}

// quantiseRef quantises an entity field. An invalid network id becomes nil; a handle is copied, for the caller to
// convert.
func (o *op) quantiseRef(id wire.NetworkID, lanes []uint32) wire.FaultReason {
	if o.kind == opID && id.Generation == 0 && id.Index != 0 {
		lanes[o.lane], lanes[o.lane+1] = 0, 0
		return wire.OutOfRange
	}
	lanes[o.lane], lanes[o.lane+1] = id.Index, id.Generation
	return wire.NoFault
}

// isRef reports whether a lane belongs to an entity field.
func (p *Plan) isRef(l *lane) bool { return p.ops[l.op].kind >= opHandle }

// writeRef writes an entity field of a packed row.
func writeRef(w *wire.BitWriter, index, generation uint32) {
	if generation == 0 {
		w.Write(0, 1)
		return
	}
	n := uint(max(bits.Len32(index), 1) - 1)
	w.Write(1|uint64(n)<<1, 6)
	w.Write(uint64(index), max(n, 1))
	w.Var(uint64(generation) - 1)
}

// readRef reads what writeRef wrote.
func readRef(r *wire.BitReader) (index, generation uint32) {
	if !r.Bool() {
		return 0, 0
	}
	n := uint(r.Read(5))
	index = uint32(r.Read(max(n, 1)))
	if n > 0 {
		index |= 1 << n
	}
	g := r.Var()
	if g >= math.MaxUint32 {
		r.Fail()
	}
	if r.Failed() {
		return 0, 0
	}
	return index, uint32(g) + 1
}

// readShort reads a short lane.
func readShort(r *wire.BitReader, l *lane) uint32 {
	v := r.Var()
	if v > l.max {
		r.Fail()
	}
	return uint32(v)
}

// writeRefs is WriteRow for a plan whose rows vary in length.
func (p *Plan) writeRefs(w *wire.BitWriter, row []uint32) {
	lanes := row[:p.fixed]
	for i := 0; i < len(lanes); i++ {
		switch l := &p.lanes[i]; {
		case l.short:
			w.Var(uint64(lanes[i]))
			continue
		case !p.isRef(l):
			w.Write(uint64(lanes[i]), uint(l.bits))
			continue
		}
		writeRef(w, lanes[i], lanes[i+1])
		i++
	}
	p.writeTails(w, row)
}

// readRefs is ReadRow for a plan whose rows vary in length.
func (p *Plan) readRefs(r *wire.BitReader, row []uint32) bool {
	lanes := row[:p.fixed]
	for i := 0; i < len(lanes); i++ {
		l := &p.lanes[i]
		if p.isRef(l) {
			lanes[i], lanes[i+1] = readRef(r)
			i++
			continue
		}
		if l.short {
			lanes[i] = readShort(r, l)
			continue
		}
		lanes[i] = uint32(r.Read(uint(l.bits)))
		if l.check == checkNone || l.check == checkMax && uint64(lanes[i]) <= l.max {
			continue
		}
		if !p.legal(l, lanes, i) {
			r.Fail()
		}
	}
	return !r.Failed() && p.readTails(r, row)
}

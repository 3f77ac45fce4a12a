package quantize

import "github.com/arche-netcode/netcode/wire"

// Fields returns the fields that travel, in order, by their paths within the component, such as "Vel.X".
func (p *Plan) Fields() []string {
	names := make([]string, len(p.ops))
	for i := range p.ops {
		names[i] = p.ops[i].path
	}
	return names
}

// EachField says how many bits each field of a row takes that travels whole. With packing off what fills up to the next
// byte is no field's.
func (p *Plan) EachField(lanes []uint32, each func(field, bits int)) {
	var buf [16]byte
	for i := range p.ops {
		o, bits := &p.ops[i], 0
		switch {
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

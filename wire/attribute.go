package wire

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
			w := NewBitWriter(buf[:])
			w.writeRef(lanes[o.lane], lanes[o.lane+1])
			bits = w.Bits()
		default:
			for l := o.lane; l < len(p.lanes) && int(p.lanes[l].op) == i; l++ {
				bits += int(p.lanes[l].bits)
			}
		}
		each(i, bits)
	}
}

// EachField says how many bits each field takes of a row that travels as what differs; field -1 is which of them do.
func (d *Delta) EachField(now []uint32, v *Versions, each func(field, bits int)) {
	var list [2]DeltaSymbol
	q := rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for _, g := range d.groups {
		changed, moved := g.differing(now, v)
		if g.table != nil {
			each(-1, g.table.Length(WhichContext(g.count, moved, v.Before != nil, v.Age), int(changed)))
		}
		for i := range g.count {
			if changed>>i&1 == 0 {
				continue
			}
			bits := 0
			for _, s := range d.appendLane(list[:0], g.first+i, now, v, &q) {
				_, n := s.Code()
				bits += int(n + s.RawBits)
			}
			each(int(d.plan.lanes[g.first+i].op), bits)
		}
	}
}

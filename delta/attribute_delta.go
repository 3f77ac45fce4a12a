package delta

import "github.com/arche-netcode/netcode/quantize"

// EachField says how many bits each field takes of a row that travels as what differs; field -1 is which of them do.
func (d *Delta) EachField(now []uint32, v *quantize.Versions, each func(field, bits int)) {
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
			each(int(d.plan.Lane(g.first+i).Field), bits)
		}
	}
}

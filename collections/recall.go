package collections

import "github.com/arche-netcode/netcode/wire"

// Blank turns a body into as many bytes without effect. The contents at a client stay as they are. Later operations, which may
// depend on the blank ones, have no effect.
func Blank(body []byte) {
	_, n, err := wire.ReadVarint(body)
	if err != nil {
		return
	}
	for i := n; i < len(body); i++ {
		body[i] = byte(opStop)
	}
}

// Amend takes out of a body, in place, the names of entities that the client does not see any more, and returns how long it
// is then. Fill sends these elements once more, if it is called next.
func (r *Reader) Amend(defs []*Def, body []byte, link Link) int {
	c, err := open(defs, body)
	if err != nil || len(c.def.plan.Refs()) == 0 {
		return len(body)
	}
	out := append(r.amended[:0], body[:len(body)-len(c.rest)]...)
	var row [maxLanes]uint32
	width := c.def.plan.Lanes()
	for c.more() {
		o, err := c.next()
		if err != nil {
			return len(body)
		}
		out = appendOp(out, o)
		if !o.kind.elements() {
			continue
		}
		r.rows = r.rows[:0]
		for c.left > 0 {
			if !c.row(row[:width]) {
				return len(body)
			}
			r.rows = append(r.rows, row[:width]...)
		}
		if !c.finish() {
			return len(body)
		}
		out, r.veils = c.def.appendRows(out, r.rows, link, r.veils[:0])
	}
	r.amended = out
	return copy(body, out)
}

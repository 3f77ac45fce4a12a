package collections

import "github.com/arche-netcode/netcode/wire"

// blank overwrites the operations of a body with opStop. The client's collection stays as it is, and operations behind the body,
// which may depend on it, have no effect.
func blank(body []byte) {
	_, n, err := wire.ReadVarint(body)
	if err != nil {
		return
	}
	for i := n; i < len(body); i++ {
		body[i] = byte(opStop)
	}
}

// Amend removes from a body, in place, the names of entities that the client does not see any more, and returns the new length.
// The next Fill sends these elements once more.
func (r *reader) Amend(defs []*definition, body []byte, link link) int {
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

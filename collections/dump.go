package collections

import "fmt"

// appendDump appends a body for people: the collection's name and its operations, with names and fields. A part that is not legal
// is marked.
func appendDump(defs []*definition, dst, body []byte) []byte {
	c, err := open(defs, body)
	if err != nil {
		return fmt.Appendf(dst, "%x is not legal", body)
	}
	dst = append(dst, c.def.name...)
	var row [maxLanes]uint32
	for c.more() {
		at := c.rest
		o, err := c.next()
		if err != nil {
			return fmt.Appendf(dst, " %x is not legal", at)
		}
		dst = append(append(dst, ' '), o.kind.String()...)
		if o.kind.ranged() {
			dst = fmt.Appendf(dst, " %d+%d", o.at, o.count)
		}
		if !o.kind.elements() {
			continue
		}
		for c.left > 0 {
			if !c.row(row[:c.def.plan.Lanes()]) {
				return fmt.Appendf(dst, " %x is not legal", at)
			}
			dst = append(dst, ' ')
			dst = c.def.plan.AppendValues(dst, row[:c.def.plan.Lanes()])
		}
		if !c.finish() {
			return fmt.Appendf(dst, " %x is not legal", at)
		}
	}
	return dst
}

// String returns the operation's name.
func (k opcode) String() string {
	names := [...]string{"none", "reset", "insert", "set", "remove", "clear", "whole", "stop"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

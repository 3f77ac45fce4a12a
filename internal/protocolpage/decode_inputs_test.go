package protocolpage_test

// Inputs and the runs that they travel in, by the reader that is written from PROTOCOL.md alone. (6, 16)

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// input reads an input message.
func (r *reader) input(payload []byte) string {
	text := fmt.Sprintf("Input newest=%d behind=%d", binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:]))
	s, count := &stream{b: payload[4:]}, 0
	for i := range r.inputs {
		rows := r.run(&r.inputs[i], s, 64)
		var texts []string
		for _, row := range rows {
			texts = append(texts, r.inputs[i].text(row))
		}
		text += fmt.Sprintf(" [%s]", strings.Join(texts, ", "))
		if len(rows) == 0 {
			r.seen["input not set"]++
			continue
		}
		must(count == 0 || count == len(rows), "%d and %d inputs", count, len(rows))
		count = len(rows)
	}
	must(count > 0, "no inputs")
	s.end()
	r.seen["input"]++
	if count > 1 {
		r.seen["several inputs"]++
	}
	return text
}

// run reads rows of which each is told by what differs from the one before.
func (r *reader) run(of *shape, s *stream, limit uint64) (rows [][]uint32) {
	count := s.number()
	must(count <= limit, "%d rows", count)
	for i := range int(count) {
		if i == 0 {
			rows = append(rows, of.row(s))
			continue
		}
		row := slices.Clone(rows[i-1])
		if s.bit() {
			r.seen["input that differs"]++
			row = of.differing(s, row, r.seen)
		}
		rows = append(rows, row)
	}
	return rows
}

// differing reads a row that differs from what it was.
func (of *shape) differing(s *stream, was []uint32, seen map[string]int) []uint32 {
	changed, row := false, slices.Clone(was[:len(of.lanes)])
	for i := range of.fields {
		f := &of.fields[i]
		if !s.bit() {
			continue
		}
		any := false
		for j, width := range f.widths {
			if len(f.widths) > 1 && !s.bit() {
				continue
			}
			row[f.lane+j] = otherNumber(s, width, row[f.lane+j], seen)
			any = true
		}
		must(any, "a field that differs in nothing")
		changed = true
	}
	row, tail := of.changedTail(s, was, row)
	must(changed || tail, "a row that differs in nothing")
	of.legal(row)
	return row
}

// otherNumber reads a number of so many bits that is another one than it was.
func otherNumber(s *stream, width int, old uint32, seen map[string]int) uint32 {
	if width == 1 {
		return old ^ 1
	}
	mask := uint64(1)<<width - 1
	if width > 3 && !s.bit() {
		seen["lane as distance"]++
		v := s.number()
		must(varLength(v) < width, "the longer form")
		z := v + 1
		d := int64(z >> 1)
		if z&1 == 1 {
			d = -d - 1
		}
		return uint32((uint64(old) + uint64(d)) & mask)
	}
	now := uint32(s.bits(width))
	must(now != old, "a number that does not differ")
	if width > 3 {
		seen["lane in full"]++
		d := int64(uint64(now-old)<<(64-width)) >> (64 - width)
		z := uint64(2 * d)
		if d < 0 {
			z = uint64(-2*d - 1)
		}
		must(varLength(z-1) >= width, "the longer form")
	}
	return now
}

// varLength returns the number of bits that a Var takes. (9)
func varLength(v uint64) int {
	b := 0
	for b < 62 && 4*(uint64(1)<<(b+1)-1) <= v {
		b++
	}
	must(b <= 62 && bits.Len64(v) <= 64, "Var")
	return 2*b + 3
}

package protocolpage_test

// A part of the reader written from PROTOCOL.md: texts and lists. (8, 11)

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// parseTail parses the kind of a text or a list.
func parseTail(path, kind string) (f field, is bool) {
	size, rest, list := strings.Cut(kind, "(")
	for _, base := range []string{"text", "list"} {
		digits, ok := strings.CutPrefix(size, base)
		if !ok {
			continue
		}
		f = field{path: path, kind: kind, base: base}
		f.most, _ = strconv.ParseUint(digits, 10, 64)
		if list {
			of := parseShape("element{" + strings.ReplaceAll(strings.TrimSuffix(rest, ")"), " ", ";") + "}")
			f.of = &of
		}
		return f, true
	}
	return f, false
}

// size returns the count of numbers of the first row in a list of numbers.
func (s *shape) size(row []uint32) int {
	at := len(s.lanes)
	for i := range s.tail {
		n := int(row[at])
		for at++; n > 0; n-- {
			at += s.tail[i].elementSize(row[at:])
		}
	}
	return at
}

func (f *field) elementSize(row []uint32) int {
	if f.of == nil {
		return 1
	}
	return f.of.size(row)
}

// tails are the bytes or elements of each text and list of a row, in which they stand behind the other numbers, each behind its length.
func (s *shape) tails(row []uint32) (tails [][][]uint32) {
	at := len(s.lanes)
	for i := range s.tail {
		n := int(row[at])
		elements := [][]uint32{}
		for at++; n > 0; n-- {
			size := s.tail[i].elementSize(row[at:])
			elements = append(elements, row[at:at+size])
			at += size
		}
		tails = append(tails, elements)
	}
	return tails
}

// append appends a text or a list to a row.
func (f *field) append(row []uint32, elements [][]uint32) []uint32 {
	must(uint64(len(elements)) <= f.most, "%s has %d", f.path, len(elements))
	must(f.of != nil || utf8.Valid(bytesOf(elements)), "%s is no UTF-8", f.path)
	row = append(row, uint32(len(elements)))
	for _, e := range elements {
		row = append(row, e...)
	}
	return row
}

func bytesOf(elements [][]uint32) (b []byte) {
	for _, e := range elements {
		b = append(b, byte(e[0]))
	}
	return b
}

// more reads bytes or elements that are whole.
func (f *field) more(s *stream, n uint64) (elements [][]uint32) {
	must(n <= f.most, "%s has %d", f.path, n)
	for range n {
		if f.of == nil {
			elements = append(elements, []uint32{uint32(s.bits(8))})
		} else {
			elements = append(elements, f.of.row(s))
		}
	}
	return elements
}

// wholeTail reads the texts and lists of a row that is whole.
func (s *shape) wholeTail(from *stream, row []uint32) []uint32 {
	for i := range s.tail {
		f := &s.tail[i]
		row = f.append(row, f.more(from, from.number()))
	}
	return row
}

// changedTail reads what differs of the texts and lists.
func (s *shape) changedTail(from *stream, base, row []uint32) (all []uint32, differs bool) {
	for i, was := range s.tails(base) {
		f := &s.tail[i]
		now := was
		if len(s.lanes) == 0 && len(s.tail) == 1 || from.bit() {
			differs = true
			if f.of == nil {
				now = f.changedText(from, was)
			} else {
				now = f.changedList(from, was)
			}
			must(!slices.EqualFunc(now, was, slices.Equal), "%s does not differ", f.path)
		}
		row = f.append(row, now)
	}
	return row, differs
}

func (f *field) changedText(s *stream, was [][]uint32) [][]uint32 {
	kept, more := s.number(), s.number()
	must(kept <= uint64(len(was)), "%s keeps %d", f.path, kept)
	added := f.more(s, more)
	must(len(added) == 0 || int(kept) == len(was) || added[0][0] != was[kept][0], "%s keeps more", f.path)
	return append(slices.Clone(was[:kept]), added...)
}

func (f *field) changedList(s *stream, was [][]uint32) [][]uint32 {
	z := s.number()
	grown := int64(z >> 1)
	if z&1 == 1 {
		grown = -grown - 1
	}
	n := int64(len(was)) + grown
	must(n >= 0 && uint64(n) <= f.most, "%s has %d", f.path, n)
	both := min(int64(len(was)), n)
	now := slices.Clone(was[:both])
	for at := int64(0); at < both; at++ {
		same := s.number()
		must(same <= uint64(both-at), "%s has %d the same", f.path, same)
		if at += int64(same); at < both {
			must(s.bit(), "element %d does not differ", at)
			now[at] = f.of.differing(s, was[at], map[string]int{})
		}
	}
	return append(now, f.more(s, uint64(n-both))...)
}

// spell spells a text or a list.
func (f *field) spell(elements [][]uint32) string {
	if f.of == nil {
		return strconv.Quote(string(bytesOf(elements)))
	}
	var texts []string
	for _, e := range elements {
		texts = append(texts, strings.TrimPrefix(f.of.text(e), "element"))
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// TestProtocolTextSufficesForTails reads the vectors of texts and lists.
func TestProtocolTextSufficesForTails(t *testing.T) {
	seen := map[string]int{}
	for word := range vectors(t, "quantize/testdata/golden_tail.txt") {
		s := parseShape(strings.ReplaceAll(word[1], "_", " "))
		got := ""
		fault := attempt(func() {
			whole := func(text string) []uint32 {
				from := &stream{b: unhex(text)}
				row := s.row(from)
				from.end()
				return row
			}
			switch word[0] {
			case "whole", "refuse":
				got = s.text(whole(word[2]))
			default:
				base, from := whole(word[2]), &stream{b: unhex(word[3])}
				must(from.bit(), "the same")
				got = s.text(s.differing(from, base, map[string]int{}))
				from.end()
			}
		})
		switch refused := strings.HasPrefix(word[0], "refuse"); {
		case refused != (fault != nil):
			t.Errorf("%v: %v", word, fault)
		case !refused && strings.ReplaceAll(got, " ", "_") != word[len(word)-1]:
			t.Errorf("%v means %s", word, got)
		}
		seen[word[0]]++
	}
	if fmt.Sprint(seen) != "map[change:7 refuse:6 refuse-change:9 whole:6]" {
		t.Errorf("only %v", seen)
	}
}

package switchoff

// tails switches off the rules of texts and lists in rows.
func tails() []mutation {
	const golden, junk, bits = "TestTailGolden", "TestTailIgnoresJunk", "TestTailBits"
	return []mutation{
		change("tails", "a text that is no UTF-8 is read", golden,
			"quantize/tail.go", "!utf8.Valid(o.textOf(row, &buf)) {", "len(o.textOf(row, &buf)) > maxText {"),
		change("tails", "a text or a list is longer than its bound", golden,
			"quantize/tail.go", "if n > uint64(o.tail.most) {", "if n > 1<<20 {"),
		change("tails", "a text or a list that does not differ is read as a change", golden,
			"quantize/tail.go", " || !o.legalTail(row) || !o.differs(before, row) {", " || !o.legalTail(row) {"),
		change("tails", "more bytes stay than there are", golden,
			"quantize/tail.go", "if kept > was || more", "if more"),
		change("tails", "a byte that stays is sent", golden,
			"quantize/tail.go", "if kept < was && more > 0 && textByte", "if kept > was && more > 0 && textByte"),
		change("tails", "a list shrinks below nothing", golden,
			"quantize/tail.go", "if r.Failed() || n < 0 || n > f.most {", "if r.Failed() || n > f.most {"),
		change("tails", "elements behind a length are captured", junk,
			"quantize/unsafe.go", "\t\tclear(o.lanesOf(lanes)[n*f.width:])\n", ""),
		change("tails", "a length in memory is believed", junk,
			"quantize/unsafe.go", "n := min(int(*(*uint16)(at)), f.most)", "n := int(*(*uint16)(at))"),
		change("tails", "memory behind a length is not cleared", junk,
			"quantize/unsafe.go", "\t\tclear(memory(at, f.start+uintptr(n)*f.stride, uintptr(f.most-n)*f.stride))\n", ""),
		change("tails", "a changed text is sent whole", bits,
			"quantize/tail.go", "for most := min(int(before[o.lane]), n);", "for most := 0;"),
		testedIn("nettest", change("tails", "a row with a text is packed ahead", "TestShortTextsOfManyEntities",
			"snapshot/record.go", "p.cache.packs && !s.schema.Tailed.Has(row):", "p.cache.packs:")),
	}
}

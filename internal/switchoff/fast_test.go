package switchoff

// fast switches off when deltas are encoded together, and what is kept of them. Only time depends on these, but for mistakes in them.
func fast() []mutation {
	const many = "TestRowsThatAreNotEncodedTogetherAreInPages"
	return []mutation{
		change("fast", "any number of rows goes together", many, "snapshot/delta_batch.go", " || rows.Count() > delta.MaxStreamRows", ""),
		change("fast", "rows of any number of lanes go together", many, "snapshot/delta_batch.go", "s.Widths[m.Lowest()] > delta.MaxStreamLanes", "s.Widths[m.Lowest()] > 64"),
		change("fast", "bodies of floats have one T' though one of them has another", "TestPagesOfLargeRecordsAreCutBehindAnyRecord", "snapshot/page_floats.go", "(near == 0 || near == t.of) && ", ""),
		change("fast", "the rest of a page of large records is written for one client", "TestPagesOfLargeRecordsAreCutBehindAnyRecord", "snapshot/page_cache.go", "few && !p.largeRecord(firstOf(w, of)) {", "few {"),
		change("fast", "what cannot go together is encoded together", many, "snapshot/page_cache.go", "\t\tcase together:\n", "\t\tcase together || true:\n"),
	}
}

// kernels switches off, for what is in assembly, what is asked before it is called: in memory that is not there a processor writes too.
func kernels() []mutation {
	const take, tokens = "TestTakeStaysInside", "TestWideTokensAreThePlainOnes"
	drawn := func(m mutation) mutation { // with rapid, which would write down how it failed
		m.args = "-rapid.nofailfile"
		return m
	}
	return []mutation{
		change("batches", "a number that is too large is read in a batch", "TestRowReaderEqualsDelta", "delta/row_reader.go", "now > uint64(row.Most[i]) || ", ""),
		change("batches", "a code is looked up before its bits are there", "TestRowReaderEqualsDelta", "delta/row_reader.go", "if size > n {", "if false {"),
		change("batches", "a row is read over what the assembly left of it", "TestRowReaderEqualsDelta", "delta/row_reader.go", "\t\t\tcopy(lanes[row.At:][:len(row.delta.lanes)], base[row.At:])\n", ""),
		change("batches", "movements overflow 32 bits in a batch", "TestRowReaderEqualsDelta", "delta/row_reader.go", "span == 1 && age*int64(slices.Max(m.Top[:])) < 1<<31", "span == 1"),
		change("batches", "rotations of floats are extrapolated straight in a batch", "TestRowReaderEqualsDelta", "delta/float_reader.go", "\t\tturns = spinTurns(age, span)\n", ""),
		change("kernels", "a run is copied that is cut off", "TestARunThatIsCutOffIsRefused", "quantize/columns.go", "\tif len(buf) < 4*len(lanes) {\n\t\treturn false\n\t}\n", ""),
		change("kernels", "rows are compared that are not there", "TestDifferingRowsNeedsItsMemory", "quantize/columns.go", "\ta, b = a[:n*r.size], b[:n*r.size]\n", ""),
		change("kernels", "values are written to what is not there", "TestValuesNeedTheirMemory", "quantize/columns.go", "\t_, _ = dst[n*size-1], lanes[(n-1)*stride+len(p.lanes)-1]\n", ""),
		change("kernels", "what is not there is snapped", "TestSnapRowsIsRowByRow", "quantize/columns.go", "\t_, _ = column[n*size-1], lanes[n*width-1]\n", ""),
		change("kernels", "takeWide takes more bodies than there is room for", take, "internal/kernel/column.go", "len(indexes) > MaxStreams || ", ""),
		change("kernels", "takeWide takes what is not held", take, "internal/kernel/column.go", "len(h.Base) < bits.OnesCount64(h.InBase)*n || ", ""),
		change("kernels", "findWide goes over lanes of 32 bits", "TestWiderLanesGoRowByRow", "delta/batch.go", "if d.lanes[i].bits > 31 {", "if d.lanes[i].bits > 32 {"),
		drawn(change("kernels", "goOnWide goes on for longer than float64 is exact", tokens, "delta/batch.go", " && uint64(v.Age) <= widest && ", " && ")),
		drawn(change("kernels", "goOnWide is left out where rows go on by another span", tokens, "delta/batch.go", "if age|span != 1 {\n\t\t\tfrom", "if age != 1 {\n\t\t\tfrom")),
		drawn(change("kernels", "FloatTokens cuts large distances off", "TestFloatColumnsEqualRowByRow", "delta/floats.go", "\t\t\tc.largeAt(n, first, v.Age, span, turns)\n", "")),
		change("floats", "a rotation goes on straight", "TestARotationOfFloatsGoesOnTurning", "delta/spin.go", "turns*span == age && turns <= mostTurns", "turns < 0"),
		change("floats", "a rotation turns by parts of a step", "TestOtherAgesOfARotationAreStraight", "delta/spin.go", "turns*span == age && turns <= mostTurns", "turns <= mostTurns"),
		testedIn("delta", change("floats", "any four floats are a rotation", "TestRotationsOfFloatsByName", "quantize/extrapolate.go", "o.extrapolate != 0 || o.path != in+name", "o.extrapolate != 0 || i == 0 && o.path != in+name")),
		change("floats", "a far previous baseline has no class", "TestGoldenDiffer", "delta/delta.go", "\tcase known && span == farSpan:\n", "\tcase known && span < 0:\n"),
		drawn(change("kernels", "aimWide and partsWide take every rotation for one that goes straight on", tokens, "delta/batch.go", "int64(bitOf(age|span == 1))", "1")),
	}
}

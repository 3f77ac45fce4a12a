package switchoff

// flows switches off what a client's run without a scan has to have looked at (docs/adr/0015).
func flows() []mutation {
	const same, came = "TestAFlowIsARun", "TestAFlowNoticesWhoCame"
	const again = "TestARunThatIsLikeTheOneBefore"
	return []mutation{
		change("flows", "nobody has come", came, "ecs/flow.go", "sum != w.count()", "false"),
		change("flows", "what is not overwritten was not written to", "TestNobodyWritesIsAFlow",
			"ecs/flow.go", "return at == t.length || t.same(at, t.length)", "return true"),
		change("flows", "what does not travel was not written to", same,
			"ecs/flow.go", "!t.sameSpared(s.from, s.to)", "false"),
		change("flows", "what was written to rows all over a table is overwritten unseen", same,
			"ecs/mixed.go", "a.straysOf(c, d, slot+k, order[k:])", ""),
		change("flows", "rows that are written together are looked at before, two by two", "TestOverlayIsPut",
			"ecs/unsafe.go", " || *(*uint64)(unsafe.Add(live, 16)) != z", ""),
		change("flows", "who is written together with another has another value", "TestOverlayIsPut",
			"ecs/unsafe.go", " || d == z && b>>32 == y>>32", ""),
		change("flows", "rows that are written together are looked at before", "TestOverlayIsPut",
			"ecs/unsafe.go", "*(*T)(live) == *(*T)(kept) && *(*T)(from)", "*(*T)(from)"),
		change("flows", "lanes of one table lie in one way", "TestLanesOfOneTableLieInTwoWays",
			"ecs/column.go", "if c.placed != mask {", "if c.placed == 0 {"),
		change("flows", "who had the value has another", same, "ecs/mixed.go", "*at = at.Without(c.row)", "_ = at"),
		change("flows", "a part of a berth has its piece to itself", same, "ecs/stretch.go", "b.low = -1\n\t\t\tcase", "case"),
		change("flows", "whoever lives at the same places is who was there", again,
			"ecs/repeat.go", "s.Generation != l.berth.generation", "false"),
		change("flows", "who comes again has the rows it had", again, "ecs/repeat.go", "s.Mask != l.berth.mask", "false"),
		change("flows", "nobody comes that did not come before", again,
			"ecs/repeat.go", "spans[0] != (snapshot.Span{First: l.berth.index, Count: l.berth.n})", "spans[0].First != l.berth.index"),
		change("flows", "the lists are those of the run before, whatever was listed since", same,
			"ecs/spare.go", "w.sparing, a.writing.lone, a.legs = false, false, a.legs[:0]", "w.sparing, a.legs = false, a.legs[:0]"),
		change("flows", "what changed in the run before has changed again", same,
			"ecs/repeat.go", "d.first, d.rows, d.detail = first, 0, 0", "d.first = first"),
		change("flows", "what was left out goes by itself", same,
			"ecs/write.go", "if a.watch.sparing { // it was", "if false { // it was"),
	}
}

package switchoff

// pages switches off when a tick of a page may be named, what has to be so that a record may be in a list, and when the text of a page is copied.
func pages() []mutation {
	const complete, twins = "TestACompleteTickIsOneOfWhichAllIsAcknowledged", "TestSharedPagesChangeNoBit"
	const rows = "TestRule2EntityWithOtherRowsSinceItsListIsUnlisted"
	const leaks = "TestNothingHiddenChangesAByte"
	const parts = "TestPagesOfLargeRecordsAreCutBehindAnyRecord"
	const alike = "TestRule3BothEndsDecideAlikeAboutTheSecondVersion"
	return []mutation{
		change("pages", "a tick of which one packet is acknowledged is complete", complete,
			"snapshot/page_refs.go", "g.slot); waits == 0 {\n\t\treturn of", "g.slot); waits >= 0 {\n\t\treturn of"),
		change("pages", "a tick stays complete when more of it is sent", complete,
			"snapshot/page_refs.go", "if group && (g.newestComplete", "if !group && (g.newestComplete"),
		change("pages", "a tick from before a resync is complete", complete,
			"snapshot/page_refs.go", "for t := now; t > g.resyncedAt && now-t", "for t := now; now-t"),
		change("pages", "N is however far from R", complete,
			"snapshot/page_refs.go", "t > g.resyncedAt && g.ref-t <= format.MaxNear;", "t > g.resyncedAt && g.ref-t <= format.MaxNear<<20;"),

		change("pages", "an older N than the one there is takes its place", complete,
			"snapshot/page_refs.go", "g.ref-t >= tick.Tick(g.distance) {", "false {"),
		change("pages", "N is near R however straight a page flies", "TestAPageThatFliesStraightHasADistantN",
			"snapshot/page_distance.go", "d.distance = farDistance", "d.distance = nearDistance"),
		change("pages", "N is far from R however a page turns", "TestAPageThatTurnsHasANearN",
			"snapshot/page_distance.go", "d.far, d.gain, d.cost = !d.far", "d.far, d.gain, d.cost = true"),
		change("pages", "pages of few records try another N", "TestAPageOfFewRecordsTriesNothing",
			"snapshot/page_distance.go", "if n < fewRecords {", "if n < 1 {"),
		change("pages", "a list is continued over a page that forgot R", "TestAListEndsBeforeAPageThatForgotR",
			"snapshot/list.go", "!p.v.recent.has(l.ref) || ", ""),
		change("pages", "no more ticks are remembered where acknowledgements take long", "TestAPageRemembersTicksInBoundedMemory",
			"snapshot/page_refs.go", " || ticks < tick.Tick(n) {", " || ticks > 0 {"),
		change("pages", "ticks from before a resync are named", "TestNothingOfBeforeALossIsGuessed",
			"snapshot/acked.go", "\t\tv.pages[w].forget(v.store.tick)\n", ""),

		change("pages", "N is named out of the window", alike,
			"snapshot/list.go", "; p.s-g.near >= p.v.store.cfg.Window {", "; false {"),
		testedIn("snapshot", change("pages", "the client reads lists of ticks from before its loss", "TestAListOfATickFromBeforeALossHasNoBaseline",
			"internal/replica/decode.go", "if l.ref <= r.lostAt || near > 0 && l.near <= r.lostAt {", "if false {")),

		change("pages", "who got other rows since N is copied", twins,
			"snapshot/page_cache.go", "if v.otherRows(firstOf(w, rest), most) {", "if most < 0 {"),
		change("pages", "members that got other rows since N are copied", twins,
			"snapshot/page_cache.go", "v.rowsSincePage(w) <= cmp", "true || v.rowsSincePage(w) <= cmp"),
		change("pages", "who got other rows since R is in a list", rows,
			"snapshot/write.go", "; v.otherRows(index, base) {", "; false {"),
		change("pages", "who got other rows since N is in a list", rows,
			"snapshot/write.go", "return p.near, !p.v.otherRows(index, p.near)", "return tick.None, true"),
		change("pages", "a hidden component that comes or goes takes an entity out of a list", leaks,
			"snapshot/ack_pages.go", "shape = v.life(index).shapedAt //", "_ = v.life(index).shapedAt //"),
		change("pages", "what is hidden of an entity is copied", twins+"/personal",
			"snapshot/page_cache.go", "if !p.v.usuallySeen(w, of) {", "if false {"),
		change("pages", "what is lost in its own tick is copied in it", "TestRule1LostPartOfACutPageWaits",
			"snapshot/page_cache.go", "if v.part > 0 {", "if false {"),

		change("pages", "a page has records of the page that had its slot before", "TestAPageThatTakesASlotHasNoRecords",
			"snapshot/seen.go", "\t\tv.recent.dropPage(g.slot)\n", ""),
		change("pages", "the states of what a client saw are forgotten at once", "TestAVacantPageIsForgottenAfterTheWindow",
			"snapshot/seen.go", "went < v.sent.since() && v", "went < v.sent.since() || v"),
		change("pages", "the states of what a client saw are never forgotten", "TestAClientCostsWhatItSees",
			"snapshot/seen.go", "if !v.forgettable(g, bitOf(index), at) {", "if v.forgettable(g, bitOf(index), at) || !v.forgettable(g, bitOf(index), at) {"),
		change("pages", "the states of what packets on their way name are forgotten", "TestAVacantPageIsForgottenAfterTheWindow",
			"snapshot/seen.go", "went < v.sent.since() && v", "v.sent.since() >= 0 && v"),
		change("pages", "the groups of lost packets are dropped with those of acknowledged ones", "TestLostPacketsHoldLittleMemory",
			"snapshot/sent.go", "if p.first = to; p.acked {", "if p.first = to; !p.pending {"),
		change("pages", "a lost packet is remembered until its slot is needed", "TestLostPacketsHoldLittleMemory",
			"snapshot/sent.go", "return !p.pending && (t-p.tick", "return false && (t-p.tick"),
		change("pages", "a list goes on over a page with records of R", "TestAListEndsBeforeAPageThatHasRecordsOfR", "snapshot/list.go", " || g.newest >= l.ref && p.v.recent.of(l.ref, g.slot) != 0:", ":"),
		change("pages", "a list goes on over a page without room without a code", "TestAPageWithoutRoomKeepsItsPlaceInTheList", "snapshot/list.go", "\t\tp.passPage(g, w) // pages behind it may find room\n", ""),
		change("pages", "a list goes on over a page that rests without a code", "TestAListTellsOfAPageThatRests", "snapshot/list.go", "\t\tl.none++\n", ""),

		text("other entities are written", "of", " ^ k.of*0x9E3779B97F4A7C15"),
		text("other entities have a record of R", "list", ""),
		text("other entities have a record of N", "nearOf", ""),
		text("R is another", "ref", " ^ uint64(k.ref)<<20"),
		text("N is another", "near", " ^ uint64(k.near)<<8"),
		text("T' is another", "span", " ^ uint64(k.span)").by("TestRule3PagesOfDifferentSecondVersionsShareNoText"),
		change("pages", "a page is cut behind any four", "TestAPageIsCutAtACoarsePlace",
			"snapshot/list.go", "end-place >= cutBits", "end-place >= 0"),
		change("pages", "a text is of the tick before", twins,
			"snapshot/page_cache.go", "c.tick != p.s {", "c.tick == tick.None {"),
		change("pages", "the rest of a page of large records is that of any page", parts,
			"snapshot/page_cache.go", "\tif of != *k {\n", "\tif false {\n"),
		change("pages", "a full packet is as long as it comes", parts,
			"snapshot/write.go", "\t\tn = len(dst)\n", ""),
		change("pages", "a four that is cut is as in the text", parts,
			"snapshot/list.go", "int(t.spans[at-1].symbol) != symbol {", "t.spans[at-1].symbol == 0 {"),
		change("pages", "a page that is cut in its last four has an end", parts,
			"snapshot/list.go", "if left != 0 {\n\t\tp.symbol(", "if true {\n\t\tp.symbol("),
		change("pages", "R of large records is any tick", "TestRIsAnEvenTickForLargeRecords",
			"snapshot/page_refs.go", "g.preferEven && t%2 != 0", "false && t%2 != 0"),
	}
}

// text switches off that the text of a page is another where a field of its key is.
func text(off, field, hashed string) mutation {
	m := change("pages", "a text is copied though "+off, "TestSharedPagesChangeNoBit", "snapshot/page_cache.go",
		"c.texts[n-1].pageKey == *k {", "func() bool { o := c.texts[n-1].pageKey; o."+field+" = k."+field+"; return o == *k }() {")
	if hashed != "" {
		m.edits = append(m.edits, edit{"snapshot/page_cache.go", hashed, ""})
	}
	return m
}

// by is a mutation that another test misses.
func (m mutation) by(test string) mutation {
	m.test = test
	return m
}

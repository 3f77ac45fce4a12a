package switchoff

// rights switches off rules about what clients write, of package authority.
func rights() []mutation {
	const corrections, server, client = "TestCorrectionsOfTheAuthorCount", "authority/server.go", "authority/client.go"
	played := func(off, test, file, old, with string) mutation {
		return testedIn("nettest", change("rights", off, test, file, old, with))
	}
	return []mutation{
		played("a right that was taken and given back is the same", corrections, server, "\t\tr.anew = r.anew.Union(r.told.Intersect(s.writers.of(!h.Named, h.Named)))\n", ""),
		played("a write under an older number counts", corrections, server, "h.since[s.writers.place[row]] > e.ID.Generation || ", ""),
		played("Correct corrects nothing", corrections, server, "h.anew = h.told\n", "_ = h\n"),
		played("what the server writes is the others' alone", corrections, server, "if row := m.Lowest(); !slices.Equal(", "if row := m.Lowest(); false && !slices.Equal("),
		played("a client overwrites what the game wrote before the capture", corrections, server, " || read != nil && s.gameWrote(h, row, read)", ""),
		played("what was written before a correction is taken for written after it", corrections, "ecs/apply_local.go", "if state.reverted.Has(c.row) {", "if false {"),
		played("a correction of a component corrects them all", "TestAWriteOfOneComponentCorrectsNoOther", server,
			"h.anew, h.wrote = h.anew.With(row), h.wrote.With(row)\n\treturn true", "h.anew, h.wrote = h.told, h.wrote.With(row)\n\treturn true"),
		played("a write over a client's right is not reported", "TestWritesOverAClientsRightAreReported", server, "\ts.reportWrites(c, h)\n", ""),
		played("a release overtakes the last write", "TestReleaseFollowsTheLastWrite", client, ", &m, netcode.About(entity))", ", &m)"),
		played("a release is lost where the entity leaves sight", "TestReleaseGivesUpWhatTheClientKnew", client, "if rows.IsZero() { // The entity may", "if false { // The entity may"),
		played("a release gives up what was granted later", "TestReleaseGivesUpWhatTheClientKnew", server, "m.Number >= h.granted || ", "true || "),
		change("rights", "a client asks the game without end", "TestAsksAndReleasesPileUpNowhere", server, "case !c.mayAsk(s.Tick()):", "case false:"),
		change("rights", "rights that are over keep their places", "TestAsksAndReleasesPileUpNowhere", "authority/rights.go", "\tr.free = append(r.free, i)\n", ""),
		change("rights", "a client writes under numbers that it was not told", "TestCase44WriteEverything", "authority/rights.go", "h.first <= id.Generation && id.Generation <= h.number", "h.first <= id.Generation"),
		played("corrections count as entities that the client made", "TestCorrectionsAreNoEntities", "internal/replica/replica.go", "\t\treturn nil // each life is one that the guard knows\n", ""),
		change("rights", "a despawn of what the client does not write takes memory", "TestDespawnsUnderAGuardBeginNoLife", "internal/replica/replica.go", "if r.guard != nil && r.find(id.Index, id.Generation) < 0 {", "if false {"),
		played("the order of rights tells of hidden entities", "TestNothingHiddenChangesADatagram", server,
			"return cmp.Or(cmp.Compare(x.Index, y.Index), cmp.Compare(x.Generation, y.Generation))", "return 0 * cmp.Or(cmp.Compare(x.Index, y.Index), 1)"),
		change("lists", "a collection that leaves sight stays in the queue", "TestAQueueOfCollectionsKeepsItsOrder", "collections/reader.go", "r.queue[s.queued-1], s.queued = nil, 0", "s.queued = 0"),
		change("lists", "a client that is twice in a list gets a message twice", "TestRecipients", "internal/endpoint/send.go", "case !local && l.list == e.lists:", "case false:").inFolder("."),
	}
}

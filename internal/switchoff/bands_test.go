package switchoff

// distanceBands switches off what holds of components with distance bands.
func distanceBands() []mutation {
	const exact, distance = "TestBandsAreExact", "TestBandsFollowTheDistance"
	game := func(what, file, old, with string) mutation {
		return testedIn("nettest", change("bands", what, exact, file, old, with))
	}
	return []mutation{
		game("a band does not wait for its turn", "snapshot/bands.go", "b.every > 1 && !s.Turn(", "b.every > 1<<30 && !s.Turn("),
		game("a band stays where its component went", "snapshot/bands.go", "\t\t\t\ts.Remove(id, b.row)\n", "\t\t\t\t_ = id\n"),
		game("a hidden component is seen in a band", "snapshot/format/bands.go", "m = m.Minus(b.Family)\n\t\t}\n\t}\n\treturn m\n}\n\n// Band", "m = m.Without(b.Row)\n\t\t}\n\t}\n\treturn m\n}\n\n// Band"),
		game("a client's world has no component for a band", "internal/replica/replica.go", "e.Mask = r.schema.Fold(l.mask)", "e.Mask = l.mask"),
		game("worlds are compared without bands", "ecs/compare.go", "c.schema.Band(bands, row))", "min(-1, c.schema.Band(bands, row)))"),
		game("the lanes of a band are taken for those of its component", "internal/replica/ranges.go", "return r.bands.fine(band, r.newestRow(h, band))", "return r.newestRow(h, band)"),
		testedIn("interest", change("bands", "a lifetime begins with all bands", "TestALifetimeBeginsWithoutBands", "snapshot/visibility.go", "v.hideRows(id.Index, v.overrides.usual.Union(", "v.hideRows(id.Index, Mask{}.Union(")),
		testedIn("snapshot", change("bands", "clients with other rows share the text of a page", "TestClientsWithOtherRowsShareNoText", "snapshot/page_cache.go", "k.own = p.v.number", "k.own = 1")),
		change("bands", "an entity goes to and fro at the border of a band", distance, "interest/bands.go", "begins *= b.config.Keep", "begins *= 1"),
		change("bands", "an owner gets a band", "TestOwnersAndTheExactGetNoBand", "interest/bands.go", "grid.store.Owner(id) == client || ", ""),
		testedIn(".", change("bands", "the hash does not tell that a component is a band", "TestBandsAreInTheHash", "internal/registry/registry.go", "\tr.describeBands()\n", "")),
		change("bands", "a recording of a game with bands is not read", "TestRecordingsOfGamesWithBands", "record/format.go", "return entry[:end], ", "return entry, "),
		change("bands", "a saved game holds the bands fast", "TestSavedGamesKnowNoBands", "record/save.go", "rows.Has(row) && !schema.Coarse.Has(row) {", "rows.Has(row) {"),
		change("bands", "a file gives an entity a band", "TestASavedBandIsRefused", "record/format.go", "\t\tif !schema.Coarse.Has(row) {\n\t\t\there[", "\t\tif row >= 0 {\n\t\t\there["),
		change("bands", "a band's turn is a change of its component", "TestBandsAreNoComponents", "snapshot/ownership.go", "s.changedRows(id, s.schema.Coarse.Not())", "s.changedRows(id, AllRows())"),
		change("bands", "an entity keeps its band out of sight", "TestSightBeginsWithoutHysteresis", "interest/interest.go", "was := v.Sight(id)\n\trows, weight := a.policy.Sees(client, id, was)", "was := v.Sight(id)\n\trows, weight := a.policy.Sees(client, id, snapshot.AllRows().Without(0).Without(1))"),
		testedIn(".", change("bands", "clients write a component with bands", "TestBandsAreCheckedAtRegistration", "authority/authority.go", "w.byPlan[plan] != ServerWrites {", "w.byPlan[plan] > NamedWrites {")),
		change("bands", "nobody is told that nobody measures distances", "TestBandsThatNobodyMeasuresAreToldOf", "server_frame.go", "if s.asksBands && ", "if false && "),
	}
}

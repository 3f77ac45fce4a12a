package switchoff

// wholeRows switches off what packets that are copied for several clients must not change.
func wholeRows() []mutation {
	return []mutation{
		change("whole rows", "what was shown by a copied packet is owed no despawn", "TestAWholeRowThatWasShownIsOwedADespawn",
			"snapshot/round.go", "v.tenants[index].shown = v.tenants[index].generation\n\t\tv.stats.Spawns++", "_ = index\n\t\tv.stats.Spawns++"),
		change("whole rows", "what was hidden and shown between two packets is copied all the same", "TestWhatCameIntoSightBetweenPacketsIsNotCopied",
			"snapshot/round.go", "w.sights != v.sights ||", ""),
		change("whole rows", "a client that may not see a component gets what others get", "TestHiddenComponentsAreNotCopied",
			"snapshot/round.go", "len(v.own.rows) == 0 && v.own.latest <= v.store.tick &&", ""),
		change("whole rows", "what is due last waits where ticks are cut short", "TestRoundsDoNotStarveWhatIsDueLast",
			"snapshot/round.go", "!v.whole.behind && ", ""),
		change("whole rows", "who is owed another thing gets what others get", "TestSharedPagesAndDesksChangeNoBit/whole,_personal",
			"snapshot/round.go", "if due&^owed[w] != r.due[w] {", "if due&^owed[w]&^r.due[w] != 0 {"),
	}
}

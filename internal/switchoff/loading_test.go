package switchoff

// loadings has the rules of levels that all clients load.
func loadings() []mutation {
	return []mutation{
		change("loading", "a level counts before its state is there", "TestAllHaveLoaded",
			"loading/level.go", "if l.done && !l.told && l.stateOf == l.round {", "if l.done && !l.told {"),
		change("loading", "the state of a level is told at once", "TestAllHaveLoaded",
			"loading/level.go", "&levelState{l.round}, netcode.AfterAllState())", "&levelState{l.round})"),
		change("loading", "a done of an earlier level counts", "TestPatienceForALevel",
			"loading/level.go", "l.done = l.done || l.round == round", "l.done = l.done || l.round >= round"),
		change("loading", "a done of an earlier connection counts", "TestReturnToALevel",
			"loading/level.go", "l.done = l.done || l.round == round", "l.done = true"),
		change("loading", "a joiner is not told the level", "TestLeaversAndJoinersOfALevel",
			"loading/loading.go", "loading++; l.untold = true;", "loading++;"),
		change("loading", "patience has no end", "TestPatienceForALevel",
			"loading/level.go", "len(late) == 0 || l.server.Tick() >= l.until", "len(late) == 0"),
		change("loading", "all is called in each frame", "TestAllHaveLoaded",
			"loading/level.go", "		l.open = false\n", ""),
	}
}

package switchoff

// memory switches off what keeps memory bounded: what those who have left shared, what the largest tick of a game needed, and
// what the other end says without end.
func memory() []mutation {
	const bound = "TestPayloadsBeyondABoundAreMalformed"
	visits := func(off, test, file, old, with string) mutation {
		m := change("memory", off, test, file, old, with)
		m.in = "nettest"
		return m
	}
	return []mutation{
		visits("a client that has left keeps what it shared", "TestCase60VisitsLeaveNoMemory", "server_session.go", "\t\tc.view.Close()\n", ""),
		visits("what OnDisconnect says of a client to the interest stays", "TestCase60NothingStaysOfVisitors",
			"server_session.go", "\ts.calls.drop(client, reason)\n\tif s.interest != nil {", "\ts.calls.drop(client, reason)\n\tif false {"),
		visits("each tick keeps what it once needed", "TestCase61HistoriesStayAsTheyAre", "snapshot/past.go", "\t\tb.leave()\n", ""),
		change("memory", "what is shared is made anew where some is spare", "TestSharedListsAndDesksChangeNoBit",
			"snapshot/entrypool.go", "if len(p.spare) == 0 {", "if true {\n\t\tp.spare = nil"),
		change("memory", "a snapshot spawns at any index", bound, "snapshot/read.go", "\t\tif index >= r.most {\n", "\t\tif false {\n"),
		change("memory", "a snapshot despawns at any index", bound, "snapshot/read.go", "if index >= r.most && (r.guard == nil || index >= MaxEntities) {", "if false {"),
		change("memory", "an index that there cannot be is taken for one too many", bound, "snapshot/most.go", "if index >= MaxEntities {", "if false {"),
		change("memory", "a tick has any number of parts", bound, "snapshot/read.go", "if part >= maxParts {", "if false {"),
		change("memory", "a list is of any part", bound, "snapshot/read.go", "part >= maxParts || near > mostNear", "near > mostNear"),
		change("memory", "a server serves a resync that nobody asked for", bound,
			"snapshot/read.go", "r.stage.epoch == 0 || int16(r.stage.epoch-r.wanted) > 0", "r.stage.epoch == 0"),
		change("memory", "an index has generations without end", "TestReplicaTakesNoMoreLivesThanItMay",
			"snapshot/most.go", "if r.numbers.used+fresh > mostLivesEach*int(r.most) {", "if false {"),
		change("memory", "a message has any number of pieces", "TestCase11HostilePieces", "peer/pieces.go", "count > MaxFragments || ", ""),
		change("memory", "a client keeps any number of rights", "TestClientEndsTheConnectionAtTooManyRights",
			"authority_client.go", "case !known && len(w.rights) >= w.most:", "case false:"),
		change("memory", "rights of what is not there are looked at each tick", "TestRightsOfWhatIsNotThereAreNotLookedAt",
			"authority_client.go", "if holds && !h.listed {", "if !h.listed {"),
		change("memory", "a server has any number of entities", "TestServerSpawnsNoMoreThanMaxEntities",
			"snapshot/store.go", "if len(s.gens) >= s.cfg.MaxEntities {", "if len(s.gens) >= MaxEntities {"),
	}
}

package switchoff

// memory switches off the bounds of memory: of clients that have left, of the history of a client, and of hostile input.
func memory() []mutation {
	const bound = "TestPayloadsBeyondABoundAreMalformed"
	within := func(folder, off, test, file, old, with string) mutation {
		m := change("memory", off, test, file, old, with)
		m.in = folder
		return m
	}
	heavy := func(m mutation) mutation { // Few visitors leave too little.
		m.args = "-heavy"
		return m
	}
	return []mutation{
		heavy(within("nettest", "an interest remembers clients that OnDisconnect named", "TestCase49NothingStaysOfVisitors",
			"handshake.go", "\ts.door.Players.Forget(client)\n\ts.leaveInterest(client)", "\ts.door.Players.Forget(client)")),
		heavy(within("nettest", "sessions that are over are remembered without end", "TestCase49VisitsLeaveNoMemory",
			"internal/peer/handshake.go", "\tp.ring[p.next] = ", "\tp.ring = append(p.ring, pastSession{}, pastSession{}, pastSession{})\n\tp.ring[p.next] = ")),
		within("nettest", "each tick keeps its largest memory", "TestCase61HistoriesStayAsTheyAre", "internal/replica/versions.go", "\t\th.memory.leave(b)\n", ""),
		change("memory", "a snapshot spawns at any index", bound, "internal/replica/decode.go", "\t\tif index >= r.most {\n", "\t\tif false {\n"),
		change("memory", "a snapshot despawns at any index", bound, "internal/replica/decode.go", "if index >= r.most && (r.guard == nil || index >= format.MaxEntities) {", "if false {"),
		change("memory", "an index that there cannot be is taken for one too many", bound, "internal/replica/decode.go", "if index >= format.MaxEntities {", "if false {"),
		change("memory", "a list is of any page", bound, "internal/replica/decode.go", " || skip >= format.MaxPages {", " {"),
		change("memory", "a snapshot serves a resync that nobody asked for", bound,
			"internal/replica/decode.go", "epoch == 0 || r.observer == nil && int16(epoch-r.wanted) > 0", "epoch == 0"),
		change("memory", "an index has generations without end", "TestReplicaTakesNoMoreLivesThanItMay",
			"internal/replica/replica.go", "if used > most {", "if false {"),
		change("memory", "a message has any number of pieces", "TestCase11HostilePieces", "internal/peer/receive_queue.go", "count > MaxFragments || ", ""),
		change("memory", "a client keeps any number of rights", "TestClientEndsTheConnectionAtTooManyRights",
			"authority/client.go", "!rows.IsZero() && len(w.rights) >= most {", "!rows.IsZero() && len(w.rights) < 0*most {"),
		{rule: "memory", off: "rights to unknown entities are looked at each tick", test: "TestRightsToUnknownEntitiesCostNothing", edits: []edit{
			{"authority/client.go", "if known && !h.listed {", "if !h.listed {"},
			{"authority/client.go", "if !w.knows(id) {\n\t\treturn false", "if !w.knows(id) {\n\t\treturn true"},
			{"authority/client.go", "if h.rows.IsZero() || !w.knows(id) {", "if h.rows.IsZero() {"},
		}},
		within(".", "a server has any number of entities", "TestServerSpawnsNoMoreThanMaxEntities",
			"snapshot/store.go", "if len(s.gens) >= s.cfg.MaxEntities {", "if len(s.gens) >= MaxEntities {"),
	}
}

package switchoff

// promises switches off what games are told: of panics, of what nobody may write or drive twice, and how a host's player joins.
func promises() []mutation {
	const panics, answers = "TestOnErrorGetsThePanicOfAHandler", "TestUnknownQuestionsAreRefused"
	return []mutation{
		testedIn(".", change("promises", "the log of a panic has no stack", "TestCase15HandlerPanics",
			"internal/report/report.go", `"stack", stack)`, `"stack", stack[:0])`)),
		change("promises", "OnError gets no stack", panics, "internal/endpoint/end.go", "= debug.Stack(), report.PanickedAt()", "= debug.Stack()[:0], report.PanickedAt()").inFolder("."),
		testedIn(".", change("promises", "OnError is not told of a panic", panics,
			"internal/report/report.go", "+stack)\n\t}\n\tfor _, f := range r.OnError {", "+stack)\n\t}\n\tfor _, f := range r.OnError[:0] {")),
		change("promises", "a component that a client adds is reported when the server adds it", "TestComponentAddedLocallyThenByTheServer",
			"ecs/apply_local.go", "\tfor ; !rows.IsZero(); rows = rows.Rest() {\n\t\tl.tracker.note(Problem{\n\t\t\tKind: LocallyAdded", "\tfor ; rows != rows; rows = rows.Rest() {\n\t\tl.tracker.note(Problem{\n\t\t\tKind: LocallyAdded"),
		change("promises", "an open query at a server is not reported", "TestLockedServerWorldIsReported",
			"ecs/tracker.go", "if locked && !tr.locked {", "if false {"),
		change("promises", "an open query is reported in each tick", "TestLockedServerWorldIsReported",
			"ecs/tracker.go", "if locked && !tr.locked {", "if locked {"),
		change("promises", "OnSpawn takes the place of Tick.Spawned", "TestOnSpawnKeepsTheFunctionOfTick",
			"systems/server.go", "\t\tif before != nil {\n", "\t\tif false {\n"),
		change("promises", "two groups drive one server", "TestTwoGroupsForOneEndAreRefused",
			"systems/system.go", "if !orderOf(end).attach() {", "if !orderOf(end).attach() && false {"),
		change("promises", "a loop has no frames", "TestRunnerRefusesARateOfNoFrames", "systems/runner.go", "\tif rate < 1 {\n\t\tpanic(", "\tif false {\n\t\tpanic("),
		change("promises", "a host's player joins when the host is made", "TestHostJoinsInItsFirstFrame",
			"systems/host.go", "steps.OfServer(server).CanHost(client); err != nil {\n\t\treturn nil, err\n\t}\n", "steps.OfServer(server).CanHost(client); err != nil {\n\t\treturn nil, err\n\t}\n\tif err := netcode.Host(server, client); err != nil {\n\t\treturn nil, err\n\t}\n"),
		change("promises", "a server's log does not tell how a client's protocol differs", "TestWrongProtocolNamesTheFirstDifference",
			"internal/handshake/door.go", "difference = d.meant(hello.Digest).Difference(hello.Digest)", "difference = \"\"").inFolder("."),
		change("promises", "the clock is sampled by each packet", "TestSyncSamplesATickOnce",
			"tick/sync.go", "if s.seen.filled > 0 && server <= s.newest && s.newest-server < Tick(s.rate) {", "if false {"),
		change("promises", "a question of an unknown type has no answer", answers,
			"internal/endpoint/incoming.go", "if a.Header.Flags&wire.FlagCall != 0 {\n\t\te.postRefusal(e.from, peer.Post{Stage: a.Header.Stage, Channel: a.Channel, Call: a.Call}, errNobody)", "if false {\n\t\te.postRefusal(e.from, peer.Post{Stage: a.Header.Stage, Channel: a.Channel, Call: a.Call}, errNobody)").inFolder("."),
	}
}

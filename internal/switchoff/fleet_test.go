package switchoff

// fleets has the rules of servers in a fleet.
func fleets() []mutation {
	const (
		member = "fleet/member.go"
		run    = "fleet/run.go"
		front  = "fleet/supervisor/front.go"
	)
	return []mutation{
		change("fleet", "a ticket is good for any match", "TestATicketIsGoodForItsMatchAlone",
			member, `m.any || ticket.Match == "" || m.matches.byID[ticket.Match] != nil:`, "true:"),
		change("fleet", "new players join a drain", "TestADrainTakesNoNewPlayers",
			member, "m.drain != nil && !m.returns(a.User):", "false:"),
		change("fleet", "a player that is away may not come back in a drain", "TestADrainTakesNoNewPlayers",
			member, "!m.returns(a.User):", "true:"),
		change("fleet", "a drain does not wait for players", "TestADrainTakesNoNewPlayers",
			member, "m.players == 0 || m.server.Tick() >= m.drain.until {", "true {"),
		change("fleet", "a player that could not be moved stays", "TestADrainMovesPlayers",
			member, "		delete(m.drain.asked, f.client)\n", ""),
		change("fleet", "a move that fails late is not repeated", "TestAMoveThatFailsLateIsRepeated",
			member, "	m.drain.asked[f.client] = m.server.Tick() + m.ticks(moveTime)\n", ""),
		change("fleet", "a match without players goes on", "TestAMatchWithoutPlayersIsOver",
			"fleet/matches.go", "p.players == 0 && p.since <= since", "false"),
		change("fleet", "a player that is faster than its match does not count", "TestAPlayerIsFasterThanItsMatch",
			member, "			m.matches.enter(client, m.MatchOf(client), m.server.Tick())\n", "			_ = client\n"),
		change("fleet", "matches are not bounded", "TestMatchesAreBounded",
			"fleet/matches.go", "len(m.all) >= MaxMatches || ", ""),
		change("fleet", "a server is healthy whose ticks stand still", "TestTheFleetHearsOfAServer",
			run, "if tick := c.news.tick.Load(); tick == c.tick {", "if tick := c.news.tick.Load(); false {"),
		change("fleet", "failed calls are repeated at once", "TestCallsAreRepeated",
			run, "c.pause = min(max(2*c.pause, firstPause), lastPause)", "c.pause = time.Millisecond"),
		change("fleet", "a server without its lease goes on until it has told all", "TestAServerWithoutItsLeaseStops",
			run, "		cancel() // No further frame: another server may have the matches.\n", ""),
		change("fleet", "the match of an allocation is told with each change", "TestTheLifeOfAGameServer",
			"fleet/agones/lifecycle.go", "	if id == *seen {", "	if false {"),
		change("fleet", "a line without a reader ends a server", "TestServersOutliveTheirSupervisor",
			"fleet/local/local.go", "	outliveReader()\n", "").inFolder("fleet/supervisor"),
		change("fleet", "events are heard twice", "TestALinkToTheSupervisor",
			"fleet/local/local.go", "if n <= l.heard.Load() {", "if n == 0 {"),
		change("fleet", "anybody may ask who knows no key", "TestTheKeyOfBackends",
			front, "!ok || subtle.ConstantTimeCompare(sum[:], f.bearer[:]) != 1", "!ok || subtle.ConstantTimeCompare(sum[:], f.bearer[:]) > 1"),
		change("fleet", "a page of another name asks", "TestRequestsThatAreRefused",
			front, "!isLocal(at.Hostname()) || ", "at == nil || "),
		change("fleet", "requests of a host are not limited", "TestRequestsAreLimitedByHost",
			front, "if !f.limits.take(r.RemoteAddr) {", "if false {"),
		change("fleet", "connections of a host are not limited", "TestConnectionsAreLimitedByHost",
			"fleet/supervisor/limit.go", "if load >= hostConnections {", "if false {"),
	}
}

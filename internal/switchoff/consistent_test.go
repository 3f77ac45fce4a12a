package switchoff

// wholeTicks switches off rules of package consistent.
func wholeTicks() []mutation {
	const torn, goes = "TestTheWorldIsOneTick", "TestShortBudgets"
	return []mutation{
		change("consistent", "a claim does not name the packets on their way", torn,
			"consistent/server.go", "own.need(back)", "_ = back"),
		change("consistent", "a claim is made while state waits", torn,
			"consistent/server.go", "v.Wrote() > f.claimed && !v.Pending()", "v.Wrote() > f.claimed"),
		testedIn("consistent", change("consistent", "packets with despawns are not named", torn,
			"snapshot/acked.go", "return v.despawnOwed.has(index) && p.tick >= v.lifetimes[index].ended", "return false")),
		change("consistent", "state of later ticks is shown too", torn,
			"consistent/client.go", "if p.tick > t {\n\t\t\tcontinue", "if p.tick > t+1 {\n\t\t\tcontinue"),
		change("consistent", "lost packets are not repaired", torn,
			"consistent/server.go", "if n == 0 && f.waiting > 0 {", "if false {"),
		testedIn("consistent", change("consistent", "a short budget is not saved up", goes,
			"session.go", "c.savesUntil, c.starved = c.frame.now+wholeEvery, false", "c.starved = false")),
		change("consistent", "a world that took all that was held is shown", "TestHopelessBudget",
			"consistent/client.go", "c.end.Suspend(true)\n", ""),
		change("consistent", "claims before what was given away are shown", "TestOverflow",
			"consistent/client.go", "w.tick >= c.floor && ", ""),
	}
}

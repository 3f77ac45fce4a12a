package switchoff

// congestionRules are the rules of congestion control (ADR 40).
func congestionRules() []mutation {
	list := []mutation{
		change("congestion", "a queue lowers the rate", "TestLinesAreUsedAndNotFilled",
			"congestion/controller.go", "if fresh && c.path.full() && (c.limited || c.path.lags(now)) {", "if fresh && c.path.full() && c.rate < 0 {"),
		change("congestion", "another sender is not given way to for ever", "TestLinesAreUsedAndNotFilled",
			"congestion/controller.go", "if long && now-c.since >= patience {", "if long && c.rounds < 0 {"),
		change("congestion", "silence lowers the rate", "TestSilenceLowersTheRate",
			"congestion/controller.go", "		c.setRate(c.rate / 2)", "		c.setRate(c.rate)"),
		change("congestion", "a stall without a queue is undone", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	c.setRate(c.held)", "	c.setRate(c.rate)"),
		change("congestion", "a stall with a queue is not undone", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	if c.path.late(c.rate) {", "	if c.rate < 0 {"),
		change("congestion", "jitter is no queue of a sender that the rate does not limit", "TestJitterIsNoQueueOfAModestSender",
			"congestion/controller.go", "(c.limited || c.path.lags(now))", "c.path.full()"),
		change("congestion", "a line may become too slow for a sender that the rate does not limit", "TestALineBecomesTooSlowForAModestSender",
			"congestion/controller.go", "(c.limited || c.path.lags(now))", "c.limited"),
		change("congestion", "jitter is a queue", "TestJitterIsNoQueueOfAWideLine",
			"congestion/path.go", "max(p.noise, 3*(p.jitter-p.interval/4))", "p.noise"),
		change("congestion", "a queue that is gone too soon was none", "TestJitterIsNoQueueOfAWideLine",
			"congestion/controller.go", "if c.path.empty() && !c.lossy && c.path.newestSent()", "if c.rate < 0 && c.path.newestSent()"),
		change("congestion", "what is lost at random took its part of the line", "TestLinesAreUsedAndNotFilled",
			"congestion/path.go", "	bytes := int64(g.sent)", "	bytes := int64(g.arrived)"),
		change("congestion", "the window takes no more than its share", "TestHeldOutLines",
			"congestion/controller.go", "		if c.alone > 0 {", "		if c.alone < 0 {"),
		change("congestion", "the window ends when nobody else is there", "TestADownloadEnds",
			"congestion/controller.go", "	if now/checkEvery != (now-passed)/checkEvery {", "	if c.rate < 0 {"),
		change("congestion", "silence stops the window's growth", "TestSilenceStopsTheWindow",
			"congestion/controller.go", "c.rate < c.bound && !c.stalled {", "c.rate < c.bound {"),
		change("congestion", "what is not sent stops the window's growth", "TestWhatIsNotSentStopsTheWindow",
			"congestion/controller.go", "	if limited && c.rate < c.bound && !c.stalled {", "	if c.rate < c.bound && !c.stalled {"),
		testedIn("peer", change("congestion", "another address is another path", "TestANewPathHasANewRate",
			"peer/conn.go", "	c.path = c.newPath()\n	if c.config.Bound > 0 {", "	c.path = c.newPath()\n	if c.config.Bound < 0 {")),
		testedIn("peer", change("congestion", "packets of the old path say nothing of the new one", "TestANewPathHasANewRate",
			"peer/conn.go", "if before != sentAcked && c.sent.next-1-age >= max(c.path.since, c.controlled) {", "if before != sentAcked {")),
		change("congestion", "a loss lowers the rate once", "TestALossThatStaysIsNoCongestion",
			"congestion/controller.go", "&& c.path.overflows(c.phase == starting) {", "&& c.rate < 0 {"),
		testedIn("consistent", change("congestion", "at the start a loss at random is overflow", "TestShortBudgets",
			"congestion/path.go", "		usual = max(usual, 0.4)\n", "")),
		change("congestion", "a loss that stays is learned", "TestALossThatStaysIsNoCongestion",
			"congestion/controller.go", "		c.path.learnLoss()\n", ""),
		change("congestion", "an acknowledgement between two ticks ends a stall", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	if c.answered || c.pending", "	if c.heard == now || c.pending"),
		change("congestion", "a tick may be all of the noise", "TestLinesAreUsedAndNotFilled",
			"congestion/path.go", "min(p.peak, max(mostNoise, p.interval))", "min(p.peak, mostNoise)"),
		change("congestion", "clients behind one line empty its queue together", "TestClientsOfAnAddressShareItsLine",
			"congestion/group.go", "	if drains && g.seen > 0 {", "	if drains && g.seen < 0 {"),
		change("congestion", "clients behind one line come to equal rates", "TestADrainBringsRatesNearer",
			"congestion/group.go", "c.line += min(sum/n-c.line, c.line) / nearer", "_ = sum / n"),
		change("congestion", "packets to the others are no queue", "TestClientsOfAnAddressShareItsLine",
			"congestion/group.go", "c.path.slack = c.interval", "c.path.slack = 0"),
		change("congestion", "clients with lines of their own are left alone", "TestClientsWithLinesOfTheirOwnAreLeftAlone",
			"congestion/group.go", "g.seen = max(g.seen-1, 0)", "g.seen = firstSeen"),
		testedIn(".", change("congestion", "an address without clients is forgotten", "TestClientsOfAnAddressStartTogether",
			"session.go", "		delete(l, home)\n", "		_ = home\n")),
		change("congestion", "noise makes some samples late and a queue all", "TestJitterIsNoQueueOfAWideLine",
			"congestion/controller.go", "max(n, c.path.run(n*mostFilter))", "n"),
		change("congestion", "the bound is kept", "TestTheBoundIsTheReason",
			"congestion/controller.go", "c.rate = min(max(rate, leastRate), c.bound)", "c.rate = max(rate, leastRate)"),
	}
	for i := range list {
		if list[i].in == "" {
			list[i].in = "congestion"
		}
	}
	return list
}

package switchoff

import "slices"

// congestionRules are the rules of congestion control (ADR 40).
func congestionRules() []mutation {
	list := []mutation{
		testedIn("internal/peer", change("congestion", "acknowledgements take all of a low rate", "TestAcknowledgementsLeaveHalfOfTheRate",
			"internal/peer/budget.go", "cost := min((int64(n)+PacketOverhead)*byteNanoseconds, b.acks)", "cost := (int64(n) + PacketOverhead) * byteNanoseconds")),
		change("congestion", "a queue lowers the rate", "TestLinesAreUsedAndNotFilled",
			"congestion/controller.go", "(c.limited || c.path.lags(now))", "c.rate < 0"),
		change("congestion", "another sender is not given way to for ever", "TestLinesAreUsedAndNotFilled",
			"congestion/controller.go", "long && (now-c.since >= patience && !falls || now-c.since >= longPatience) {", "long && falls && c.rounds < 0 {"),
		change("congestion", "lost bytes took no time of the line", "TestLossBeforeTheLineMakesNoQueue",
			"congestion/path.go", "offset: t.arrived, gap", "offset: uint32(offset), gap"),
		change("congestion", "the start does not fill the queue", "TestLinesAreUsedWithinFiveSeconds",
			"congestion/start.go", "		c.setRate(took)", "		c.setRate(2 * took)"),
		change("congestion", "the delay of a modest sender is known to half a tick", "TestALineBecomesTooSlowForAModestSender",
			"congestion/controller.go", "!c.limited && c.ticks%wholeTicks != 0", "!c.limited"),
		change("congestion", "a modest sender sends whole packets", "TestPacketsOfAnApplicationThatIsTheLimitAreLarge",
			"congestion/controller.go", "!c.limited && c.ticks%wholeTicks != 0", "c.limited && c.rate < 0"),
		change("congestion", "the start begins with the first sample", "TestTheStartOfALateConnection",
			"congestion/controller.go", "c.phase == starting && c.path.taken < 2", "c.phase != starting && c.path.taken < 2"),
		change("congestion", "packets of a stall have room for a group", "TestPacketsOfAStallAreNotThoseOfAPulse",
			"congestion/controller.go", "c.phase == starting && !c.stalled &&", "c.phase == starting &&"),
		change("congestion", "a pulse of large packets counts", "TestPulsesOfLargeRecords",
			"congestion/start.go", "max(c.path.took(ticks*c.interval), c.passed(ticks*c.interval))", "c.path.took(ticks*c.interval)"),
		change("congestion", "silence lowers the rate", "TestSilenceLowersTheRate",
			"congestion/controller.go", "		c.setRate(c.rate / 2)", "		c.setRate(c.rate)"),
		change("congestion", "a stall without a queue is undone", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	c.setRate(c.held)", "	c.setRate(c.rate)"),
		change("congestion", "a stall with a queue is not undone", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "c.path.late(c.rate) && !slept", "slept && !slept"),
		change("congestion", "jitter is no queue of a sender that the rate does not limit", "TestJitterIsNoQueueOfAModestSender",
			"congestion/controller.go", "(c.limited || c.path.lags(now))", "true"),
		change("congestion", "a line may become too slow for a sender that the rate does not limit", "TestALineBecomesTooSlowForAModestSender",
			"congestion/controller.go", "(c.limited || c.path.lags(now))", "c.limited"),
		change("congestion", "a queue that is gone too soon was none", "TestJitterIsNoQueueOfAWideLine",
			"congestion/controller.go", "if c.path.empty() && !c.lossy && c.path.newestSent()", "if c.rate < 0 && c.path.newestSent()"),
		change("congestion", "what is lost at random took its part of the line", "TestLinesAreUsedAndNotFilled",
			"congestion/path.go", "	bytes := int64(g.sent)", "	bytes := int64(g.arrived)"),
		change("congestion", "the window takes no more than its share", "TestTheWindowTakesNoMoreThanItsShare",
			"congestion/controller.go", "		if c.alone > 0 {", "		if c.alone < 0 {"),
		change("congestion", "the window ends when nobody else is there", "TestADownloadEnds",
			"congestion/controller.go", "	if now/checkEvery != (now-passed)/checkEvery {", "	if c.rate < 0 {"),
		change("congestion", "silence stops the window's growth", "TestSilenceStopsTheWindow",
			"congestion/controller.go", "c.rate < c.bound && !c.stalled {", "c.rate < c.bound {"),
		change("congestion", "what is not sent stops the window's growth", "TestWhatIsNotSentStopsTheWindow",
			"congestion/controller.go", "	if limited && c.rate < c.bound && !c.stalled {", "	if c.rate < c.bound && !c.stalled {"),
		testedIn("internal/peer", change("congestion", "another address is another path", "TestANewPathHasANewRate",
			"internal/peer/conn.go", "	c.mtu = c.newMTUSearch()\n	if c.config.Bound > 0 {", "	c.mtu = c.newMTUSearch()\n	if c.config.Bound < 0 {")),
		testedIn("internal/peer", change("congestion", "packets of the old path say nothing of the new one", "TestANewPathHasANewRate",
			"internal/peer/conn.go", "if before != sentAcked && c.sent.next-1-age >= max(c.mtu.since, c.controlled) {", "if before != sentAcked {")),
		change("congestion", "a loss lowers the rate once", "TestALossThatStaysIsNoCongestion",
			"congestion/controller.go", "&& c.path.overflows(c.phase == starting) {", "&& c.rate < 0 {"),
		testedIn("consistent", change("congestion", "at the start a loss at random is overflow", "TestShortBudgets",
			"congestion/path.go", "		usual = max(usual, 0.4)\n", "")),
		change("congestion", "a loss that stays is learned", "TestALossThatStaysIsNoCongestion",
			"congestion/controller.go", "		c.path.learnLoss()\n", ""),
		change("congestion", "an acknowledgement between two ticks ends a stall", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	if c.answered || c.pending", "	if c.heard == now || c.pending"),
		change("congestion", "clients behind one line empty its queue together", "TestClientsOfAnAddressShareItsLine",
			"congestion/group.go", "	if drains && g.seen > 0 {", "	if drains && g.seen < 0 {"),
		change("congestion", "clients behind one line come to equal rates", "TestADrainBringsRatesNearer",
			"congestion/group.go", "c.line += min(sum/n-c.line, c.line) / nearer", "_ = sum / n"),
		change("congestion", "packets to the others are no queue", "TestClientsOfAnAddressShareItsLine",
			"congestion/group.go", "c.path.slack = c.interval", "c.path.slack = 0"),
		change("congestion", "clients with lines of their own are left alone", "TestClientsWithLinesOfTheirOwnAreLeftAlone",
			"congestion/group.go", "g.seen = max(g.seen-1, 0)", "g.seen = firstSeen"),
		testedIn("internal/link", change("congestion", "an address without clients is forgotten", "TestClientsOfAnAddressStartTogether",
			"internal/link/homes.go", "		delete(h, host.Prefix)\n", "		_ = host\n")),
		change("congestion", "noise makes some samples late and a queue all", "TestJitterIsNoQueueOfAWideLine",
			"congestion/controller.go", "return max(c.least, n)", "return c.least"),
		change("congestion", "the bound is kept", "TestTheBoundIsTheReason",
			"congestion/controller.go", "c.rate = min(max(rate, leastRate), c.bound)", "c.rate = max(rate, leastRate)"),
	}
	for i := range list {
		if slices.Contains([]string{"TestLinesAreUsedAndNotFilled", "TestJitterIsNoQueueOfAWideLine", "TestHeldOutLines"}, list[i].test) { // A seventh of the lines does not show all.
			list[i].args = "-heavy"
		}
		if list[i].in == "" {
			list[i].in = "congestion"
		}
	}
	return list
}

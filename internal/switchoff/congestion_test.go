package switchoff

// congestionRules are the rules of congestion control (ADR 40).
func congestionRules() []mutation {
	list := []mutation{
		change("congestion", "a queue lowers the rate", "TestLinesAreUsedAndNotFilled",
			"congestion/controller.go", "if fresh && c.path.full() && (c.limited || c.path.lags(now)) {", "if fresh && c.path.full() && c.rate < 0 {"),
		change("congestion", "another sender is not given way to for ever", "TestLinesAreUsedAndNotFilled",
			"congestion/controller.go", "if long && c.rounds >= 4 && now-c.since >= patience {", "if long && c.rounds < 0 {"),
		change("congestion", "silence lowers the rate", "TestSilenceLowersTheRate",
			"congestion/controller.go", "		c.setRate(c.rate / 2)", "		c.setRate(c.rate)"),
		change("congestion", "a stall without a queue is undone", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	c.setRate(c.held)", "	c.setRate(c.rate)"),
		change("congestion", "a stall with a queue is not undone", "TestAStallWithoutAQueueIsUndone",
			"congestion/controller.go", "	if c.path.late(c.rate) {", "	if c.rate < 0 {"),
		change("congestion", "loss that stays is no congestion", "TestALossThatStaysGivesTheRateBack",
			"congestion/controller.go", "	if ok && g.lost > c.shed/2 {", "	if ok && g.lost > 2 {"),
		change("congestion", "the bound is kept", "TestTheBoundIsTheReason",
			"congestion/controller.go", "c.rate = min(max(rate, leastRate), c.bound)", "c.rate = max(rate, leastRate)"),
	}
	for i := range list {
		list[i].in = "congestion"
	}
	return list
}

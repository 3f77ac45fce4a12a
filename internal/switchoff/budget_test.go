package switchoff

// budgets switches off what docs/adr/0027 says of budgets that do not suffice.
func budgets() []mutation {
	list := []mutation{
		change("budget", "packets are not cut to what is left", "TestAShortBudgetSendsStateInEachTick",
			"internal/link/link.go", "size = min(size, max(left, LeastPacket))", "_ = left"),
		change("budget", "a score begins anew when the entity is sent", "TestWeightsHoldOverTime",
			"snapshot/priority.go", "e.score = min(max(e.score-p.price, -p.price), p.price)", "e.score = 0"),
		change("budget", "what was quiet passes what weighs more", "TestQuietEntitiesDoNotPassHeavierOnes",
			"snapshot/priority.go", "p.latest, p.most = v.store.tick, p.price; fits {", "p.latest, p.most = v.store.tick, mostScore; fits {"),
		change("budget", "the importance of components is not asked", "TestImportanceOfComponents",
			"snapshot/priority.go", "if v.store.schema.Weighed {", "if false {"),
		change("budget", "what is larger than a share keeps others waiting", "TestLargeRecordDelaysNoOthers",
			"snapshot/atomic.go", "if !p.tight || !p.v.plan.active || !p.noteStarved(index) {", "if p.v != nil {"),
		change("budget", "a time without a bound is paid for", "TestABoundAfterATimeWithoutOne",
			"internal/peer/budget.go", "\tif b.bound.rate >= 0 {\n\t\tb.bound.refill", "\tif true {\n\t\tb.bound.refill"),
		change("budget", "a loan is paid back with all that comes in", "TestABudgetPaysBackWithHalfOfItsIncome",
			"internal/peer/budget.go", "min(b.debt, income/2)", "min(b.debt, income)"),
		change("budget", "messages have the packet whenever they wait", "TestMessagesAndStateShareAShortBudget",
			"server_frame.go", "c.sending.stateFirst = (borrowed || state == nil && !b.Empty()) && c.stateWaits()", "c.sending.stateFirst = borrowed && !borrowed"),
	}
	for i := range list {
		if file := list[i].edits[0].file; file != "internal/peer/budget.go" && list[i].test != "TestQuietEntitiesDoNotPassHeavierOnes" {
			list[i].in = "nettest"
		}
	}
	return list
}

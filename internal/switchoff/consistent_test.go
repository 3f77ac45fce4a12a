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
			"snapshot/acked.go", "return v.page(index).despawnOwed&bitOf(index) != 0 && p.tick >= v.life(index).endedAt", "return false")),
		change("consistent", "state of later ticks is shown too", torn,
			"consistent/client.go", "if p.tick > t {\n\t\t\tcontinue", "if p.tick > t+1 {\n\t\t\tcontinue"),
		change("consistent", "lost packets are not repaired", torn,
			"consistent/server.go", "if n == 0 && f.waiting > 0 {", "if false {"),
		testedIn(".", change("consistent", "what was hidden since is repaired", "TestHiddenStateIsNotRepaired",
			"consistent/server.go", "case !c.View().MayRepeat(k.packet):", "case false:")),
		testedIn("consistent", change("consistent", "a short budget is not saved up", goes,
			"consistent/server.go", "f.sendAt = sendAt", "_ = sendAt")),
		change("consistent", "a world that took all that was held is shown", "TestHopelessBudget",
			"consistent/client.go", "extend.OfClient(c.end).Suspend(true)\n", ""),
		change("consistent", "claims before what was given away are shown", "TestOverflow",
			"consistent/client.go", "w.tick >= c.floor && ", ""),
		change("consistent", "any number of ticks is held back", "TestNoMoreTicksAreHeldThanTheirNumbersTell",
			"consistent/client.go", " || len(c.held) > 0 && t-c.held[0].tick > maxTicks {", " {"),
	}
}

// transfers switches off rules of package transfer.
func transfers() []mutation {
	return []mutation{
		change("transfer", "a transfer is as large as it likes", "TestHostileMessages",
			"transfer/receiving.go", "if len(m.Data) > r.size-len(r.data) {", "if false {"),
		change("transfer", "a sender may have any number under way", "TestHostileMessages",
			"transfer/receiving.go", "case len(from.receiving) >= e.feature.config.AtOnce:", "case false:"),
		change("transfer", "a receiver confirms more than was sent", "TestHostileConfirmations",
			"transfer/sending.go", "int(m.Bytes) > s.sent || ", ""),
		change("transfer", "a receiver takes back what it confirmed", "TestHostileConfirmations",
			"transfer/sending.go", "int(m.Bytes) < s.confirmed || ", ""),
		change("transfer", "answers wait without end", "TestAnswersThatDoNotLeaveEndTheConnection",
			"transfer/end.go", "if len(p.answers) == mostAnswers {", "if false {"),
		change("transfer", "all pieces wait in the queue at once", "TestStateGoesOn",
			"transfer/end.go", "p.ahead = max(p.ahead/2, leastAhead)", "p.ahead = mostAhead"),
		testedIn("transfer", change("transfer", "messages take what is saved for whole ticks", "TestWholeTicksBesideATransfer",
			"consistent/server.go", "return true, max(f.reserved, 1)", "return true, 0")),
		change("transfer", "an empty transfer passes where none are taken", "TestNoneFromClients",
			"transfer/transfer.go", "limit == 0 || len(data) > limit", "len(data) > limit"),
		change("transfer", "a transfer outlives its connection", "TestDisconnection",
			"transfer/end.go", "s.finish(ErrDisconnected)", "_ = s"),
		change("transfer", "a receiver does not tell the sender that it cancelled", "TestCancel",
			"transfer/receiving.go", "answer(r.end, r.from, stop{ID: r.id", "_ = (stop{ID: r.id"),
	}
}

package switchoff

// handovers has the rules of players that go to another server, and of messages that a connection loses.
func handovers() []mutation {
	return []mutation{
		change("handover", "what is carried is taken in any session", "TestWhatWasCarriedIsTakenOnce",
			"handover/arrive.go", "if err == nil && (c.nonce != a.nonce || c.id != a.id) {", "if false {"),
		change("handover", "what is carried is taken twice", "TestWhatWasCarriedIsTakenOnce",
			"handover/arrive.go", "if a == nil || a.taken || uint64(a.id) != m.ID {", "if a == nil || uint64(a.id) != m.ID {"),
		change("handover", "a pass opens the door twice", "TestNothingIsAcceptedTwice",
			"handover/arrive.go", "	case used:\n", "	case false && used:\n"),
		change("handover", "a void move arrives", "TestAClientThatSaysTheServerDied",
			"handover/arrive.go", "a.taken, a.void = true, true", "_ = a"),
		change("handover", "a client is believed though the server can be asked", "TestAClientThatSaysTheServerDied",
			"handover/server.go", "case d == nil || d.phase >= asking:\n	case d.phase == held && s.config.Ask != nil:", "case d == nil || d.phase >= asking:\n	case false:"),
		change("handover", "a player is held without end", "TestAClientThatSaysNothing",
			"handover/server.go", "d.phase, d.carried, d.until = held, out.Entities, s.after(s.config.Lease)", "d.phase, d.carried, d.until = held, out.Entities, 1<<40"),
		change("handover", "a move has no end", "TestAClientThatSaysNothing",
			"handover/server.go", "until: s.after(s.config.Patience)}", "until: 1 << 40}"),
		change("handover", "a player that has moved stays too", "TestAPlayerMoves",
			"handover/server.go", "				w.RemoveEntity(e)\n", "				_ = e\n"),
		change("handover", "a player is shown before it is there", "TestAThousandMoves",
			"handover/client.go", "case next.has && next.presents():", "case next.carries && next.presents():"),
		change("handover", "a player whose new server is dead is given up", "TestAServerDiesAtEachMoment",
			"handover/client.go", "case shown.ended != nil && !next.carries:", "case shown.ended != nil:"),
		change("handover", "inputs on the way are lost", "TestAThousandMoves",
			"handover/arrive.go", "for t := a.Since; t <= a.last; t++ {", "for t := a.last + 1; t <= a.last; t++ {"),
		change("handover", "the presented tick goes back", "TestAThousandMoves",
			"handover/client.go", "c.shift = c.Present().Sub(s.client.Present())", "c.shift = 0"),
		testedIn("nettest", change("messages", "a message that was not acknowledged is forgotten", "TestWhatALineSwallowsIsTold",
			"internal/link/link.go", "	if l.Undelivered != nil {\n", "	if false {\n")),
		testedIn("nettest", change("messages", "a large message that was not acknowledged is forgotten", "TestWhatALineSwallowsIsTold",
			"peer/reliable.go", "	f(openPost(r.channels[r.items.at(id).channel].channel, head[:], whole))\n", "")),
		testedIn("nettest", change("messages", "a message that was not handled is forgotten", "TestWhatWaitsAtItsReceiverIsTold",
			"posted.go", "	c.inbound.EachReliable(", "	_ = (*message.Inbound).EachReliable\n	ignore := func(*message.Source, func(*message.Message, []byte)) {}\n	ignore(")),
		testedIn("nettest", change("messages", "a message that overtook another is forgotten", "TestWhatOvertookALostMessageIsTold",
			"peer/receive_queue.go", "			if err == nil {\n				f(&m)\n", "			if err != nil {\n				f(&m)\n")),
	}
}

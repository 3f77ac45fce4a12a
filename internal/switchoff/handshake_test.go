package switchoff

// handshake switches off what the handshake promises: no state before a Join, nobody is taken for another, and nobody takes
// all places or all the time.
func handshake() []mutation {
	const bounds = "TestClientTakesOnlyValuesThatAServerMayDecide"
	const flood, places = "TestHonestClientsJoinUnderAFlood", "TestPlacesOfAnAddressAndANetwork"
	return []mutation{
		change("handshake", "an Accept of another attempt is taken", bounds+"/accept:_another_nonce,_above",
			"client.go", "accept.Nonce != c.attempt.nonce || err != nil && !c.outOfRange(err)", "err != nil && !c.outOfRange(err)"),
		change("handshake", "a Refuse of another attempt is taken", bounds+"/refuse:_another_nonce",
			"client.go", "err != nil || refuse.Nonce != c.attempt.nonce", "err != nil"),
		change("handshake", "a Challenge of another attempt is taken", bounds+"/challenge:_another_nonce",
			"client.go", "err != nil || challenge.Nonce != c.attempt.nonce", "err != nil"),
		change("handshake", "an Accept may say anything", bounds, "peer/handshake.go", "return a, a.check()", "return a, nil").
			inFolder("."),
		change("handshake", "a Welcome may say anything", "TestTheClientTakesAWelcomeThatAServerMaySendOnly",
			"peer/handshake.go", "if err := w.check(); err != nil {", "if err := w.check(); false && err != nil {").inFolder("."),
		change("handshake", "a Hello makes a session", "TestValidHellosCostNextToNothing",
			"handshake.go", "s.accept(from, hello.Nonce, s.epochOf(epochs))", "s.open(from, hello.Nonce, s.epochOf(epochs), 0, \"\")\n\t\ts.accept(from, hello.Nonce, s.epochOf(epochs))"),
		change("handshake", "the answers of a frame are copied for each one more", "TestValidHellosCostNextToNothing",
			"internal/outbox/outbox.go", "2*(used+n))", "used+n)").inFolder("."),
		change("handshake", "a client is connected with its Accept", "TestOnConnectComesWithTheFirstDatagramOfTheSession",
			"client.go", "c.attempt.accept, c.attempt.accepted, c.attempt.sayAt = accept, true, c.frame.now",
			"c.attempt.accept, c.attempt.accepted, c.attempt.sayAt = accept, true, c.frame.now\n\t\t\tc.enter(accept, peer.Welcome{Client: 1, Tick: 1})"),
		change("handshake", "a Join needs no Accept", "TestOnlyAJoinMakesASession",
			"handshake.go", "!peer.JoinSealed(packet, fromClient)", "false && !peer.JoinSealed(packet, fromClient)"),
		change("handshake", "a Join makes a session again", "TestAJoinOfASessionThatIsOverMakesNone",
			"handshake.go", "if reason != nil {\n\t\ts.stats.JoinsRepeated++", "if reason = nil; reason != nil {\n\t\ts.stats.JoinsRepeated++"),
		change("handshake", "a Join of an earlier attempt replaces the session", "TestAJoinOfAnEarlierAttemptReplacesNothing",
			"handshake.go", "\treturn c.epoch\n", "\treturn 0\n"),
		change("handshake", "an epoch follows from nothing secret", "TestEpochsFollowFromTheCookieAndAreSecret",
			"peer/cookie.go", "sum[len(cookie)+4*i:]", "sum[4*i:]"),
		change("handshake", "a cookie is good for each connection from an IP address", "TestCookieIsBoundToAnAddressWithoutIP",
			"peer/cookie.go", "append(b, 0, addr.Via), addr.Key)", "append(b, 0, addr.Via), 0)"),
		change("transports", "a blocked connection keeps the oldest datagrams", "TestNewerDatagramsReplaceOlderOnesWhileBlocked",
			"transport/queued/ring.go", "\t\tr.first = (r.first + 1) % len(r.slots)\n\t\tr.n--\n\t\tdropped = true", "\t\tr.mu.Unlock()\n\t\treturn true"),
		change("transports", "one IP address has all connections", "TestLimits",
			"transport/queued/queued.go", "c.perIP[ip] >= c.config.PerIP", "false"),
		change("transports", "one peer fills the queue", "TestLimits",
			"transport/queued/queued.go", "int32(max(c.config.Queue/4, 1))", "int32(c.config.Queue)"),
		change("transports", "a flood on one connection stops the others", "TestAFloodOnOneConnectionDoesNotStopTheOthers",
			"transport/join.go", "j.next++; j.next == len(j.conns)", "j.next == len(j.conns)"),
		change("transports", "addresses of joined connections are alike", "TestJoinKeepsAddressesApart",
			"transport/join.go", "from.Via = uint8(v + 1)", "from.Via = 1"),
		change("handshake", "Welcome is sent once", "TestAThousandClientsJoinAtOnceOverALossyLink",
			"server_frame.go", "if !c.confirmed && !c.opened {", "if false {").inFolder("nettest"),
		change("handshake", "nobody is put off", flood,
			"handshake.go", "case isExempt(ip):\n\t\treturn true\n\tcase s.config.H", "case true:\n\t\treturn true\n\tcase s.config.H"),
		change("handshake", "one address may have all places", places,
			"handshake.go", "most := s.config.ClientsPerAddress; most > 0", "most := s.config.ClientsPerAddress; false"),
		change("handshake", "one network may have all places", places,
			"handshake.go", "most := s.config.ClientsPerNetwork; most > 0", "most := s.config.ClientsPerNetwork; false"),
		change("handshake", "a place is not given back", places,
			"session.go", "s.take(c.address.IP.Addr(), -1)", "_ = c"),
		change("handshake", "who forges takes the budget of who has a cookie", "TestForgedHellosDoNotStopAClientWithACookie",
			"handshake.go", "if !s.mayWork(to, nonce, peer.WorkUnproven) {", "if !s.mayWork(to, nonce, peer.WorkProven) {"),
		change("handshake", "a frame takes datagrams without end", "TestAFrameTakesSoManyDatagrams",
			"systems/receive.go", "for range maxDatagrams {", "for range 1 << 20 {"),
	}
}

// inFolder is a mutation whose test is in another folder than its place.
func (m mutation) inFolder(folder string) mutation {
	m.in = folder
	return m
}

package switchoff

// secures switches off rules of package transport/secure.
func secures() []mutation {
	const (
		path     = "TestNothingIsAcceptedTwiceOrChanged"
		flood    = "TestAFloodCostsNoStateAndIsNotAmplified"
		tokens   = "TestEachBadTokenHasItsErrorAndItsCounter"
		once     = "TestATokenIsGoodOnce"
		bounded  = "TestHandshakesAndSessionsAreBounded"
		keys     = "TestKeysChangeByCountAndTime"
		private  = "TestAServerInClearListensOnPrivateAddressesAlone"
		recorded = "TestARecordedInitiateIsWorthNothingElsewhere"
		moves    = "TestAnAddressThatDoesNotAnswerGetsNothing"
		resets   = "TestResetsAreBounded"
		below    = "TestAMoveBelowSecureBeginsThePathAnew"
		garbage  = "TestGarbageBehindCookiesLocksNobodyOut"
		pending  = "TestUnconfirmedSessionsAreBounded"
		takeover = "TestNobodyTakesOverASecureSession"
		path0    = "transport/secure/path.go"
		server   = "transport/secure/server.go"
		used     = "TestUsedTokensAreBoundedAndForgottenWhenTheyExpire"
	)
	return []mutation{
		change("secure", "a number opens twice", path, "transport/secure/seal.go", "return repeated", "return fine"),
		change("secure", "a number behind the window opens", path, "transport/secure/seal.go", "case w.next-number > windowSize:", "case false:"),
		change("secure", "the header is not authenticated", "TestASecondReaderDecodesASession",
			"transport/secure/seal.go", "datagram, out[at:at+headerSize])", "datagram, out[at:at])"),
		change("secure", "a key is used for ever", keys, "transport/secure/seal.go", "if now-s.since >= s.every {", "if false {"),
		change("secure", "a key is used for all numbers", keys, "transport/secure/seal.go", "if s.number>>epochBits != s.epoch {", "if false {"),
		change("secure", "no cookie is needed", flood, "transport/secure/accept.go", "if !s.cookies.good(", "if false && !s.cookies.good("),
		change("secure", "a cookie is good from any address", recorded, "transport/secure/handshake.go",
			"c.text = appendAddress(c.text[:0], from)", "c.text = appendAddress(c.text[:0], transport.Addr{})"),
		change("secure", "a cookie is good for ever", "TestACookieIsBoundToItsAddressAndTime",
			"transport/secure/handshake.go", "if stampOf(now)-stamp > ", "if false && stampOf(now)-stamp > "),
		change("secure", "a short question is answered", flood, "transport/secure/accept.go", "if len(packet) < requestSize ||", "if len(packet) < helloSize ||"),
		change("secure", "a token is good twice", once, "transport/secure/admit.go", "\tg.used[id] = usedToken{user, expires}\n", ""),
		change("secure", "a token is good after its time", tokens, "transport/secure/admit.go", "case seconds > t.expires:", "case false:"),
		change("secure", "a token is good before its time", tokens, "transport/secure/admit.go", "case seconds < t.issued-int64(clockSkew/time.Second):", "case false:"),
		change("secure", "a token is good anywhere", tokens, "transport/secure/admit.go", "case !g.serves(&t):", "case false:"),
		change("secure", "a used token is forgotten before its time", used, "transport/secure/admit.go", "if seconds > t.expires {", "if seconds > 0*t.expires {"),
		change("secure", "the memory of tokens is not bounded", used, "transport/secure/admit.go", "len(g.used) >= g.limit || g.byUser", "g.byUser"),
		change("secure", "no token is needed", tokens, "transport/secure/admit.go", "if g.open {\n\t\t\treturn", "if true {\n\t\t\treturn"),
		change("secure", "one host may have all sessions", bounded, "transport/secure/accept.go", "return s.config.SessionsPerHost > 0 &&", "return false &&"),
		change("secure", "garbage behind cookies locks everybody out", garbage, "transport/secure/accept.go", "|| !s.limiter.Share(host, limited, s.config.Handshakes, now)", "|| !s.limiter.Share(host, false && limited, s.config.Handshakes, now)"),
		change("secure", "handshakes of one second have no limit", garbage, "transport/secure/accept.go", "|| !s.limiter.Share(host, limited, s.config.Handshakes, now)", "|| !s.limiter.Share(host, limited, 0, now)"),
		change("secure", "a site of IPv6 is many hosts", "TestSharedWorkIsFair", "internal/hosts/limiter.go", "if !p.IsValid() {", "if !p.IsValid() || i > 0 {"),
		change("secure", "one host may have all handshakes", resets, "transport/secure/accept.go", "return !limited || s.config.HandshakesPerHost <= 0 ||", "return true || !limited ||"),
		change("secure", "sessions are not bounded", bounded, "transport/secure/accept.go", "(len(s.sessions)-replaced >= s.config.Sessions ||", "(replaced < 0 ||"),
		change("secure", "a refusal that anyone can forge ends a handshake", "TestADowngradeDoesNotHappen", "transport/secure/client.go",
			"c.hint = status(packet[helloSize]).err()\n", "c.fail(status(packet[helloSize]).err(), now)\n"),
		change("secure", "silent sessions stay", "TestSilentSessionsEndAndAreMadeAnew", "transport/secure/server.go", "|| now-c.heard > s.config.Timeout", ""),
		change("secure", "an old session stays beside the new one", "TestAClientThatReconnectsGetsAFreshSession", "transport/secure/server.go",
			"s.stats.Replaced++\n\t\ts.end(old)", "s.stats.Replaced++"),
		change("secure", "an address need not prove itself", moves, path0, "s.text != c.path.text ||", ""),
		change("secure", "an answer from anywhere moves a session", moves, path0, "from != c.path.to ||", ""),
		change("secure", "a late datagram asks its address", "TestARecordingDoesNotMoveASessionBack", "transport/secure/server.go", "if c.in.window.next > newest {", "if newest+1 > 0 {"),
		change("secure", "a short datagram is asked", "TestAShortDatagramAsksNobody", path0, "size < pathSize ||", ""),
		change("secure", "addresses are asked without a pause", moves, path0, "|| c.path.asked != 0 && now-c.path.asked < pathAgain", ""),
		change("secure", "each question makes a client's path new", "TestCopiesFromElsewhereMakeAPathNewRarely", path0, "c.config.Now() < c.mayMove", "false"),
		change("secure", "a move gets round the limit of a host", "TestAMoveCountsForItsHost", path0, "return !s.hostIsFull(to, c.held)", "return true"),
		change("secure", "two sessions have one name", "TestNamesStayApart", server, "if _, used := s.addresses[name]; used ||", "if _, used := s.addresses[name]; false && used ||"),
		change("secure", "a name passes to another user", "TestAClientThatReconnectsGetsAFreshSession", path0, "return userAt{c.who.User, c.from}", "return userAt{\"\", c.from}"),
		change("secure", "a name passes to whoever has no user", takeover, path0, "if c.who.User != \"\" {", "if true {").inFolder("systems"),
		change("secure", "a name is given again", takeover, server, "s.addresses[name] = struct{}{}", "").inFolder("systems"),
		change("secure", "a token opens many sessions", "TestATokenHasOneUnconfirmedSession", "transport/secure/accept.go", "return claim{token: c.token}", "return claim{c.token, c.from}"),
		change("secure", "unconfirmed sessions are not bounded", pending, "transport/secure/accept.go", "|| s.pendingIsFull()) &&", ") &&"),
		change("secure", "unconfirmed sessions stay", pending, server, "!c.confirmed && now-c.heard > pendingTime ||", ""),
		change("secure", "no unconfirmed session makes room", pending, "transport/secure/accept.go", "s.end(worst.Of)\n\treturn true", "return false"),
		change("secure", "a confirmed session of a user makes room", "TestConfirmedSessionsOfUsersStay", "transport/secure/accept.go", "if s.gate.open && !s.pendingIsFull() {", "if !s.pendingIsFull() {"),
		change("secure", "data from elsewhere confirms a session", "TestDataFromElsewhereConfirmsNoSession", server, "|| !c.confirmed && c.from != from", ""),
		change("secure", "a client takes a cipher that it did not offer", "TestACipherThatWasNotOfferedIsRefused", "transport/secure/client.go", "cipher&c.config.Ciphers == 0 ||", ""),
		change("secure", "a session moves into a full host", "TestAMoveIntoAHostThatFillsUpIsNone", path0, "s.text != c.path.text || !c.mayMove(s, from)", "s.text != c.path.text"),
		change("secure", "one user fills the memory of tokens", "TestOneUserDoesNotFillTheMemoryOfTokens", "transport/secure/admit.go", "|| g.byUser[user] >= part", "|| part < 0"),
		change("secure", "a Resume moves a session to another user", "TestAResumeMovesNoSessionToAnotherUser", "internal/handshake/door.go", "if d.sessions.Proved(to) != s.User {", "if false {").inFolder("."),
		change("secure", "a reset needs no token", resets, path0, "subtle.ConstantTimeCompare(packet[5:], c.reset[:]) == 0", "subtle.ConstantTimeCompare(packet[5:], c.reset[:]) == 2"),
		change("secure", "another server makes the same resets", "TestAServerThatStartsAnewTellsItsClients", path0, "\"netcode secure reset key \" + strings.Join(names, \" \")", "\"netcode secure reset key\" + strings.Join(names[:0], \" \")"),
		change("secure", "resets are not bounded", resets, path0, "if !s.mayAnswer(to, hosts.Unproven, now) {", "if false && !s.mayAnswer(to, hosts.Unproven, now) {"),
		change("secure", "a move below is not told", below, "systems/receive.go", "if !more {", "if _, _, _ = end, m, more; true {"),
		change("secure", "a move below leaves the path", below, "handshake.go", "events.Event{Client: c.id, From: m.From, To: m.To})\n\tc.link.Conn.NewPath()", "events.Event{Client: c.id, From: m.From, To: m.To})").inFolder("systems"),
		change("secure", "a move is told for each question", "TestAMoveIsToldOnce", path0, "if c.text != c.asks {", "if true {"),
		change("secure", "a session that ended is told of", "TestAMoveIsToldOnce", "transport/secure/server.go", "s.moved = slices.DeleteFunc(s.moved, func(other *session) bool { return other == c })", "_ = slices.Clone(s.moved)"),
		change("secure", "a server in clear listens anywhere", private, "systems/system.go", "panic(err)", "_ = err"),
		change("secure", "a conditioner hides that it is secure", private, "transport/conditioner.go", "{ return IsSecure(c.inner) }", "{ return false }").inFolder("systems"),
	}
}

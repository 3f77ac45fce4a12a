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
		locked   = "TestAUserIsNotLockedOutByTheOwnOldSession"
		accept   = "transport/secure/accept.go"
		resets   = "TestResetsAreBounded"
		garbage  = "TestGarbageBehindCookiesLocksNobodyOut"
		pending  = "TestUnconfirmedSessionsAreBounded"
		takeover = "TestNobodyTakesOverASecureSession"
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
		change("secure", "no cookie is needed", flood, "transport/secure/accept.go", "0, now); !proved {", "0, now); false && !proved {"),
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
		change("secure", "sessions are not bounded", bounded, "transport/secure/accept.go", "len(s.sessions) < s.config.Sessions &&", "true &&"),
		change("secure", "a refusal that anyone can forge ends a handshake", "TestADowngradeDoesNotHappen", "transport/secure/client.go",
			"c.hint = status(packet[helloSize]).err()\n", "c.fail(status(packet[helloSize]).err(), now)\n"),
		change("secure", "silent sessions stay", "TestSilentSessionsEndAndAreMadeAnew", "transport/secure/server.go", "|| now-c.heard > s.config.Timeout", ""),
		change("secure", "an initiate is good from any address", "TestCookieIsBoundToEverything", "internal/proof/cookie.go", "b = append(b, ip[:]...)", "b = append(b, make([]byte, len(ip))...)"),
		change("secure", "a session is sent to where it began", "TestADatagramHasTheAddressItCameFrom", server, "to.Key = c.from.Key\n\treturn to", "return c.from"),
		change("secure", "a session goes on over another connection", "TestASessionStaysOnItsConnection", server, "from.Key != c.from.Key ||", ""),
		change("secure", "the number of a session is given again", "TestSilentSessionsEndAndAreMadeAnew", accept, "s.serial++", "s.serial = uint64(len(s.sessions)) + 1"),
		change("secure", "a peer takes the place of another host along", "TestAKnownPeerTakesNoPlaceOfAnotherHostAlong", "internal/handshake/admit.go", "return s.Phase == Connected && s.Address == from", "return s.Phase == Connected").inFolder("."),
		change("secure", "a peer is welcomed where it was", "TestAJoinFromAnotherAddressOfItsPeer", "internal/handshake/door.go", "&& s.Phase != Ended && s.Address == from {", "&& s.Phase != Ended {").inFolder("."),
		change("secure", "a user waits for the own old session", locked, accept, "c.who.User == user && c.heard <= since", "c.who.User == user && c.heard < 0*since"),
		change("secure", "a silent session ends for any user", locked, accept, "c.who.User == user && c.heard", "c.heard"),
		change("secure", "a user ends the own session that plays", locked, accept, "&& c.heard <= since {", "&& c.heard < since+2*silentAfter {"),
		change("secure", "a token opens many sessions", "TestATokenHasOneUnconfirmedSession", "transport/secure/accept.go", "return claim{token: c.token}", "return claim{c.token, c.from}"),
		change("secure", "unconfirmed sessions are not bounded", pending, "transport/secure/accept.go", "&& !s.pendingIsFull() {\n\t\t\treturn", "{\n\t\t\treturn"),
		change("secure", "unconfirmed sessions stay", pending, server, "!c.confirmed && now-c.heard > pendingTime ||", ""),
		change("secure", "no unconfirmed session makes room", pending, "transport/secure/accept.go", "s.end(worst.Of)\n\treturn true", "return false"),
		change("secure", "a confirmed session of a user makes room", "TestConfirmedSessionsOfUsersStay", "transport/secure/accept.go", "if s.gate.open && !s.pendingIsFull() {", "if !s.pendingIsFull() {"),
		change("secure", "data from elsewhere confirms a session", "TestDataFromElsewhereConfirmsNoSession", server, "|| !c.confirmed && c.from != from", ""),
		change("secure", "a client takes a cipher that it did not offer", "TestACipherThatWasNotOfferedIsRefused", "transport/secure/client.go", "cipher&c.config.Ciphers == 0 ||", ""),
		change("secure", "one user fills the memory of tokens", "TestOneUserDoesNotFillTheMemoryOfTokens", "transport/secure/admit.go", "|| g.byUser[user] >= part", "|| part < 0"),
		change("secure", "a Resume moves a session to another user", "TestAResumeMovesNoSessionToAnotherUser", "internal/handshake/door.go", "if d.sessions.Proved(to) != s.User {", "if false {").inFolder("."),
		change("secure", "a reset needs no token", resets, "transport/secure/client.go", "subtle.ConstantTimeCompare(packet[5:], c.reset[:]) == 0", "subtle.ConstantTimeCompare(packet[5:], c.reset[:]) == 2"),
		change("secure", "another server makes the same resets", "TestAServerThatStartsAnewTellsItsClients", accept, "\"netcode secure reset key \" + strings.Join(names, \" \")", "\"netcode secure reset key\" + strings.Join(names[:0], \" \")"),
		change("secure", "resets are not bounded", resets, accept, "if !s.mayAnswer(to, hosts.Unproven, now) {", "if false && !s.mayAnswer(to, hosts.Unproven, now) {"),
		change("secure", "a server in clear listens anywhere", private, "systems/system.go", "panic(err)", "_ = err"),
		change("secure", "a conditioner hides that it is secure", private, "transport/conditioner.go", "{ return IsSecure(c.inner) }", "{ return false }").inFolder("systems"),
	}
}

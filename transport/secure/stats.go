package secure

// Stats has the counters of a server's end. Each datagram that Receive does not return is counted once.
type Stats struct {
	Sessions   int // At present, including unconfirmed ones.
	UsedTokens int // At present stored.

	Sealed uint64 // Datagrams sealed and sent through the inner connection.
	Opened uint64 // Datagrams that opened.

	Repeated  uint64 // Datagrams with a number that was opened before.
	TooOld    uint64 // Datagrams with a number more than 1024 behind the newest.
	Forged    uint64 // Datagrams that were changed or sealed with another key.
	Unknown   uint64 // Datagrams of an unknown session, or of an unconfirmed session from another address.
	Malformed uint64 // Datagrams of an unknown kind or with a wrong length.
	NoSession uint64 // Datagrams not sent because their address has no session.

	Requests          uint64 // Requests for a cookie, each answered.
	BadCookie         uint64 // Initiates with a wrong or expired cookie.
	Version           uint64 // Handshakes of another version.
	Busy              uint64 // Initiates beyond HandshakesPerHost, or the host's share of Config.Handshakes.
	Handshakes        uint64 // Initiates that cost curve operations.
	RepeatedInitiates uint64 // Repeated Initiates, answered without curve operations.
	WrongKey          uint64 // Initiates for another server key, or changed ones.
	NoCipher          uint64 // Initiates without a common cipher.

	Resets uint64 // Clients that were told that their session is over; counted in Unknown too.

	Accepted       uint64 // Sessions created.
	Confirmed      uint64 // Sessions whose client has used the keys.
	Replaced       uint64 // Silent sessions that ended because their user needed the room for a new one.
	Evicted        uint64 // Sessions that ended for one of another host, because Config.Sessions or half of it was reached.
	TimedOut       uint64 // Sessions that were silent, or not confirmed in time.
	Full           uint64 // Clients refused because Config.Sessions, SessionsPerHost or UsedTokens was reached.
	TokenMissing   uint64 // Clients refused without a token.
	TokenMalformed uint64 // Clients refused with bytes that are no token.
	TokenForged    uint64 // Clients refused with a token of another key or a changed one.
	TokenExpired   uint64 // Clients refused with an expired token.
	TokenEarly     uint64 // Clients refused with a token issued in the future.
	TokenForeign   uint64 // Clients refused with a token for another server.
	TokenUsed      uint64 // Clients refused with a used token.
	SendErrors     uint64 // Answers to handshakes that could not be made or sent.
}

// count counts the result of a handshake.
func (s *Stats) count(result status) {
	switch result {
	case accepted:
		s.Accepted++
	case refusedFull:
		s.Full++
	case refusedMissing:
		s.TokenMissing++
	case refusedMalformed:
		s.TokenMalformed++
	case refusedForged:
		s.TokenForged++
	case refusedExpired:
		s.TokenExpired++
	case refusedEarly:
		s.TokenEarly++
	case refusedForeign:
		s.TokenForeign++
	case refusedUsed:
		s.TokenUsed++
	}
}

// ClientStats has the counters of a client's end.
type ClientStats struct {
	Sealed    uint64 // Datagrams that were sealed and sent.
	Opened    uint64 // Datagrams that opened.
	Repeated  uint64 // Datagrams with a number that was opened before.
	TooOld    uint64 // Datagrams with a number more than 1024 behind the newest.
	Forged    uint64 // Datagrams of the session or the handshake that were changed or made with another key.
	Unknown   uint64 // Datagrams from other addresses, of other sessions, and of other handshakes.
	Malformed uint64 // Datagrams of an unknown kind or with a wrong length.
	Resets    uint64 // Sessions that the server reset because it no longer has them.
	Dropped   uint64 // Datagrams of the game not sent because there was no session.

	Handshakes uint64 // Handshakes begun.
	Challenges uint64 // Cookies received.
	Hints      uint64 // Refusals without authentication.
	Refused    uint64 // Authenticated refusals.
	Sessions   uint64 // Sessions created.
}

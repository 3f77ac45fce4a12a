package secure

// Stats counts at a server's end. Each datagram that is not given out is in one counter.
type Stats struct {
	Sessions   int // At the moment, unconfirmed ones included.
	UsedTokens int // That are remembered at the moment.

	Sealed uint64 // Datagrams that were sealed and given to the connection inside.
	Opened uint64 // Datagrams that opened.

	Repeated  uint64 // Datagrams with a number that was opened before.
	TooOld    uint64 // Datagrams with a number more than 1024 behind the newest.
	Forged    uint64 // Datagrams that were changed, or sealed with another key.
	Unknown   uint64 // Datagrams of no session, or of an unconfirmed one from another address than its own.
	Malformed uint64 // Datagrams that are none of this package, or have a wrong length.
	Paths     uint64 // Datagrams of clients about their address.
	NoSession uint64 // Datagrams that were not sent, as their address has no session.

	Requests          uint64 // Of a cookie, each answered.
	BadCookie         uint64 // Initiates with a cookie that is wrong or old.
	Version           uint64 // Handshakes of another version.
	Busy              uint64 // Initiates beyond Config.Handshakes or HandshakesPerHost.
	Handshakes        uint64 // Initiates that cost curve operations.
	RepeatedInitiates uint64 // Initiates that came again, which cost none.
	WrongKey          uint64 // Initiates for another key, or changed.
	NoCipher          uint64 // Initiates without a cipher that the server may use.

	Challenged uint64 // Addresses that were asked whether a session has moved there.
	Moved      uint64 // Sessions that went on at another address.
	PathFull   uint64 // Addresses that were not asked, as their host has Config.SessionsPerHost sessions.
	Resets     uint64 // Clients that were told that their session is over; they are in Unknown too.

	Accepted       uint64 // Sessions made.
	Confirmed      uint64 // Of these, those whose client has used its keys.
	Replaced       uint64 // Sessions that ended as their address has a new one.
	TimedOut       uint64 // Sessions that ended in silence, or were not confirmed in time.
	Full           uint64 // Clients refused for want of room: Config.Sessions, SessionsPerHost, UsedTokens.
	TokenMissing   uint64 // Clients refused without a token.
	TokenMalformed uint64 // Clients refused with bytes that are no token.
	TokenForged    uint64 // Clients refused with a token of another key, or a changed one.
	TokenExpired   uint64 // Clients refused with an old token.
	TokenEarly     uint64 // Clients refused with a token of the future.
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

// ClientStats counts at a client's end.
type ClientStats struct {
	Sealed    uint64 // Datagrams that were sealed and sent.
	Opened    uint64 // Datagrams that opened.
	Repeated  uint64 // Datagrams with a number that was opened before.
	TooOld    uint64 // Datagrams with a number more than 1024 behind the newest.
	Forged    uint64 // Datagrams of the session, and answers to the handshake, that were changed or made with another key.
	Unknown   uint64 // Datagrams from other addresses, of other sessions, and of other handshakes.
	Malformed uint64 // Datagrams that are none of this package, or have a wrong length.
	Paths     uint64 // Questions of the server whether it may send to this address, each answered.
	Resets    uint64 // Sessions that the server has forgotten, as it said.
	Dropped   uint64 // Datagrams of the game that were not sent, as there was no session.

	Handshakes uint64 // Begun.
	Challenges uint64 // Cookies that came.
	Hints      uint64 // Refusals that anyone can forge.
	Refused    uint64 // Refusals of the server itself.
	Sessions   uint64 // Made.
}

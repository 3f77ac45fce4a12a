package netcode

// LoseWrites makes a server forget what a client's writes lean on, as a fault would.
func LoseWrites(s *Server, client ClientID) { s.client(client).theirs.Lose() }

// WritesEpoch is the newest resync that a server has asked a client for, and whether it waits for it still.
func WritesEpoch(s *Server, client ClientID) (epoch uint16, waits bool) {
	return s.client(client).theirs.WantResync()
}

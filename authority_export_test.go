package netcode

// LoseWrites makes a server forget what a client's writes lean on, as a fault would.
func LoseWrites(s *Server, client ClientID) { s.client(client).theirs.Lose() }

// WritesEpoch is the newest resync that a server has asked a client for, and whether it waits for it still.
func WritesEpoch(s *Server, client ClientID) (epoch uint16, waits bool) {
	return s.client(client).theirs.WantResync()
}

// SayRight tells a client that an entity, which there need not be, is its own to write.
func SayRight(s *Server, client ClientID, entity NetworkID, rows uint64) error {
	return Send(s, To(client), &right{Entity: entity, Rows: rows})
}

// RightsLookedAt is how many entities a client looks at in each tick since it may write them.
func RightsLookedAt(c *Client) int { return len(c.writes.list) }

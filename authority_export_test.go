package netcode

// LoseWrites makes a server forget what a client's writes lean on, as a fault would.
func LoseWrites(s *Server, client ClientID) { s.client(client).theirs.Lose() }

// WritesEpoch is the newest resync that a server has asked a client for, and whether it waits for it still.
func WritesEpoch(s *Server, client ClientID) (epoch uint16, waits bool) {
	return s.client(client).theirs.WantResync()
}

// SendRight tells a client that it may write an entity, which need not exist.
func SendRight(s *Server, client ClientID, entity NetworkID, rows uint64) error {
	return Send(s, To(client), &right{Entity: entity, Rows: rows})
}

// RightsLookedAt is how many entities a client looks at in each tick since it may write them.
func RightsLookedAt(c *Client) int { return len(c.writes.list) }

package switchoff

// soaks switches defences off that the soak must miss in one phase, by the invariant that fails then.
func soaks() []mutation {
	missed := func(invariant, off, file, old, with string) mutation {
		return testedIn("internal/soak", change("soak", invariant+", "+off, "TestInvariantsHoldForAPhase", file, old, with))
	}
	also := func(m mutation, file, old, with string) mutation {
		m.edits = append(m.edits, edit{file, old, with})
		return m
	}
	return []mutation{
		also(missed("I1", "nothing is sent again",
			"snapshot/acked.go", "v.wait(index)\n\t\t\t\tv.stats.Resent++", "v.stats.Resent++"),
			"snapshot/view.go", "if v.ack(index).went < before {", "if false {"),
		missed("I6", "silence is no reason",
			"server_frame.go", "s.end(c, &errs.CloseError{Reason: errs.ReasonTimeout}, closeTold)", "s.end(c, &errs.CloseError{}, closeTold)"),
		also(missed("I8", "a Join proves no address",
			"internal/handshake/door.go", "peer.JoinSealed(join, fromClient) {", "true || peer.JoinSealed(join, fromClient) {"),
			"internal/handshake/door.go", "if !proved {\n\t\td.challenge(from, join.Nonce)", "if false && !proved {\n\t\td.challenge(from, join.Nonce)"),
		missed("I2", "an entity that went stays in the client's world",
			"ecs/apply_entities.go", "\t\t\ta.tracker.world.RemoveEntity(e)\n", ""),
		missed("I10", "everybody may write everything",
			"authority/server.go", "return s.Store().Owner(id) == c.ID(), s.Store().Named(id) == c.ID()", "return true, true"),
		missed("I3", "a late record changes the world",
			"internal/replica/replica.go", "if s <= l.applied || r.heads[v.index] != n {", "if r.heads[v.index] != n {"),
		missed("I5", "damaged packets are read",
			"internal/peer/packet.go", "== check.Sum(body)\n", "== check.Sum(body) || len(body) > 9\n"),
		missed("I7", "a datagram of no byte is read",
			"internal/peer/packet.go", "if len(datagram) == 0 {\n\t\treturn KindUnknown", "if false {\n\t\treturn KindUnknown"),
		missed("I9", "hidden components are sent",
			"snapshot/component_visibility.go", "return v.store.rows.masks[index].Minus(v.life(index).veil)\n", "return v.store.rows.masks[index]\n"),
	}
}

package switchoff

// games switches off what whole random games have to miss (nettest), and what they have found. Those that name the games are missed within the first ten, from each of four
// seeds; 60 are played.
func games() []mutation {
	const named = "TestReferenceToAnEntityThatLeavesInTheSameRunIsNoChange"
	game := func(off, file, old, new string) mutation {
		m := change("games", off, "TestGames", file, old, new)
		m.in, m.args = "nettest", "-games 60"
		return m
	}
	return []mutation{
		change("games", "whom a row names for a moment is a change of what was moved", named,
			"ecs/apply_entities.go", "if a.refs.rows.Has(row) && !f.born && !f.added.Has(row) {", "if false {"),
		change("games", "whom a row names for a moment is a change of what was put back", named,
			"ecs/apply_local.go", "if l.apply.refs.rows.Has(c.row) { // the", "if false { // the"),

		game("observers are not told of what changed with what is added", "ecs/apply_entities.go", "state.changed = state.changed.With(row)", "state.changed = state.changed.Without(row)"),
		game("observers are told of what was put back", "ecs/apply_local.go", "c.plan.Compare(shadow.kept(slot), c.at(row)); !old", "\"\", false; !old"),
		game("who leaves with a connection goes without a hook", "ecs/apply.go", "a.queueRemoval(uint32(index))", "_ = index"),
		game("what the client's game wrote stays", "ecs/apply_local.go", "if equal && !strayed || l", "if true || l"),
		game("what was lost is not sent again", "snapshot/acked.go", "index := firstOf(e.word, of); v.isNewest(p, e, index) {", "index := firstOf(e.word, of); false && v.isNewest(p, e, index) {"),
		game("what a client wrote is not for the others", "ecs/capture.go", "return write(", "return true || write("),
		game("an ordered word does not wait for those before it", "internal/peer/receive_queue.go", "ordered := ch.Delivery() == wire.ReliableOrdered\n", "ordered := false && ch.Delivery() == wire.ReliableOrdered\n"),
		game("who comes into sight is not told of collections", "collections/server.go", "r.reader.Meet(c, r)", "_ = c"),
		game("the heads of batches are for nobody's account", "inspect/attribution.go", "a.Batches += rest\n", "_ = rest\n"),
		game("recordings know no deaths", "record/reader.go", "if !e.Alive {", "if false {"),
	}
}

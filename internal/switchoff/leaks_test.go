package switchoff

// leaks switches off what random games in two worlds have to miss, and what they have found. Those that name the games are missed within the first nine, from each of four
// seeds: of the 2000 that are played there are enough, whichever games a change of anything else makes of them.
func leaks() []mutation {
	const games, owes = "TestNothingHiddenChangesAByte", "TestEntityHiddenAtItsSpawnNeedsNoDespawn"
	return []mutation{
		change("leaks", "the death of a hidden entity is told", games,
			"snapshot/visibility.go", "case v.Keeps(id):\n\t\tv.scheduleWithGroup(id.Index, v.store.tick)", "default:\n\t\tv.scheduleWithGroup(id.Index, v.store.tick)"),
		change("leaks", "a hidden component's change makes an empty record", games,
			"snapshot/component_visibility.go", "g.unsent |= changed &^ v.dropUnseen(w, changed&g.masked)", "v.dropUnseen(w, changed&g.masked)\n\t\tg.unsent |= changed"),
		change("leaks", "hidden members make what a client sees of a group too large", games,
			"snapshot/groups.go", "if v.page(index).visible&bitOf(index) == 0 {", "if false {"),
		change("leaks", "another target of those that are hidden is a change", games,
			"snapshot/references.go", "if v.readsAlike(c) {", "if false {"),
		change("leaks", "who is hidden at birth was there for a moment", games,
			"snapshot/visibility.go", "if v.cancelSpawn(index) {", "if false {"),
		change("leaks", "what goes together goes in the order in which it was tied", "TestAtomicUnitIsWrittenByIndex",
			"snapshot/atomic.go", "slices.Sort(v.lacking) //", "//"),

		change("leaks", "who is hidden at birth owes what was owed before once more", owes,
			"snapshot/visibility.go", "if !n.replacesOwed.has(index) || n.replacesSent.has(index) {", "if !n.replacesOwed.has(index) {"),
		change("leaks", "who is hidden at birth takes what was owed before along", owes,
			"snapshot/visibility.go", "if n.replacesOwed.has(index) {\n\t\tv.page(index).despawnOwed |= bitOf(index)\n\t\tv.anyDespawnOwed = true\n\t}", ""),
		change("leaks", "what is heard meanwhile is taken for what was before", "TestDespawnBeforeAHiddenSpawnStaysDue",
			"snapshot/acked.go", "\tv.flushSpawns()\n\tp := v.sent.get(seq)\n\tif p == nil || p.acked", "\tp := v.sent.get(seq)\n\tif p == nil || p.acked"),
		change("leaks", "who is shown for no packet is tied", "TestEntityShownForNoPacketLinksNothing",
			"snapshot/visibility.go", "\tif unseen {", "\tif unseen && false {"),
		change("leaks", "who was left and is shown for no packet goes without its group", "TestEntityLeftAndShownForNoPacketIsLinked",
			"snapshot/visibility.go", " && p.lastEnd < t && p.lastEnd <= p.endedAt", ""),
		change("leaks", "who asks what a client sees has its writes sent back to it", "TestCase46AskingForTheSightOfAClientSendsNothingBack",
			"server_frame.go", "\tfor _, f := range s.hooks.observe {\n\t\tf(c, c.link.View)\n\t}\n", ""),
		change("leaks", "who looks back for a client has its writes sent back to it", "TestCase46AskingForTheSightOfAClientSendsNothingBack",
			"session.go", "c.server.steps.observe(c)", "c.link.View.Observe()"),
	}
}

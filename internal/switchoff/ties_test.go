package switchoff

// ties switches off what keeps despawns and departures with what changed of the others of a group, and that a group finds room.
func ties() []mutation {
	const dies, starved = "TestPickedItemIsNeverSeenTwiceOrNotAtAll", "TestAGroupIsNotStarvedByDespawns"
	const nothing = "TestChangesThatLinkNothing"
	return []mutation{
		change("ties", "the end of a life goes by itself", "TestMembersThatDieTogetherAreGoneTogether",
			"snapshot/visibility.go", "v.scheduleDespawn(index, t)\n\tv.bind(index, t)\n", "v.scheduleDespawn(index, t)\n"),
		change("ties", "who leaves a group goes by itself", "TestMemberThatChangesGroupsIsLinkedToBoth",
			"snapshot/view.go", "\tv.linkDepartures()\n", ""),
		change("ties", "who comes in the place of a dead member comes without the group", "TestReplacementComesWithTheGroup",
			"snapshot/visibility.go", "v.page(id.Index).despawnOwed &^= bitOf(id.Index)\n\tv.page(id.Index).retained &^= bitOf(id.Index)", "v.page(id.Index).despawnOwed &^= bitOf(id.Index)\n\tv.endAllLinks(id.Index)\n\tv.page(id.Index).retained &^= bitOf(id.Index)"),
		change("ties", "who was hidden before it joined holds the group up", "TestEntityHiddenBeforeItJoinedDelaysNothing",
			"snapshot/atomic.go", "if v.page(index).despawnOwed&bitOf(index) == 0 { // whose", "{ // whose"),
		change("ties", "who is mirrored at once in the place of a dead member comes without the group", "TestAMirroredIndexThatDiesAndIsBornAtOnceKeepsItsTies",
			"snapshot/groups.go", " && v.life(index).generation == s.gens[index]:", ":"),
		change("ties", "what is kept stays tied", nothing,
			"snapshot/visibility.go", "v.endAllLinks(index)\n\tv.page(index).retained |= bitOf(index)", "v.page(index).retained |= bitOf(index)"),
		change("ties", "what the client has all of is tied", nothing,
			"snapshot/atomic.go", "if v.page(index).visible&bitOf(index) != 0 && v.changedAt(index) > v.ack(index).base {", "if v.page(index).visible&bitOf(index) != 0 {"),
		change("ties", "an acknowledged despawn stays tied", dies,
			"snapshot/acked.go", "if v.links.n > 0 && t >= p.endedAt {", "if false {"),
		{rule: "ties", off: "an acknowledged record stays tied", test: "TestMemberThatChangesGroupsIsLinkedToBoth", edits: []edit{
			{"snapshot/acked.go", "if v.links.n > 0 {\n\t\tv.links.endLinksIn", "if false {\n\t\tv.links.endLinksIn"},
			{"snapshot/acked.go", "if v.links.n > 0 {\n\t\tv.links.endLinks(", "if false {\n\t\tv.links.endLinks("},
		}},
		change("ties", "what is acknowledged together stays tied", "TestAcknowledgedUnitIsLinkedNoMore",
			"snapshot/acked.go", "if v.links.n > 0 {\n\t\tv.links.endLinksIn", "if false {\n\t\tv.links.endLinksIn"),
		change("ties", "what is tied goes with its list", "TestSharedListsLeaveOutLinkedEntities",
			"snapshot/list.go", "v.groupOf(index) != nil || v.links.has(index)", "v.groupOf(index) != nil"),
		change("ties", "what has the room of a run is not kept", "TestTheRoomOfARunIsKeptBesideDespawns",
			"snapshot/atomic.go", "t.slack += 7", "t.slack += 0"),
		change("ties", "one that takes more than its third comes with each packet", "TestLinkedEntitiesLeaveEverySecondPacketToOthers",
			"snapshot/atomic.go", "if fits && (alone || !t.tookThird || used+size <= third) {", "if fits && (alone || true || !t.tookThird || used+size <= third) {"),
		change("ties", "the first has the room of others for ever", "TestLinkedEntitiesTakeTurns",
			"snapshot/atomic.go", "t.cursor = index\n", "t.cursor = 0\n"),
		change("ties", "what messages leave no room waits for ever", "TestUnitWithoutRoomBesideMessagesIsSplit",
			"snapshot/atomic.go", "p.s-t.stuck >= p.v.store.cfg.Window", "false"),

		change("ties", "the first of a torn group goes each time", "TestUnitThatFitsNoPacketIsSplitBesideLinks",
			"snapshot/atomic.go", "case v.links.out && p.split:", "case false:"),

		change("ties", "units are found anew for each packet", "TestUnitsAreFoundOnceInATick",
			"snapshot/atomic.go", "t.anew || now != t.seen", "t.anew || now == now"),
		change("ties", "who goes with despawns is gone through for each packet", "TestUnitsAreFoundOnceInATick",
			"snapshot/write.go", "bound := word & p.unitMask(w)", "bound := word & 0"),
		change("ties", "what was lost since the packet before is in no unit that is due", "TestAUnitThatIsLostBetweenPacketsGoesAtOnce",
			"snapshot/view.go", "v.waits = true\n\tv.links.changes++\n}", "v.waits = true\n}"),
		change("ties", "what went with the packet before is due", "TestUnitsThatAreKeptAreThoseThatAreFound",
			"snapshot/atomic.go", "\t\tp.dropSent()\n", ""),

		change("ties", "despawns come first however long a group has waited", starved,
			"snapshot/atomic.go", "return h.packets > patience", "return false"),
		change("ties", "messages that leave a group no room hold up all", "TestAGroupThatMessagesLeaveNoRoomHoldsNothingUp",
			"snapshot/atomic.go", "v.cursor = h.index", "v.cursor = h.index - 1"),
	}
}

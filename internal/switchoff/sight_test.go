package switchoff

// groupsAndSight switches off that a group comes whole, and each of what keeps back every byte of a hidden entity.
func groupsAndSight() []mutation {
	const together, later = "TestAGroupArrivesTogetherOrNotAtAll", "TestCase28AGroupThatMissesTheSpaceWaitsForTheNextPacket"
	const silent, nobody = "TestHiddenFromBirthIsNeverShown", "TestAReferenceToWhatIsHiddenNamesNobody"
	return []mutation{
		change("groups", "each member goes by itself", together,
			"snapshot/write.go", "m != nil && len(m.indexes) > 1 {", "m != nil && false {"),
		change("groups", "members whose newest state is on its way stay behind", together,
			"snapshot/write.go", "case !v.visible.has(index) || v.moved(index) <= v.base(index):", "case !v.visible.has(index) || v.moved(index) <= v.base(index) || !v.unsent.has(index):"),
		change("groups", "one that misses the space is torn", later,
			"snapshot/write.go", "if p.sent.n > 0 || p.partial {\n\t\treturn true, false\n\t}\n\tv.stats.TornGroups++", "v.stats.TornGroups++"),
		change("groups", "one that fits no packet is not told of", "TestCase28AGroupTooLargeForAPacketIsSentOneByOne",
			"snapshot/groups.go", "split := m.least(s, limit) > limit", "split := false && limit > 0"),
		change("groups", "all of one are measured", "TestOnlyAsManyOfAGroupAreMeasuredAsFillAPacket",
			"snapshot/groups.go", "size > limit {\n\t\t\tbreak", "size > limit {"),
		change("groups", "those of a unit are looked up by what many have alike", "TestGroupSetOfMany",
			"snapshot/groupset.go", "group * 0x9E3779B1 >> (33 - bits.Len(uint(len(g.slots))))", "group & mask >> (bits.UintSize - 64)"),
		change("budget", "what goes first is chosen by the ends of what waits", "TestSelectTopInAnyOrder",
			"snapshot/priority.go", "medianOfThree(all[from+quarter], all[(from+to)/2], all[to-1-quarter])", "medianOfThree(all[from+0*quarter], all[(from+to)/2], all[to-1])"),
		change("budget", "unlucky pivots are gone on with", "TestSelectTopSortsWhereItsPivotsAreUnlucky",
			"snapshot/priority.go", "const mostLooks = 8", "const mostLooks = 1000"),
		change("groups", "members have their turns by themselves", "TestMembersOfAGroupHaveTheirTurnsTogether",
			"ecs/pace.go", "p.store.Turn(id, every, p.before, p.now)", "(p.now+tick.Tick(id.Index))/every != (p.before+tick.Tick(id.Index))/every"),

		change("groups", "hidden members make one too large", "TestAGroupIsWholeToWhomWhatItSeesFits",
			"snapshot/portion.go", "if !v.visible.has(index) {", "if false {"),
		change("groups", "components that are not seen make one too large", "TestAGroupIsWholeToWhomWhatItSeesFits",
			"snapshot/portion.go", "s.schema.recordBits(v.maskOf(index)", "s.schema.recordBits(s.rows.masks[index]"),

		change("sight", "what is hidden is sent when it changes", silent,
			"snapshot/view.go", "unsent[w] |= changed & visible[w]", "unsent[w] |= changed | changed&visible[w]"),
		change("sight", "what is hidden among many is sent when it changes", "TestHiddenEntitiesAreSilentAmongMany",
			"snapshot/view.go", "v.unsent[w] |= s.changed[w] & v.visible[w]", "v.unsent[w] |= s.changed[w]"),
		change("sight", "what is new is shown to who is to see nothing new", "TestNewEntitiesAreHiddenUntilShown",
			"snapshot/view.go", "if !v.hideNew {", "{"),
		change("sight", "a reference names what is hidden", nobody,
			"snapshot/retarget.go", "!v.Visible(id) || v.tenants[id.Index].life > t", "v.tenants[id.Index].life > t"),
		change("sight", "a reference names what is shown from the next tick on", "TestAReferenceToWhatIsShownTooLateWaits",
			"snapshot/retarget.go", "!v.Visible(id) || v.tenants[id.Index].life > t", "!v.Visible(id)"),
		change("sight", "who names what comes into sight is not told anew", nobody,
			"snapshot/sight.go", "v.enter(id, t)\n\tv.renamed(id.Index, t)", "v.enter(id, t)"),
		change("sight", "who names one that is hidden after another is sent", "TestWhomARowNamesOfThoseThatAreHiddenIsNoChange",
			"snapshot/change.go", "had && s.schema.refs.Has(row) {\n\t\ts.refs.retarget", "false {\n\t\ts.refs.retarget"),
		change("sight", "whom a row names that was not to be seen meanwhile is not told", "TestARowThatChangedOutOfSightIsTold",
			"snapshot/retarget.go", "if v.readsAlike(c) {", "if v.readsAlike(c) || !v.rowsOf(c.index).Has(c.row) {"),
		change("sight", "a client's own write hides whom the server names", "TestOwnWriteBesideDeadTarget",
			"snapshot/author.go", "if v.touchedAt(id.Index) < v.store.tick {", "if v.observed == v.store.tick {"),
		change("sight", "what is asked of a view while a tick is open does not wait for its commit", "TestAnOpenTickIsNotObserved",
			"snapshot/orders.go", "if v.store.open {", "if false {"),
		change("sight", "an open tick counts as seen", "TestAnOpenTickIsNotObserved",
			"snapshot/view.go", "if v.observed == v.store.tick || v.store.open {", "if v.observed == v.store.tick {"),
		change("sight", "a packet is written while a tick is open", "TestAnOpenTickIsNotObserved",
			"snapshot/write.go", "if v.store.open {", "if false {"),
		change("sight", "a hidden member comes with its group", "TestHiddenMembersDoNotHoldUpAGroup",
			"snapshot/write.go", "case !v.visible.has(index) || v.moved(index) <= v.base(index):", "case v.moved(index) <= v.base(index):"),
		change("sight", "hidden components are sent", "TestVisibilityByComponent",
			"snapshot/record.go", "return v.store.rows.masks[index] & v.rowsOf(index)", "return v.store.rows.masks[index]"),
		change("sight", "what is hidden before the first packet is shown", silent,
			"snapshot/sight.go", "case v.Visible(id):\n\t\tv.end(id.Index, v.next())", "case v.Visible(id) && v.went[id.Index] > 0:\n\t\tv.end(id.Index, v.next())"),
		change("sight", "a message names an entity that is hidden", "TestMessagesNameOnlyWhatIsSeen",
			"refs.go", "if id.Generation != 0 && !s.sees(c, id) {", "if id.Generation != 0 && !s.store.Alive(id) {"),
		change("sight", "a question about what is hidden is answered otherwise than one about nobody", "TestCase46RepliesTellNothing",
			"route.go", "return c != nil && s.sees(c, entity)", "return c != nil && s.store.Alive(entity)"),
	}
}

// hiddenComponents switches off what keeps back that a component which a client may not see has changed.
func hiddenComponents() []mutation {
	const silent = "TestWhatIsHiddenOfAnEntityIsSilent"
	return []mutation{
		change("sight", "what was just shown is tied for what is hidden of it", "TestHidingARowOfWhatWasJustShownTiesNothing",
			"snapshot/personal.go", "if v.tenants[index].life >= t {", "if false {"),
		change("shared lists", "a part of a list leans on what the list does", "TestAPartOfAListTellsWhatItLeansOn",
			"snapshot/sharedpart.go", "l.lean = m.lean", ""),
		change("sight", "a record is made for a hidden component", silent,
			"snapshot/hiddenrows.go", "changed &^= v.silent(w, changed&v.own.masked[w])", "v.silent(w, changed&v.own.masked[w])"),
		change("sight", "a hidden component's coming and going makes a record", silent,
			"snapshot/hiddenrows.go", "(s.was[index]^s.rows.masks[index])&v.rowsOf(index) != 0", "s.was[index]^s.rows.masks[index] != 0"),
		change("sight", "a component that may be seen is not told of beside a hidden one", silent,
			"snapshot/hiddenrows.go", "if s.sinceOf(index, m.next()) == s.tick {", "if s.sinceOf(index, m.next()) > s.tick {"),
		change("sight", "what is lost or acknowledged late counts hidden changes", "TestWhatIsHiddenIsSilentBesideALoss",
			"snapshot/hiddenrows.go", "\t\t\tv.author.pass(v, index)\n", ""),
		change("sight", "whom a hidden component names is not to be told, and is", "TestAHiddenReferenceIsSilent",
			"snapshot/sight.go", "if v.visible.has(index) && v.names(index, target) {", "if v.visible.has(index) {"),
		change("sight", "an echo tells of a hidden component", "TestAnEchoDoesNotTellOfWhatIsHidden",
			"snapshot/retarget.go", "v.store.ChangedRows(id) & v.Rows(id)", "v.store.ChangedRows(id)"),
		change("sight", "a member that leaves its group is tied for what is hidden of it", "TestAGroupDoesNotTellOfWhatIsHidden",
			"snapshot/view.go", "\tif masked {\n\t\tv.lacks()\n\t}\n\tv.left()\n", "\tv.left()\n\tif masked {\n\t\tv.lacks()\n\t}\n"),
		change("sight", "a rule about what an entity lacks makes a record", "TestHidingWhatAnEntityLacksIsSilent",
			"snapshot/personal.go", "if (was^rows)&v.store.rows.masks[id.Index] != 0 {", "{"),
	}
}

package switchoff

import "slices"

// snapshotRules switches off what docs/design.md says under "Rules that make this safe", one sentence after the other.
func snapshotRules() []mutation {
	return slices.Concat(rules1and2(), rules3and4(), rules5and6(), rule7(), rule8())
}

func rules1and2() []mutation {
	return []mutation{
		change("rule 1", "only what changed in this very tick is brought to it", "TestRule1ADeltaBringsEveryRowToItsTick",
			"snapshot/delta_cache.go", "if coded && !slices.Equal(r.now, r.base) ||", "if coded && s.sinceOf(e.index, r.row) == s.tick && !slices.Equal(r.now, r.base) ||"),
		change("rule 1", "a second record of an entity in a tick", "TestRule1ASecondRecordOfATickIsNotSent",
			"snapshot/write.go", "return ack.went != p.s && (", "return ("),
		change("rule 1", "what changes after the first packet of a tick is forgotten", "TestRule1AChangeBetweenThePacketsOfATickFollows",
			"snapshot/write.go", "return v.overrides.lastTouched > t && v.touchedAt(index) > t", "return false"),

		change("rule 7", "that a despawn is owed is not noticed", "TestRule7ADespawnIsOwedForAnyRecordSent",
			"snapshot/visibility.go", "\tv.anyDespawnOwed = true\n\tv.wait(index)", "\tv.wait(index)"),

		{rule: "rule 2", off: "absence is no version: the row before it counts", test: "TestRule2AbsenceIsAVersion", edits: []edit{
			{"snapshot/acked.go", "= t, rows, span, 0", "= t, q.mask.Union(rows), span, 0"},
			{"snapshot/history.go", "\tif c.there&bitOf(index) == 0 ||", "\tif c.there&bitOf(index) == 0 && t > 0 {\n\t\treturn h.rowAt(row, index, t-1, now)\n\t}\n\tif c.there&bitOf(index) == 0 ||"},
		}},
		change("rule 2", "what was not there is what others were", "TestHistoryOfPages",
			"snapshot/history.go", "if c.there&bitOf(index) == 0 || c.tick", "if c.tick"),
		change("rule 2", "what came after T was there at T", "TestHistoryOfPages",
			"snapshot/history.go", "c := p.at(k); c.rows&bit != 0", "c := p.at(k); c.there&bit != 0"),
		change("rule 2", "a tick that is forgotten is read", "TestHistoryOfATickThatDoesNotFit",
			"snapshot/history.go", "|| c.tick <= h.horizon {\n\t\treturn nil\n\t}\n\tn :=", "|| false {\n\t\treturn nil\n\t}\n\tn :="),
		change("rule 2", "a change that is forgotten was none", "TestHistoryOfATickThatDoesNotFit",
			"snapshot/history.go", "if t < h.horizon && p.since[index%format.PageEntities] > t {", "if false {"),
		change("rule 2", "images of a page are read though one before them is forgotten", "TestPagesOfLargeRecordsAreCutBehindAnyRecord",
			"snapshot/delta_batch.go", "h.apart = h.rests || oldest < s.past.horizon ||", "h.apart = h.rests ||"),
		change("rule 1", "who pauses is taken to have moved when its neighbours did", "TestWhenEntitiesMoved",
			"snapshot/moved.go", "s.earlierChange[w<<6+uint32(bits.TrailingZeros64(left))] = m.tick", "s.earlierChange[w<<6+uint32(bits.TrailingZeros64(left))] = now"),
		change("rule 1", "who moves in each tick is written as still", "TestWhenEntitiesMoved",
			"snapshot/moved.go", "m.tick, m.who = now, changed", "m.tick, m.who = now, changed&^m.who"),
		change("rule 2", "a row counts though the client was not shown it at T", "TestRule2RowHiddenAtTIsSentWhole",
			"snapshot/write.go", "shown = v.shown(index, mask)", "shown = mask"),
		change("rule 2", "a record is against what the client may have newer", "TestRecordNamesItsBaselineIfUnclear",
			"snapshot/write.go", "r.known = p.inList || ack.newestUpTo(p.upTo)", "r.known = true"),
		change("rule 2", "the server leans on the row of the tick before, not of T", "TestRule2ADeltaCountsFromTheRowAtT",
			"snapshot/delta_cache.go", "rowAt(r.row, e.index, e.t, r.now)", "rowAt(r.row, e.index, s.tick-1, r.now)"),
		testedIn("snapshot", change("rule 2", "the client leans on the newest record, not on that of T", "TestRule2BaselineIsTheRecordAtT",
			"internal/replica/decode.go", "v := l.records.at(i)\n\tbase", "v := r.history.at(r.lives[r.heads[l.records.at(i).index]].newest())\n\tbase")),
	}
}

func rules3and4() []mutation {
	const alike = "TestRule3BothEndsDecideAlikeAboutTheSecondVersion"
	return []mutation{
		change("rule 3", "the server leans on T' however old that is", alike,
			"snapshot/write.go", "if span == 0 || s.tick-base+tick.Tick(span) >= s.cfg.Window {", "if span == 0 {"),
		change("rule 3", "the server counts the age of T' from T and not from S", alike,
			"snapshot/write.go", "s.tick-base+tick.Tick(span) >= s.cfg.Window", "tick.Tick(span) >= s.cfg.Window"),
		change("rule 3", "the server leaves T' a tick too early", alike,
			"snapshot/write.go", "s.tick-base+tick.Tick(span) >= s.cfg.Window", "s.tick-base+tick.Tick(span) >= s.cfg.Window-1"),
		testedIn("snapshot", change("rule 3", "the client leaves T' a tick too late", alike,
			"internal/replica/decode.go", "s-v.base(base.tick) >= r.window", "s-v.base(base.tick) > r.window")),
		change("rule 3", "the server leans on rows that the client may hold no more", "TestRule3LeansOnTWhileBothEndsHoldIt",
			"snapshot/history.go", "max(h.horizon, t-h.keep)", "max(h.horizon, t-2*h.keep)"),

		change("rule 4", "the server keeps no version older than the window", "TestRule4AnEntityThatSleptStillHasItsBaseline",
			"snapshot/write.go", "if !inWindow && (shown != mask || v.touchedAt(index) > base) {", "if !inWindow {"),
		testedIn("snapshot", change("rule 4", "the client keeps no version older than its past", "TestRule4AnEntityThatSleptStillHasItsBaseline",
			"internal/replica/versions.go", "r.evict(t, v, b.lanes[v.first:])", "_ = v")),
		testedIn("snapshot", change("rule 4", "the client leans on nothing of a record that was followed", "TestRule4SupersededVersionIsABaseline",
			"internal/replica/decode.go", "case next.tick != tick.None && ref.tick >= t:", "case false:")),
		testedIn("snapshot", change("rule 4", "what remains says nothing of a record that was followed", "TestRule4SupersededVersionIsABaseline",
			"internal/replica/versions.go", "since = e.tick + 1", "since = t")),
		testedIn("snapshot", change("rule 4", "the first tick leaves no trace when it leaves", "TestRule4TheFirstTickLeavesTheWindow",
			"internal/replica/versions.go", "horizon: max(start-keep, tick.None)", "horizon: start")),
		testedIn("snapshot", change("rule 4", "the client keeps one window and not two", "TestRule4BaselineOfALatePacketIsThere",
			"internal/replica/replica.go", "2*cfg.Window+graceTicks", "cfg.Window")),
		testedIn("snapshot", change("rule 4", "a packet a window behind is read", "TestRule4OldPacketsAreDroppedUnread",
			"internal/replica/decode.go", "case s <= r.newest-r.window:", "case s <= r.newest-2*r.window:")),
		change("rule 4", "a world that rests says nothing until its ticks mean others", "TestRule4AWorldThatRestsForAnHourIsUnderstoodAfterwards",
			"snapshot/view.go", "if s.tick-v.spoke >= heartbeat {", "if s.tick-v.spoke >= heartbeat<<10 {"),
	}
}

func rules5and6() []mutation {
	return []mutation{
		testedIn("snapshot", change("rule 5", "what of a packet could be decoded takes effect", "TestRule5ClientWithoutABaselineAsks",
			"internal/replica/decode.go", "\tif err != nil {\n\t\tr.pending.drop()", "\tif err != nil {\n\t\tr.commit(s)\n\t\tr.pending.drop()")),
		change("rule 5", "a run goes on with numbers that are not finite", "TestOneFloatThatIsNotFiniteIsRefused",
			"quantize/columns.go", "exponentOnes)&exponentCarries == 0", "exponentOnes)&1 == 0"),
		change("rule 5", "a packet is acknowledged before it is decoded", "TestNoDecodeNoAck",
			"internal/peer/conn.go", "c.stats.Received++", "c.stats.Received++\n\tc.Accept(Incoming{Sequence: sequence, Eliciting: true}, now)"),
		change("rule 5", "acknowledgements of before a resync make baselines", "TestRule5AfterAResyncEarlierAcksMakeNoBaseline",
			"snapshot/acked.go", "counts := seq >= v.epochSeq", "counts := true"),
		change("rule 5", "an epoch is served each time that it comes", "TestRule5AfterAResyncEarlierAcksMakeNoBaseline",
			"snapshot/acked.go", "return int16(epoch-v.epoch) <= 0", "return int16(epoch-v.epoch) < 0"),
		change("rule 5", "a resync of nothing is not answered", "TestRule5AResyncIsAnsweredWhereNothingIsToBeSeen",
			"snapshot/acked.go", "v.answer, v.answered = true, false", "v.answer, v.answered = false, false"),
		testedIn("snapshot", change("rule 5", "a client that lacks a baseline does not ask for a resync", "TestRule5ClientWithoutABaselineAsks",
			"internal/replica/decode.go", "if int16(r.pending.epoch-r.wanted) >= 0 {", "if false {")),
		testedIn("snapshot", change("rule 5", "what came of before the loss is leaned on", "TestRule5VersionsBeforeTheLossAreNoBaselines",
			"internal/replica/decode.go", "if ref.tick <= upTo && ref.tick > r.lostAt {", "if ref.tick <= upTo {")),

		testedIn("snapshot", change("rule 6", "a late record changes the world", "TestRule6LateIsNotUseless",
			"internal/replica/replica.go", "if s <= l.applied || r.heads[v.index] != n {", "if r.heads[v.index] != n {")),
		testedIn("snapshot", change("rule 6", "a late record does not enter the history", "TestRule6LateIsNotUseless",
			"internal/replica/replica.go", "} else if !r.insert(l, v, versionRef{tick: s, place: int32(place)}) {", "} else {")),
		change("rule 6", "an older acknowledgement replaces a newer baseline", "TestRule6AnOlderAckDoesNotReplaceANewerBaseline",
			"snapshot/acked.go", "in != 0 && t > g.base {", "in != 0 {"),
		change("rule 6", "an older acknowledgement replaces a newer baseline of one", "TestRule6AnOlderAckDoesNotReplaceANewerBaselineOfOne",
			"snapshot/acked.go", "if t > q.base {", "if t != q.base {"),
		testedIn("snapshot", change("rule 6", "a late record stands for the newest where the past was lost", "TestRule6LateAfterTheLossIsNotTheNewest",
			"internal/replica/ranges.go", "if l.newestTick != l.applied {", "if false {")),
		testedIn("snapshot", change("rule 6", "a late record lies where the newest is looked for", "TestRule6LateAfterTheLossIsNotTheNewest",
			"internal/replica/ranges.go", "if l.newestTick != l.applied || ", "if ")),
	}
}

func rule7() []mutation {
	const nothing, anyRecord = "TestRule7NothingIsOwedWhereNothingWasSent", "TestRule7ADespawnIsOwedForAnyRecordSent"
	return []mutation{
		change("rule 7", "acknowledgements of an earlier life make baselines", "TestRule7AcksOfAnEarlierLifeMakeNoBaseline",
			"snapshot/acked.go", "if v.page(index).visible&bitOf(index) == 0 || t < v.life(index).firstTick {", "if v.page(index).visible&bitOf(index) == 0 {"),
		change("rule 7", "a despawn is owed for acknowledged records only", anyRecord,
			"snapshot/visibility.go", "v.leave(index, t)\n\tif v.life(index).shownGeneration == 0 {", "known := v.ack(index).base != tick.None\n\tv.leave(index, t)\n\tif !known {"),
		change("rule 7", "a despawn is owed where nothing was sent", nothing,
			"snapshot/visibility.go", "if v.life(index).shownGeneration == 0 {", "if false {"),
		change("rule 7", "a despawn of an earlier end settles", "TestRule7OnlyADespawnOfTheLatestEndSettles",
			"snapshot/acked.go", "if v.page(index).despawnOwed&bitOf(index) == 0 || t < p.endedAt {", "if v.page(index).despawnOwed&bitOf(index) == 0 {"),
		testedIn("snapshot", change("rule 7", "a tombstone leaves with the next packet", "TestRule7ATombstoneStaysAsLongAsARecordMayCome",
			"internal/replica/replica.go", "r.tombstones[k].at <= r.history.horizon", "r.tombstones[k].at <= r.newest")),
		testedIn("snapshot", change("rule 7", "tombstones never leave", "TestRule7TombstonesLeaveByTickOnly",
			"internal/replica/replica.go", "k < len(r.tombstones) && r.tombstones[k].at <= r.history.horizon", "false")),
		testedIn("snapshot", change("rule 7", "a record of a lower generation takes effect", "TestRule7ARecordOfALowerGenerationIsLate",
			"internal/replica/replica.go", "if s <= l.applied || r.heads[v.index] != n {", "if s <= l.applied {")),
		testedIn("snapshot", change("rule 7", "a late record wakes who is gone", anyRecord,
			"internal/replica/replica.go", "if s <= l.applied {\n\t\tr.stats.Late++\n\t\treturn\n\t}\n\tl.applied = s\n", "if s <= l.applied {\n\t\tr.stats.Late++\n\t\treturn\n\t}\n")),
		change("rule 7", "an index comes back with the generation it had", "TestRule7TheHigherGenerationWins",
			"snapshot/store.go", "s.gens[index]++\n", "s.gens[index] = max(s.gens[index], 1)\n"),
		change("rule 7", "what is left to a client needs no record that arrived", "TestRule7KeepBeforeARecordArrivedOwesTheDespawn",
			"snapshot/visibility.go", "if v.ack(index).base == tick.None {\n\t\tv.end", "if false {\n\t\tv.end"),
		{rule: "rule 7", off: "a life goes on where the one before it ended", test: "TestRule7ALifeBeginsWhole", edits: []edit{
			{"snapshot/visibility.go", "v.page(index).oversize &^= bitOf(index)\n\tv.forget(index)", "v.page(index).oversize &^= bitOf(index)"},
			{"snapshot/visibility.go", "v.forget(id.Index)\n\tp := ", "p := "},
		}},
	}
}

func rule8() []mutation {
	const newest = "TestRule8LostEntityIsSentInItsNewestState"
	return []mutation{
		change("rule 8", "what is lost is not sent again", newest,
			"snapshot/acked.go", "v.wait(index)\n\t\t\t\tv.stats.Resent++", "v.stats.Resent++"),
		change("rule 8", "what a newer packet carries is sent again too", newest,
			"snapshot/acked.go", "case v.ack(index).went != p.tick:", "case false:"),
		change("rule 8", "what is on its way is sent again", newest,
			"snapshot/write.go", "v.pages[w].unsent &^= bit", "_ = bit"),
		change("rule 8", "an acknowledgement that comes after the loss counts no more", newest,
			"snapshot/acked.go", "if p == nil || p.acked {", "if p == nil || !p.pending {"),
		change("rule 8", "a packet that is overwritten while pending is forgotten", "TestRule8APacketOverwrittenWhilePendingIsLost",
			"snapshot/write.go", "v.stats.Overwritten++\n\tv.lost(p)", "v.stats.Overwritten++"),
		change("rule 8", "spare budget repeats what went out in this tick", "TestRule8SpareBudgetMayRepeat",
			"snapshot/view.go", "if v.ack(index).went < before {", "if v.ack(index).went <= before {"),
		change("rule 8", "one later packet is enough to show a loss", "TestLostByThreeOfLaterTicks",
			"internal/peer/sent_packets.go", "case r.step < s.ackedSteps[s.overtakers-1]:", "case r.step < s.ackedSteps[0]:"),
		change("rule 8", "no later packets show a loss", "TestLostByThreeOfLaterTicks",
			"internal/peer/sent_packets.go", "case r.step < s.ackedSteps[s.overtakers-1]:", "case false:"),
		change("rule 8", "packets of the same tick show a loss", "TestLostByThreeOfLaterTicks",
			"internal/peer/sent_packets.go", "if t != s.tick || s.step == 0 {", "{"),
		change("rule 8", "time shows no loss", "TestLostByTime",
			"internal/peer/sent_packets.go", "case now-r.at >= timeout:", "case false:"),
		change("rule 8", "a round trip is enough, without its quarter", "TestLostByTime",
			"internal/peer/sent_packets.go", "r.smoothed + r.smoothed/4 + r.jitter", "r.smoothed + r.jitter"),
		change("rule 8", "a round trip and a quarter is enough, without the jitter", "TestLostByTime",
			"internal/peer/sent_packets.go", "r.smoothed + r.smoothed/4 + r.jitter", "r.smoothed + r.smoothed/4"),
		change("rule 8", "what time alone calls lost is overwritten", "TestFullRingStopsSending",
			"internal/peer/sent_packets.go", "return sequence > s.newest && s.now-r.at < awaitedFor", "return false"),
		change("rule 8", "a full ring stays full", "TestFullRingStopsSending",
			"internal/peer/sent_packets.go", "return sequence > s.newest && s.now-r.at < awaitedFor", "return true"),
		change("rule 8", "a full ring leaves no room for acknowledgements", "TestAFullRingHasRoomForSignsOfLife",
			"internal/peer/conn.go", "return left > 0 && now-c.sent.at(c.sent.next-1).at >= awaitedFor/time.Duration(signs/2)", "return false"),
		change("rule 8", "what is on its way is forgotten where entries are short", "TestSentRingGrowsWithPacketsOnTheirWay",
			"snapshot/sent.go", "if remembered || p.tick == t {", "if p.tick == t {"),
	}
}

package switchoff

// predictions switches off rules of package predict.
func predictions() []mutation {
	const (
		exact   = "TestNothingIsMispredictedWhereNobodyInterferes"
		effects = "TestEffectsAreHeardOnce"
		same    = "TestASpawnStaysTheSameEntity"
	)
	list := []mutation{
		change("predict", "one tick fewer is kept than a client predicts ahead", "TestTheHistoryHasTheWholeWindow",
			"predict/history.go", "return h.masks[int(t%Window)*h.slots+slot]", "return h.masks[int(t%(Window-1))*h.slots+slot]"),
		change("predict", "local components do not go back", exact,
			"predict/order.go", "if to > from && p.mask>>k&1 != 0 &&", "if to > from && h.components[k].row >= 0 && p.mask>>k&1 != 0 &&"),
		change("predict", "effects play in replays", effects,
			"predict/effect.go", "played[match].inRun, f.next = true, match+1\n\treturn true", "played[match].inRun, f.next = true, match+1\n\treturn false"),
		change("predict", "an effect that the server refuses is not cancelled", effects,
			"predict/claims.go", "chosen.cancelled = true\n", "return\n"),
		testedIn("predict", change("predict", "the step of a spawn goes to everybody", "TestTheStepOfASpawnGoesToItsOwnerAlone",
			"snapshot/component_visibility.go", "return s.schema.Owned\n", "return Mask{}\n")),
		change("predict", "a spawn is matched by its player alone", exact,
			"predict/spawn.go", "s.used && s.id.IsZero() && s.origin == origin &&", "s.used && s.id.IsZero() && s.origin.Client == origin.Client &&"),
		change("predict", "a spawn is matched with none", same,
			"predict/spawn.go", "return s.entity, true\n\t\t}\n\t}\n\treturn netecs.Entity{}, false\n}\n\n// originOf", "return netecs.Entity{}, false\n\t\t}\n\t}\n\treturn netecs.Entity{}, false\n}\n\n// originOf"),
		change("predict", "a spawn that the server does not make stays", "TestAGhostIsGoneWithinARoundTrip",
			"predict/spawn.go", "case known(s.spawned+lateTicks) || heard >= 2*trip+lateTicks:", "case false:"),
		change("predict", "a spawn that comes late is removed before", "TestASpawnThatComesLateIsTheSameEntity",
			"predict/spawn.go", "c.history.mask(s.absent, i)&alive != 0):\n\t\t\tc.hide(i)", "c.history.mask(s.absent, i)&alive != 0):\n\t\t\tc.unspawn(i)"),
		change("predict", "a spawn that comes late was predicted not to be there", "TestASpawnThatComesLateIsTheSameEntity",
			"predict/spawn.go", "s.hidden, s.late = false, true", "s.hidden = false"),
		change("predict", "the server continues with what does not travel", exact,
			"predict/server.go", "plan.SnapRows(s.simulated.bytes(t, firstRow+i, 0, t.rows), s.lanes, t.rows)", "_ = plan"),
		change("predict", "a client continues with what does not travel", exact,
			"predict/history.go", "c.plan.SnapRows(from, wordsOf(to), n)", "c.plan.SnapRows(slices.Clone(from), wordsOf(to), n)"),
		change("predict", "a client is not told which input stood in", exact,
			"input/used.go", "u.ticks[n], u.types[n], u.news = at, 0, u.news|1<<n", "u.ticks[n], u.types[n] = at, 0"),
		change("predict", "a component that differs counts as the same", "TestEachMispredictionIsRepaired",
			"predict/history.go", "return c.keepsLanes() && c.compare", "return c.keepsLanes() || c.compare"),
		change("predict", "a replay does not return states that were compared by columns", "TestAReplayKeepsComparedStates",
			"predict/compare.go", "c.ahead = max(c.ahead, e.Tick)", "_ = c.ahead"),
		change("predict", "inputs that were used are told in each packet of a frame", "TestPredictionSendsNoPacketsOfItsOwn",
			"input/used.go", "u.sent[packet%usedSent], u.told = s, true", "u.sent[packet%usedSent] = s"),
		change("predict", "inputs of a player who is hidden are told", "TestInputsOfAPlayerWhoIsHiddenAreNotTold",
			"input/relay_server.go", "|| !view.Visible(o.entity) {", "|| view == nil {"),
		change("predict", "inputs of others are in each packet of a frame", "TestRelayedInputsAreToldOnceATick",
			"input/relay_server.go", "to.told = true", "to.told = false"),
		change("predict", "an input that was guessed wrongly is not corrected", "TestInputsOfOthersMakePredictionsBetter",
			"predict/compare.go", "input.Guessed(c.end); ok &&", "input.Guessed(c.end); false && ok &&"),
		change("predict", "an input is told to be early by whole ticks", "TestAGhostIsGoneWithinARoundTrip",
			"tick/window.go", "return max(whole, input.Begin().Sub(came))", "return whole"),
		change("predict", "a difference by the input of another player is a misprediction", "TestInputsOfOthersMakePredictionsBetter",
			"predict/compare.go", "if c.comparison.otherInputs == tick.None || t <= c.comparison.otherInputs {", "if true {"),
		change("predict", "a client is not told that an entity rests", "TestAWallThatOnlyTheServerKnowsStopsThePlayer",
			"predict/rest.go", "if r.wroteAt == now ||", "if r.wroteAt <= now ||"),
		change("predict", "a stall is caught up in one frame", "TestStallsAreBounded",
			"predict/client.go", "if n == c.sim.config.MaxReplay {", "if n < 0 {"),
		change("predict", "Apply writes what is predicted", exact,
			"ecs/apply.go", "has: state.mask.Minus(state.setAside)}", "has: state.mask}"),
		change("predict", "Apply restores what is predicted", exact,
			"ecs/apply_local.go", "|| state.setAside.Has(c.row) {", "{"),
	}
	list = append(list,
		change("predict", "hashes are those of the first run of a tick", "TestAMispredictionNamesTheSystem",
			"predict/explain.go", "clear(t.sums[n])", "_ = n"),
		change("predict", "a server's entity is not the one of the step that spawned it", "TestASpawnIsThereOnce",
			"predict/predicted.go", "origin.Client == c.end.ID() && origin.Client != 0 &&", "origin.Client == c.end.ID() && origin.Client == 0 &&"),
		change("predict", "local state of another time is used again", "TestLocalStateBeginsAnew",
			"predict/predicted.go", "c.sim.simulateID, c.history.maskOf(w, e, c.sim.simulateID)&c.replicatedBits())", "c.sim.simulateID, c.history.maskOf(w, e, c.sim.simulateID))"),
		change("predict", "a choice is told again and again", "TestChoicesAreToldOnce",
			"predict/chosen.go", "if was, is := s.client.choices.wanted[entity]; is && was == on {", "if was, is := s.client.choices.wanted[entity]; is && was != on && was == on {"),
		change("predict", "a server does not learn which entities a client chose", "TestAChosenEntityThatRestsIsCorrected",
			"predict/chosen.go", "*l = append(*l, id)", "_ = id"),
		change("predict", "what a step despawned is shown", "TestADespawnedEntityIsNotShown",
			"predict/predicted.go", "c.structure.without(w, e, p.shown.id)", "_ = w"),
		change("predict", "the end of a prediction is a jump", "TestTheEndOfAPredictionIsNoJump",
			"predict/show.go", "c.smoothing.leaving = append(c.smoothing.leaving, l)", "_ = l"),
		change("predict", "a component that a client writes is predicted", "TestAComponentThatAClientWritesIsNotPredicted",
			"predict/register.go", "authority.WriterOf(a.protocol, plan) != authority.ServerWrites", "authority.WriterOf(a.protocol, plan) != authority.ServerWrites && false"),
	)
	list = append(list, laterPredictions()...)
	for i := range list {
		list[i].in = "predict"
	}
	return append(append(list, screens()...),
		change("relay", "a press of another player stands in for later ticks", "TestAMissingInputIsGuessed",
			"input/relay_client.go", "r.in.plans[n].ClearEvents(guess)\n\t\tif f", "if f"),
		change("relay", "a client keeps the inputs of any number of players", "TestRelayedInputsAreBoundedAtAClient",
			"input/relay_client.go", "len(r.players) == relayPlayers", "len(r.players) < 0"),
		change("relay", "inputs of ticks that are far away are taken", "TestRelayedInputsAreBoundedAtAClient",
			"input/relay_client.go", "at <= now-Window || at >= now+reach", "false"),
	)
}

// laterPredictions switches off rules about local state, what is predicted, columns and times.
func laterPredictions() []mutation {
	const (
		local  = "TestLocalStateComesFromTheServer"
		others = "TestLocalStateOfOthersIsNotTold"
		some   = "TestSomeClientsPredict"
	)
	return []mutation{
		change("predict", "a client does not ask for local state after a misprediction", local,
			"predict/compare.go", "if c.slots[n].asked+askAgain < c.now {", "if c.slots[n].asked > c.now {"),
		change("predict", "an answer about local state is lost in a replay", "TestLocalStateStaysThroughAReplay",
			"predict/client.go", "if len(c.locals.taken) > 0 {", "if len(c.locals.taken) < 0 {"),
		change("predict", "local state of others is told", others,
			"predict/local.go", "&& s.predictedBy(e, ctx.Sender) {", "{"),
		change("predict", "local state of hidden entities is told", others,
			"predict/local.go", "session.View().Visible(id) &&", "session.View() != nil &&"),
		change("predict", "a Rate delays what is predicted", "TestARateDoesNotDelayWhatIsPredicted",
			"predict/server.go", "return s.sim.all.mask", "return rows"),
		change("predict", "local state of any tick waits", "TestLocalStateOfLaterTicksIsBounded",
			"predict/local.go", "case l.tick >= c.now+Window:", "case l.tick < 0:"),
		change("predict", "a client asks for local state though too much waits", "TestLocalStateOfLaterTicksIsBounded",
			"predict/local.go", "&& len(l.known) < knownAtMost", ""),
		change("predict", "a choice of a hidden entity takes its Rate", "TestAChoiceOfAHiddenEntityChangesNoRate",
			"predict/chosen.go", "if view != nil && view.Visible(id) {", "if view != nil {"),
		change("predict", "a Rate delays nothing", "TestARateDoesNotDelayWhatIsPredicted",
			"predict/server.go", "if s.predictedByAny.has(id.Index) {", "if id.Index > 0 {"),
		change("predict", "a mask has no effect", some,
			"components/predicted.go", "|| p.Mask>>(client%64)&1 != 0", "|| p.Mask == 1"),
		change("predict", "an entity at rest is told in no packet of its own", some,
			"predict/rest.go", "if busy || now <", "if busy || len(r.entities) >= 0 || now <"),
		change("predict", "a ghost waits for a loss that there is not", "TestAGhostIsGoneWithinARoundTrip",
			"predict/spawn.go", "arrived >= t || c.replica.Complete(s.spawned, t)", "arrived >= t"),
		change("predict", "a client at rest is not told that its spawns have come", "TestAGhostIsGoneWithinARoundTrip",
			"predict/rest.go", "r.spawnsArrived = max(r.spawnsArrived, at)", "_ = at"),
		change("predict", "a client with a spawn on its way is told that all have come", "TestASpawnThatComesLateIsTheSameEntity",
			"predict/spawn.go", "return len(*u) == 0", "return true"),
		change("predict", "a value out of bounds stays until it has travelled", "TestAValueOutOfBoundsIsTheBoundOnBothEnds",
			"quantize/columns.go", " || !p.Quantise(at, lanes[k*width:]).kept {", " {"),
		change("predict", "entities that change places are not noticed", "TestEntitiesThatChangePlacesAreNoticed",
			"predict/order.go", "if moved || !bytes.Equal(o.parts[i].places, o.placesOf(i)) {", "if moved || bytes.Equal(o.parts[i].places[:0], o.placesOf(i)) {"),
		change("predict", "a table that shrinks is not noticed", "TestTheOrderIsWhatAQueryFinds",
			"predict/tables.go", "if world.RowKey(&q, t.ids[0]) != one.last {", "if one.rows < 0 {"),
		change("predict", "a span goes over indexes that do not follow", "TestSpansAreWhatFollows",
			"predict/compare.go", "c.slots[n+1].id.Index == c.slots[n].id.Index+1 && ", ""),
		change("predict", "masks of another order are taken", "TestAPlaceIsKeptAnew",
			"predict/order.go", "known := h.arranged[t%Window] == o.version && !plain.On", "known := h.arranged[t%Window] > 0 && !plain.On"),
		change("predict", "a tolerance has no effect", "TestADifferenceBelowTheToleranceIsNoMisprediction",
			"predict/compare.go", "from.Row(p.row), p.tolerance)", "from.Row(p.row), 0)"),
		change("predict", "a correction beyond Snap is shown bit by bit", "TestACorrectionBeyondSnapIsAJump",
			"predict/show.go", "p.snap > 0 && v.blend.Distance", "p.snap < 0 && v.blend.Distance"),
		change("predict", "random numbers are those of the entity alone", "TestRandIsAFunctionOfTickAndEntity",
			"predict/step.go", "sim.config.Seed^uint64(s.Tick)*0x9E3779B97F4A7C15", "sim.config.Seed"),
		change("predict", "a misprediction has the input of another tick", "TestAMispredictionHasTheInput",
			"predict/step.go", "return input.Own[T](sim.client.end, m.Tick)", "return input.Own[T](sim.client.end, m.Tick-1)"),
		change("predict", "a replay spawns an entity with what its step added", "TestAReplaySpawnsTheEntityAsItWas",
			"predict/spawn.go", "if s.added.Get(id) && world.Has(w, s.entity, id) {", "if false {"),
		change("predict", "a replay takes the game's sprite from a spawn", "TestAReplaySpawnsTheEntityAsItWas",
			"predict/spawn.go", "if s.added.Get(id) && world.Has(w, s.entity, id) {", "if world.Has(w, s.entity, id) && id != c.sim.ownerID && id != c.sim.spawnOfID && id != c.sim.simulateID && id != c.placeID && id != c.sim.replicatedID {"),
		change("predict", "a step gives a spawn a component that the server replaces", "TestASpawnHasNoReplicatedComponentThatIsNotPredicted",
			"predict/spawn.go", "\t\t\tc.mustNotTravel(s.added)\n", ""),
	}
}

// screens switches off what holds of a player's screen, of effects and of other systems.
func screens() []mutation {
	const shells = "TestEffectsOfShellsThatDieAreThoseOfTheServer"
	const stops, leaps, effects, others, relation = "TestACorrectionStopsNothing", "TestAChangeOfPredictionIsNoLeap", "TestEffectsThatTheServerRefusesAreCancelled", "TestOtherSystemsAreReported", "TestARelationIsShownAsLateAsItsRider"
	list := []mutation{
		change("predict", "a correction is compared with the next frame", stops,
			"predict/show.go", "if m.tick <= c.now && c.history.holds(m.tick) &&", "if m.tick < 0 && c.history.holds(m.tick) &&"),
		change("predict", "a postponed replay is shown", stops,
			"predict/show.go", "carry := !ready && s.show.remembered != 0 &&", "carry := !ready && s.show.remembered == 1<<63 &&"),
		change("predict", "the begin of a prediction is a jump", leaps,
			"predict/show.go", "case s.show.enters && !c.jumps(", "case false && s.show.enters && !c.jumps("),
		change("predict", "the end of a prediction is compared with another frame", leaps,
			"predict/show.go", "l.measured = c.mixPast(s.id, k, c.smoothing.past, l.to)", "l.measured = c.mixPast(s.id, k, c.smoothing.past.Add(-tick.OneTick), l.to)"),
		change("predict", "an entity that the server removed is gone before its step", shells,
			"predict/predicted.go", "if ended <= c.history.oldest ||", "if true || ended <= c.history.oldest ||"),
		change("predict", "a spawn that ended before it was shown is hidden before its step", shells,
			"predict/spawn.go", "case s.absent == tick.None || c.now < s.absent:", "case s.absent == tick.None:"),
		change("predict", "an entity of the first ticks is never predicted", "TestAPlayerOfTheFirstTicksIsPredicted",
			"predict/client.go", "c.followChanges()\n\tat := c.end.Time()\n\ttarget := c.target(at)\n", "at := c.end.Time()\n\ttarget := c.target(at)\n\tif target > tick.None {\n\t\tc.followChanges()\n\t}\n"),
		change("predict", "a removed entity has no name", "TestEffectsOfMinesThatDieAreThoseOfTheServer",
			"predict/step.go", "id = s.client.idOf(e)", "_ = e"),
		change("predict", "an effect that the server refuses stays", effects,
			"predict/claims.go", "return count < c.Ordinal\n}", "return false && count < c.Ordinal\n}"),
		change("predict", "effects at no place are equal, whoever plays them", effects,
			"predict/effect.go", "if e.IsZero() && value != 0 {", "if false {"),
		change("predict", "the second effect of a kind counts as the first", shells,
			"predict/effect.go", "f.ordinals[n] = made.ordinal\n", ""),
		change("predict", "the server judges effects before their step", shells,
			"predict/claims.go", "if t > s.sim.step.Tick &&", "if t > s.sim.step.Tick+1 &&"),
		change("predict", "other systems are not told", others,
			"predict/determinism.go", "theirs != nil && !slices.Equal(theirs, c.names)", "theirs == nil && !slices.Equal(theirs, c.names)"),
		change("predict", "a client is told nothing of mispredictions in a row", others,
			"predict/determinism.go", "d.inARow += weight", "d.inARow += 0"),
		change("predict", "systems in another order are not told", others,
			"predict/determinism.go", "weight = wrongOrderWeight", "_ = wrongOrderWeight"),
		change("predict", "systems of one end are taken for another order", "TestSystemsForTheScreenAreNotReported",
			"predict/determinism.go", "if at < last {", "if at != last+1 {"),
		change("interpolate", "a relation is newer than what is shown", relation,
			"ecs/smooth.go", "a.targets.late = a.targets.late.With(in.Row)", "_ = in"),
		change("interpolate", "a relation that changes later is forgotten", relation,
			"ecs/apply_references.go", "g.waiting = append(g.waiting, lateTarget{index, shown})", "_ = lateTarget{index, shown}"),
		change("relations", "one component's targets alone are set", "TestRelationsOfTwoComponentsFormNoCycle",
			"ecs/apply_references.go", "if g := &s.graphs[i]; rows.Has(g.row) {", "if g := &s.graphs[i]; i == 0 && rows.Has(g.row) {"),
		change("relations", "relations of two components are one cycle", "TestRelationsOfTwoComponentsFormNoCycle",
			"ecs/capture_references.go", "t.cycles.setTarget(q.id.Index, target.Index, !target.IsZero())", "r.tables[0].cycles.setTarget(q.id.Index, target.Index, !target.IsZero())\n\t\t\tt.cycles.onCycle = r.tables[0].cycles.onCycle"),
	}
	for i := range list {
		list[i].in = "nettest"
	}
	return append(list, change("predict", "the effects of a client wait without bound", "TestClaimsAreBounded",
		"predict/claims.go", "max(claimsAtMost-len(l.waiting)-l.judged, 0)", "len(effects)").inFolder("predict"))
}

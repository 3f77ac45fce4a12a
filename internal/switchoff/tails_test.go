package switchoff

// tails switches off the rules of texts and lists in rows, of ids at birth, and of loaded levels.
func tails() []mutation {
	return append(rowTails(), births()...)
}

// births switches off what holds of entities that have their ids before they are captured, and of those that both ends have loaded.
func births() []mutation {
	const birth, dies = "TestIDAtBirth", "TestIDAtBirthOfOneThatDies"
	at := func(what, test, file, old, with string) mutation {
		return testedIn("nettest", change("births", what, test, file, old, with))
	}
	return []mutation{
		at("a message to those who see an entity goes to all before it is captured", birth,
			"internal/endpoint/send.go", "p.Seers = to.entity() //", "_ = to.entity() //"),
		at("a message names an entity before it is known who sees it", birth,
			"internal/endpoint/names.go", "return e.atServer() && e.Store.Reserved(entity) || e.owner.Sees(l, entity)", "return e.owner.Sees(l, entity)"),
		at("a message with the name of an entity does not wait for its capture", birth,
			"internal/endpoint/names.go", "\tif !e.atServer() || !e.Store.Reserves() {\n", "\tif true {\n"),
		at("a Hide before the capture does not count", birth,
			"server_frame.go", "if len(s.earlySights) > 0 {", "if len(s.earlySights) < 0 {"),
		at("an owner before the capture does not count", birth,
			"snapshot/reserve.go", "owner != 0 {\n\t\ts.SetOwner(id, owner)", "owner != 0 {\n\t\ts.SetOwner(id, 0)"),
		at("a right before the capture does not count", birth,
			"snapshot/reserve.go", "named != 0 {\n\t\ts.SetNamed(id, named)", "named != 0 {\n\t\ts.SetNamed(id, 0)"),
		at("the id of an entity that died is not ended", dies,
			"ecs/capture.go", "if len(c.reserved) > 0 {", "if len(c.reserved) < 0 {"),
		at("a reset of the world keeps ids", "TestIDAtBirthAndReset", "ecs/capture.go", "\tc.endUnborn()\n\tc.tracker", "\tc.tracker"),
		at("an entity of Spawn that was despawned counts as there", "TestIDAtBirthWithoutAWorld",
			"internal/worldless/entities.go", "\te.store.Forsake(id)\n", ""),
		at("a client's loaded entity is not the server's", "TestSceneEntitiesBecomeTheServers",
			"ecs/scene.go", "if s.row < 0 || !now.Mask.Has(s.row) {", "if s.row >= 0 {"),
		at("a loaded entity goes with its connection", "TestSceneReconnect",
			"ecs/apply.go", "keep = a.entities[index].loaded //", "keep = false //"),
		at("two loaded entities with one number are not reported", "TestSceneDuplicates",
			"ecs/scene.go", "a.tracker.noteStrange(DuplicateSceneID, later)", "_ = later"),
		at("two entities of the server with one number are not reported", "TestSceneDuplicates",
			"ecs/capture.go", "if c.scene.row >= 0 {", "if c.scene.row < -1 {"),
		testedIn("systems", change("saves", "a damaged saved game is read", "TestLoadRefuses",
			"record/input.go", "if checksum(all[:chunkFixed-4], packed) != h.sum {", "if false {")),
		testedIn("systems", change("saves", "a reference in a saved game names another", "TestSaveAndLoad",
			"record/save.go", "return name(place)", "return name(0 * place)")),
		testedIn("systems", change("saves", "an owner is not saved", "TestSaveAndLoad",
			"systems/save.go", "s.SetOwner(ids[i], owner)", "s.SetOwner(ids[i], owner*0)")),
	}
}

// rowTails switches off the rules of the tails themselves.
func rowTails() []mutation {
	const golden, junk, bits = "TestTailGolden", "TestTailIgnoresJunk", "TestTailBits"
	return []mutation{
		change("tails", "a text that is no UTF-8 is read", golden,
			"quantize/tail.go", "!utf8.Valid(o.textOf(row, &buf)) {", "len(o.textOf(row, &buf)) > maxText {"),
		change("tails", "a text or a list is longer than its bound", golden,
			"quantize/tail.go", "if n > uint64(o.tail.most) {", "if n > 1<<20 {"),
		change("tails", "a text or a list that does not differ is read as a change", golden,
			"quantize/tail.go", " || !o.legalTail(row) || !o.differs(before, row) {", " || !o.legalTail(row) {"),
		change("tails", "more bytes stay than there are", golden,
			"quantize/tail.go", "if kept > was || more", "if more"),
		change("tails", "a byte that stays is sent", golden,
			"quantize/tail.go", "if kept < was && more > 0 && textByte", "if kept > was && more > 0 && textByte"),
		change("tails", "a list shrinks below nothing", golden,
			"quantize/tail.go", "if r.Failed() || n < 0 || n > f.most {", "if r.Failed() || n > f.most {"),
		change("tails", "elements behind a length are captured", junk,
			"quantize/unsafe.go", "\t\tclear(o.lanesOf(lanes)[n*f.width:])\n", ""),
		change("tails", "a length in memory is believed", junk,
			"quantize/unsafe.go", "n := min(int(*(*uint16)(at)), f.most)", "n := int(*(*uint16)(at))"),
		change("tails", "memory behind a length is not cleared", junk,
			"quantize/unsafe.go", "\t\tclear(memory(at, f.start+uintptr(n)*f.stride, uintptr(f.most-n)*f.stride))\n", ""),
		change("tails", "a changed text is sent whole", bits,
			"quantize/tail.go", "for most := min(int(before[o.lane]), n);", "for most := 0;"),
	}
}

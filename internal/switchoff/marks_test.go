package switchoff

// marks switches off what makes captures by marks the same as those that compare.
func marks() []mutation {
	const scan = "TestScanAfterMarks"
	return []mutation{
		change("marks", "the shadow of what was captured by marks is trusted", scan, "ecs/watch.go", "	t.distrust(common)\n", ""),
		change("marks", "the shadow of what was captured by itself is not kept", scan,
			"ecs/markedrows.go", "		c.captureRow(id, col, 0)\n		c.keep(at, col)", "		c.captureRow(id, col, 0)"),
		change("marks", "the shadow of what was captured late is not kept", scan, "ecs/pace.go", "			c.keep(at, col)\n", ""),
		change("marks", "a marked entity is where the last scan found it", "TestMarkedIsFoundWhereItIs",
			"ecs/markedrows.go", "slot >= count || w.query.EntityAt(int(slot)) != w.byIndex[id.Index].entity", "slot >= count"),
		change("marks", "what waits for a rate goes before the rate is known", "TestTheFirstRateIsObeyedAtOnce",
			"ecs/markedrows.go", "	c.captureStrays() // first: a control component may be among them, which the others obey\n", ""),
		change("marks", "what was marked of one is captured of all", "TestWhatIsMarkedTravelsAndNothingElse",
			"ecs/markedrows.go", "	if !marked.all.Has(col.row) {", "	if false {"),
	}
}

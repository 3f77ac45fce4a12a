package switchoff

// marks switches off what makes captures by marks the same as those that compare.
func marks() []mutation {
	const scan = "TestScanAfterMarks"
	return []mutation{
		change("marks", "the shadow of what was captured by marks is trusted", scan, "ecs/tracker.go", "\t\tt.spoilStale(known)\n", ""),
		change("marks", "the shadow of what was captured by itself is not kept", scan,
			"ecs/capture_marks.go", "		m.captureRow(id, col, 0)\n		col.keepAt(at)", "		m.captureRow(id, col, 0)"),
		change("marks", "the shadow of what was captured late is not kept", scan, "ecs/capture_rows.go", "			col.keepAt(at)\n", ""),
		change("marks", "a marked entity is where the last scan found it", "TestMarkedIsFoundWhereItIs",
			"ecs/capture_marks.go", "slot >= count || w.query.EntityAt(int(slot)) != w.byIndex[id.Index].entity", "slot >= count"),
		change("marks", "what waits for a rate goes before the rate is known", "TestTheFirstRateIsObeyedAtOnce",
			"ecs/capture_marks.go", "\tm.captureSingles() // first: a control component among them affects the other rows\n", ""),
		change("marks", "what was marked of one is captured of all", "TestMarkedRowsAreSentAndNoOthers",
			"ecs/capture_marks.go", "	if !marked.all.Has(col.row) {", "	if false {"),
	}
}

package switchoff

// marks switches off the rules of marked components and of deferred ones.
func marks() []mutation {
	return []mutation{
		change("marks", "a marked entity is where the last scan found it", "TestMarkedIsFoundWhereItIs",
			"ecs/capture_rows.go", "	for at = c.tracker.entry(id); !rows.IsZero(); rows = rows.Rest() {",
			"	for t := at.table; !rows.IsZero() && t == at.table && at.stamp == 0; rows = rows.Rest() {"),
		change("marks", "a row without a mark is captured", "TestMarkedRowsAreSentAndNoOthers",
			"ecs/capture.go", "	c.tracker.unscanned = c.marks.rows\n", ""),
		change("marks", "a marked row that is not due is forgotten", "TestMarksGiveTheSameBytes",
			"ecs/capture_rows.go", "		if !c.captureDue(id, col, 0) {\n			c.rates.deferRow(id, col.row)\n		}\n		col.unbind()", "		c.captureDue(id, col, 0)\n		col.unbind()"),
		change("marks", "a write of the first rate comes after the rows that wait for it", "TestTheFirstRateCountsAtOnce",
			"ecs/capture_controls.go", "return int(y.control) - int(x.control)", "return 0"),
	}
}

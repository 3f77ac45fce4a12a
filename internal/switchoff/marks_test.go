package switchoff

// marks switches off the rules of marked components and of deferred ones.
func marks() []mutation {
	return []mutation{
		change("marks", "a marked entity is where the last scan found it", "TestMarkedIsFoundWhereItIs",
			"ecs/capture_rows.go", "	for at = c.tracker.entry(id); !rows.IsZero(); rows = rows.Rest() {",
			"	for t := at.table; !rows.IsZero() && t == at.table && at.stamp == 0; rows = rows.Rest() {"),
		change("marks", "a row without a mark is captured", "TestMarkedRowsAreSentAndNoOthers",
			"ecs/capture.go", "	c.tracker.unscanned = c.marks.rows\n", ""),
		change("marks", "a marked row does not wait for its turn", "TestMarksGiveTheSameBytes",
			"ecs/capture_rows.go", "		case c.rates.due(id, col):\n			c.captureRow(id, col, 0)\n		default:", "		case true:\n			c.captureRow(id, col, 0)\n		default:"),
		change("marks", "a write of the first rate comes after the rows that wait for it", "TestTheFirstRateCountsAtOnce",
			"ecs/capture_rows.go", "	slices.SortStableFunc(t.columns, func(x, y column) int { return int(y.control) - int(x.control) })\n", ""),
	}
}

package switchoff

// presses switches off what makes a press that lasts one frame arrive exactly once.
func presses() []mutation {
	const host = "TestAPressOfTheHostIsInOneTick"
	const once, late, back = "TestAPressOfOneFrameArrivesExactlyOnce", "TestAPressThatComesLateIsInTheNextTick", "TestEachPressCountsOnceWhereTheClockWentBack"
	const young, screen = "TestInputsAreYoungAfterAHitch", "TestTheOwnScreenGoesOnAfterAHitch"
	list := []mutation{
		change("presses", "what the last frame set takes the place of a press", once, "input/client.go", "plan.MergeEvents(lanes, now)", ""),
		change("presses", "the oldest tick that begins in a frame has the press", "TestAPressIsInTheNewestTickOfItsFrame", "input/client.go", "if !newest {", "if false {"),
		change("presses", "a press that a tick took stays", once, "input/client.go", "if newest {", "if false {"),
		change("presses", "an input that stands in presses again", late, "input/server.go", "plan.ClearEvents(v)", ""),
		change("presses", "a press that comes late is lost", late, "input/server.go", "plan.MergeEvents(q.in.of(q.late.rows, n), row)", ""),
		change("presses", "a press that comes late is in its own tick too", late, "input/server.go", "plan.ClearEvents(row)", ""),
		change("presses", "a press in a second input of a tick is lost", back, "input/server.go", "plan.MergeEvents(q.in.of(q.late.rows, n), more)", ""),
		change("presses", "a press counts again in a second input of its tick", back, "input/server.go", "plan.SubtractEvents(more, heard)", ""),
		change("presses", "presses of a long stall are lost", "TestPressesOfALongStallAreTakenBack", "input/client.go", "t.takeBack(now)", ""),
		change("presses", "the first input of a tick counts for ever", back, "input/server.go", "if newer && q.differs(g, at, i) {", "if false {"),
		change("presses", "an older packet replaces inputs", "TestInputsAreWithdrawnWhereTheClockWentBack", "input/server.go", "newer := packet > q.packet", "newer := true"),
		change("presses", "inputs after the client's newest tick stay", "TestInputsAreWithdrawnWhereTheClockWentBack", "input/server.go", "q.withdraw(newest)\n", "\n"),
		change("slips", "no client is told that ticks slipped", young, "input/feedback.go", "if total == s.told || len(room)", "if true || len(room)"),
		change("slips", "samples of before a slip stay", young, "tick/sync.go", "s.seen.slip(since, n)\n", "\n"),
		change("slips", "the drift of the server's clock has the slips in it", "TestClocksAfterSlips", "tick/sync.go", "s.drift.slip(since, n)", ""),
		change("slips", "the drift of what is shown has the slips in it", "TestClocksAfterSlips", "tick/presentation.go", "p.drift.slip(since, n)", ""),
		change("slips", "the delay of before a slip is forgotten", "TestClocksAfterSlips", "tick/presentation.go", "p.low.slip(since, n)", ""),
		change("slips", "the screen waits for a clock that went back", screen, "predict/client.go", "if target < c.now && c.history.holds(target-1) {", "if false {"),
		change("slips", "answers of before a slip stay", young, "tick/sync.go", "s.input.slip(math.MaxInt64, n)", "s.input.slip(math.MaxInt64, 0)"),
		change("slips", "a stall is in the lead of the start", young, "tick/sync.go", "!s.measured || trip < s.trip", "true"),
		change("slips", "an input that came in a stall is late", young, "input/server.go", "begun := q.server.simulated()", "begun := now - 1"),
		change("slips", "a stall of the other end is one of the line", young, "client_time.go", "c.link.Conn.Control.Slept()", ""),
		change("presses", "a tick that comes again has lost its press", back, "input/client.go", "if again {", "if again && false {"),
		change("presses", "what was set without a connection is a press", "TestAPressWithoutAConnectionIsNone", "input/client.go", "	if !connected {\n\t\tplan.ClearEvents(now)", "	if false {\n\t\tplan.ClearEvents(now)"),
		change("presses", "the game of a host finds a press in a tick that it asked for", host,
			"input/server.go", "max(q.server.simulated(), q.consumed) + 1", "q.server.simulated() + 1"),
		change("presses", "an input takes the place of one that the game got", "TestCase53OneInputATick", "tick/window.go", "case *held == input:", "case *held == input && false:").inFolder("input"),
	}
	for i := range list {
		switch list[i].test {
		case once, young, screen:
			list[i].in = "nettest"
		case host:
			list[i].in = "systems"
		}
	}
	return list
}

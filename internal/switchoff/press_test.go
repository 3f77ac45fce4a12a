package switchoff

// presses switches off what makes a press that lasts one frame arrive exactly once.
func presses() []mutation {
	const host = "TestAPressOfTheHostIsInOneTick"
	const once, late, back = "TestAPressOfOneFrameArrivesExactlyOnce", "TestAPressThatComesLateIsInTheNextTick", "TestAPressWaitsWhereTheClockWentBack"
	list := []mutation{
		change("presses", "what the last frame set takes the place of a press", once, "input/client.go", "plan.MergeEvents(lanes, now)", ""),
		change("presses", "the oldest tick that begins in a frame has the press", "TestAPressIsInTheNewestTickOfItsFrame", "input/client.go", "takes := newest && ", "takes := "),
		change("presses", "a press that a tick took stays", once, "input/client.go", "if takes {", "if false {"),
		change("presses", "an input that stands in presses again", late, "input/server.go", "plan.ClearEvents(v)", ""),
		change("presses", "a press that comes late is lost", late, "input/server.go", "plan.MergeEvents(q.in.of(q.late.rows, n), row)", ""),
		change("presses", "a press that comes late is in its own tick too", late, "input/server.go", "plan.ClearEvents(row)", ""),
		change("presses", "a press is in a tick that the server may have already", back, "input/client.go", "(at > t.latest || t.latest-at > reach)", "true"),
		change("presses", "a tick that comes again has lost its press", back, "input/client.go", "if again {", "if again && false {"),
		change("presses", "what was set without a connection is a press", "TestAPressWithoutAConnectionIsNone", "input/client.go", "	if !connected {\n\t\tplan.ClearEvents(now)", "	if false {\n\t\tplan.ClearEvents(now)"),
		change("presses", "the game of a host finds a press in a tick that it asked for", host,
			"input/server.go", "max(q.server.simulated(), q.consumed) + 1", "q.server.simulated() + 1"),
		change("presses", "the last input of a tick takes the place of the first", "TestCase53OneInputATick", "tick/window.go", "case *held == input:", "case *held == input && false:").inFolder("input"),
	}
	for i := range list {
		switch list[i].test {
		case once:
			list[i].in = "nettest"
		case host:
			list[i].in = "systems"
		}
	}
	return list
}

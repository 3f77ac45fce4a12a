package switchoff

// mistakes switches off what tells a game of a mistake that would else be silent, or end the process.
func mistakes() []mutation {
	return []mutation{
		testedIn("predict", change("mistakes", "a server that never simulates is not told", "TestAServerWithoutASimulationIsTold",
			"predict/end_state.go", "if sim.simulation != nil || input", "if sim.simulation == nil || input")),
		change("mistakes", "an option of registrations is ignored by Send", "TestAnOptionOfTheOtherKindIsRefused",
			"internal/endpoint/send.go", "if h.Register != nil {", "if h == nil {").inFolder("."),
		testedIn("systems", change("mistakes", "a panic of OnSpawn ends the process", "TestPanicsOfTheClientsHooksAreContained",
			"inside.go", "recover(); value != nil {\n\t\tc.core.PanickedIn(", "error(nil); value != nil {\n\t\tc.core.PanickedIn(")),
		testedIn("systems", change("mistakes", "a panic of OnSpawn ends the server's process", "TestPanicsOfTheServersHooksAreContained",
			"inside.go", "recover(); value != nil {\n\t\ts.core.PanickedIn(", "error(nil); value != nil {\n\t\ts.core.PanickedIn(")),
		testedIn("systems", change("mistakes", "a client in its server's world doubles it", "TestAClientInTheWorldOfItsServer",
			"systems/apply.go", "shown != nil && capturedByServerOf(a.world, a.Client)", "false")),
		testedIn("systems", change("mistakes", "a client in the world of any server is refused", "TestAClientInTheWorldOfItsServer",
			"client.go", "session != nil && session.joined.Nonce == c.attempt.Nonce", "(session == nil || session != nil)")),
		change("mistakes", "a Replicated made on a client is told to nobody", "TestAReplicatedMadeOnAClientIsTold",
			"ecs/apply_local.go", "case r.World == 0 && !l.tracker.life.captured():", "case false:"),
		change("mistakes", "an entity without a Replicated is told to nobody", "TestUnreplicatedEntityIsToldOnce",
			"ecs/capture.go", "\tu.check(tr)\n", "\t_ = u\n"),
		change("mistakes", "an entity that is to be replicated soon is told of", "TestUnreplicatedForAMomentIsNotTold",
			"ecs/problem.go", "if !tr.world.Alive(s.entity) || world.MaskOf(tr.world, s.entity) != mask {", "if false {"),
		change("mistakes", "an entity that is meant to be local is told of", "TestLocalOnlyIsNotTold",
			"ecs/problem.go", "world.TypeOf(tr.world, id) == reflect.TypeFor[components.LocalOnly]()", "world.TypeOf(tr.world, id) == reflect.TypeFor[components.Replicated]()"),
		change("mistakes", "a component set is told of again and again", "TestUnreplicatedEntityIsToldOnce",
			"ecs/problem.go", "u.known[mask] = true\n", ""),
		change("mistakes", "one that a server of the world will take is told", "TestAReplicatedMadeOnAClientIsTold",
			"ecs/apply_local.go", "case r.World == 0 && !l.tracker.life.captured():", "case r.World == 0:"),
		change("mistakes", "each client of another protocol is told", "TestOnErrorIsToldOfAnotherProtocol",
			"internal/handshake/door.go", "!slices.Contains(d.refused, difference) {", "!slices.Contains(d.refused, \"\") {").inFolder("."),
		testedIn("nettest", change("mistakes", "errors are nowhere in a test", "TestErrorsAreLogged",
			"nettest/net.go", "\tend.OnError(n.logged(\"server\"))\n", "")),
	}
}

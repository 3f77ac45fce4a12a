package switchoff

// plains switches off rules of the plain profile.
func plains() []mutation {
	const world, page, file = "TestAPlainClientHasTheServersWorld", "TestTheExampleOfThePage", "snapshot/plain_profile.go"
	return []mutation{
		testedIn("nettest", change("plain", "components that come or go send no rows that did not change", world,
			file, "base != tick.None && !p.v.otherRows(index, base)", "base != tick.None")),
		testedIn("internal/thin", change("plain", "a change since the newest acknowledged record is left out", "TestAChangeOfALostPacketIsSentAgain",
			file, "p.changedRows(index, base, mask)", "p.changedRows(index, base+1, mask)")),
		testedIn("nettest", change("plain", "a record that begins a lifetime has the head of one that does not", world, file, "full: r.base == tick.None", "full: false")),
		testedIn("internal/thin", change("plain", "a row that did not change is sent", page,
			file, "r.base, r.whole = base, p.changedRows(index, base, mask)", "r.base = base")),
		testedIn("nettest", change("plain", "a client is taken without the server's consent", "TestPlainClientsAreRefusedWithoutPlain",
			"internal/registry/plain.go", "if !r.plain {", "if false {")),
		testedIn("nettest", change("plain", "state of a plain client is decoded", "TestAPlainClientSendsNoState", "internal/endpoint/incoming.go", "if l.Older.Plain() && (", "if false && (")),
		testedIn("nettest", change("plain", "a refusal compares with the entries of other clients", "TestARefusedPlainClientIsToldTheEntryThatDiffers",
			"internal/handshake/door.go", "theirs.At(0) == plain.Digest.At(0)", "false")),
		testedIn("nettest", change("plain", "inputs of a plain client are read as a series", world, "quantize/row.go", "if i == 0 || whole {", "if i == 0 {")),
	}
}

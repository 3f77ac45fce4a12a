package switchoff

// schemas switches off what a lock file of a protocol promises.
func schemas() []mutation {
	return []mutation{
		change("schema", "a lock that was edited is believed", "TestWhatIsNoLockIsRefused",
			"schema/lock.go", "if open || l.hash() != l.Hash {", "if open {"),
		change("schema", "a field that changed is no change", "TestEachChangeIsToldInWords",
			"schema/compare.go", `if what := compareFields(e.Fields, now.Fields); what != "" {`, `if what := compareFields(e.Fields, now.Fields); what == "." {`),
		change("schema", "another way of sending is no change", "TestEachChangeIsToldInWords",
			"schema/compare.go", "if e.Behind != now.Behind {", "if false {"),
		change("schema", "options break", "TestEachChangeIsToldInWords",
			"schema/compare.go", `changes = append(changes, Change{Entry: e.String(), What: fmt.Sprintf("its options`, `changes = append(changes, Change{Entry: e.String(), Breaks: bothRefused, What: fmt.Sprintf("its options`),
		change("schema", "another protocol passes the check", "TestCheckHoldsAProtocolToItsFile",
			"schema/check.go", "if len(changes) == 0 {", "if true {"),
		change("schema", "the status hides what breaks", "TestSchemaCheck",
			"cmd/netcode/schema.go", "if schema.Breaking(changes) {", "if false {"),
		change("older builds", "a component that differs is supported", "TestSupportNamesWhatIsNotAdditive",
			"older.go", "case have && of != text:", "case false:"),
		change("older builds", "an input that the older build lacks is supported", "TestSupportNamesWhatIsNotAdditive",
			"older.go", "case e.Kind != kindComponent && e.Kind != kindMessage:", "case false:"),
		change("older builds", "messages that the other end lacks are sent", "TestBuildsMeet",
			"older.go", "return o != nil && t >= wire.FirstUserMessage && o.types.Out[t] == o.nobody", "return false"),
		change("older builds", "components that the other end lacks are sent", "TestOlderClientsGetTheBytesOfTheirBuild",
			"snapshot/view.go", "v.overrides.usual = store.schema.Coarse.Union(cfg.Unknown)", "v.overrides.usual = store.schema.Coarse"),
		change("older builds", "rows have the numbers of the newer build", "TestOlderClientsGetTheBytesOfTheirBuild",
			"snapshot/format/mask_bits.go", "m = m.Squeeze(unknown); n <= 64", "n <= 64").inFolder("snapshot"),
		change("older builds", "pages of one build are copied to clients of another", "TestOlderClientsSharePages",
			"snapshot/page_cache.go", "of: of, hidden: p.v.overrides.usual}", "of: of}"),
		change("older builds", "message types come with the numbers of the other end", "TestTypesAreRenumbered",
			"peer/conn.go", "renumber(batches, &of.In)", "_ = of"),
		change("older builds", "a refusal that comes twice refuses two protocols", "TestAnAttemptOffersOlderProtocols",
			"internal/handshake/attempt.go", "a.Nonce+1, peer.Cookie{}", "a.Nonce, peer.Cookie{}"),
		change("schema", "a semicolon within braces ends a field", "TestGoldenLock",
			"internal/canon/canon.go", "if depth == 0 {", "if true {").inFolder("schema"),
	}
}

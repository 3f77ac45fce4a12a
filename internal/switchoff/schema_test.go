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
		change("schema", "a semicolon within braces ends a field", "TestGoldenLock",
			"internal/canon/canon.go", "if depth == 0 {", "if true {").inFolder("schema"),
	}
}

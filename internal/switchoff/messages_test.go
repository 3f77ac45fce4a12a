package switchoff

// messages switches off what docs/design.md promises of messages: once each, in order, no more than was granted, and that
// numbers may go around.
func messages() []mutation {
	const once, credit = "TestExactlyOnceAndInOrder", "TestCreditIsGrantedAndGrantedAgain"
	const wraps = "TestCase16OrderedMessagesOverTheWraps/65500"
	return []mutation{
		change("messages", "a reliable one that came before is handled again", once,
			"peer/arrivals.go", "at.news = at.line < 0 || !a.lines[at.line].came.has(at.number)", "at.news = true"),
		change("messages", "one that came early is handled at once", once,
			"peer/arrivals.go", "case !ordered || at.number == line.came.base:", "case true:"),
		change("messages", "a packet that came before is read again", "TestNoDecodeNoAck",
			"peer/received.go", "if r.has(back) {\n\t\treturn 0, ErrDuplicate\n\t}", ""),
		change("messages", "a sequenced one goes back", "TestSequencedDropsWhatIsLate",
			"peer/arrivals.go", "if seq < *newest {", "if false {"),
		change("messages", "an ordered one overtakes what waits for a later stage", "TestOrderedChannelKeepsItsOrderAcrossStages",
			"message/order.go", "return m.order <= l.done+1", "return true"),
		change("messages", "what a lost packet carried is not sent again", "TestLostIsSentFirstAndOldestFirst",
			"peer/reliable.go", "r.items.lose(id)\n", ""),
		change("messages", "the window of a channel is as long as one likes", "TestWindowHoldsOneChannelOnly",
			"peer/fill.go", "case it.number >= l.confirmed.base+ReliableWindow:", "case false:"),
		change("messages", "a sender spends more than was granted", "TestLackOfCreditKeepsTheOrder",
			"peer/fill.go", "case !it.piece && r.spent+uint64(it.cost()) > r.granted:", "case false:"),
		change("messages", "a small one spends what a large one waits for", "TestLackOfCreditKeepsTheOrder",
			"peer/fill.go", "if next != nil && next.head > poorest {", "if false {"),
		change("messages", "a receiver takes more than it granted", "TestCase33SenderBeyondItsCredit",
			"peer/credit.go", "if g.received+uint64(cost) > InitialCredit+g.told {", "if false {"),
		change("messages", "a grant that was lost is not said again", credit,
			"peer/credit.go", "g.again = lost\n", ""),
		change("messages", "a grant that was only late is said again", credit,
			"peer/credit.go", "g.again = false // it was only late", "_ = lost"),
		change("messages", "the number of a message does not go around", wraps,
			"peer/arrivals.go", "ahead := uint64(uint16(m.Number - uint16(at.came)))", "ahead := uint64(m.Number) - at.came"),
		change("messages", "the number of a packet does not go around", "TestCase16SequenceWraps/65500",
			"peer/received.go", "return r.newest + uint64(-behind), nil", "return r.newest&^0xffff | uint64(sequence), nil"),
		change("messages", "what is granted does not go around", "TestLackOfCreditKeepsTheOrder",
			"peer/outgoing.go", "if ahead := low - uint32(o.reliable.granted); ahead <= 1<<31 {", "if ahead := uint64(low) - o.reliable.granted; ahead <= 1<<31 {"),
		change("messages", "a stage without a queue is not asked what was deferred", "TestDeferredUntilTheEntityIsThere",
			"message/drain.go", "len(q.items)+len(in.waiting)+len", "len(q.items)+len"),
		change("messages", "what waits for its pace is not asked for where nothing is put", "TestPutKeepsToThePaceOfCaptures",
			"explicit.go", "len(e.commands)+len(e.pace.late)+len(e.pace.anew)", "len(e.commands)+len(e.pace.anew)"),
		change("messages", "an unknown type is malformed", "TestUnknownMessageTypesAreIgnored",
			"gate.go", "case !ok: // arrive ignores it\n\t\treturn nil", "case !ok:\n\t\treturn errNobody"),
		change("messages", "the credit of an unknown type is kept", "TestUnknownMessagesGiveTheirCreditBack",
			"gate.go", "c.noteUnknown(a.Header.Type)\n\tc.from.arrivals.Freed(a.Cost)", "c.noteUnknown(a.Header.Type)"),
		change("messages", "the nearest number is looked for ahead only", "TestUnwrap",
			"wire/sequence.go", "if ahead <= 1<<15 || near+ahead < 1<<16 {", "{"),
		change("messages", "a tick on the wire is the nearest ahead only", "TestNear",
			"tick/tick.go", "if ahead <= window/2 {", "{"),
	}
}

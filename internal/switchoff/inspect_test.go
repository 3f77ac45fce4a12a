package switchoff

// looking switches off what keeps the inspector's page to the operator, its figures whole, and its cost bounded.
func looking() []mutation {
	return []mutation{
		change("inspector", "a page of another site reads it", "TestTheHandlerIsReadOnlyAndLocal",
			"inspect/live/handler.go", "case !i.public && !isLocal(r.Host):", "case false:"),
		change("inspector", "a page of another site takes its places", "TestAnotherSiteIsRefused",
			"inspect/live/handler.go", "case r.URL.Path != \"/\" && i.fromElsewhere(r):", "case false:"),
		change("inspector", "it listens for others", "TestTheHandlerIsReadOnlyAndLocal",
			"inspect/live/handler.go", "|| !i.public && !at.Addr().Unmap().IsLoopback()", "|| !at.IsValid()"),
		change("inspector", "any method is answered", "TestTheHandlerIsReadOnlyAndLocal",
			"inspect/live/handler.go", "case r.Method != http.MethodGet && r.Method != http.MethodHead:", "case false:"),
		change("inspector", "any number of pages look", "TestTooManyLookers",
			"inspect/live/handler.go", "if len(i.listeners) == mostListeners {", "if false {"),
		change("inspector", "datagrams without an account are in no part", "TestSnapshotsAddUpToTheDatagrams",
			"inspect/live/tap.go", "t.account.AddSent(i.server.Session(id), datagram)", "_ = id"),
		change("inspector", "R of a page is not known at the server", "TestTheServersAccountIsTheClients",
			"snapshot/baselines.go", "case t == g.ref && g.refOf&bit != 0, t == g.near && g.nearOf&bit != 0:", "case t < 0 && g.refOf&bit != 0:").inFolder("inspect"),
		change("inspector", "a record against an unknown tick is read on", "TestBitsOfARecordAgainstAnUnknownTickAreUnknown",
			"replica/dump.go", "if !known { //", "if !known {\n\t\trows = mask\n\t}\n\tif !known && !odd { //").inFolder("snapshot"),
		change("inspector", "a client's value is the server's newest", "TestEntitiesAsAClientHasThem",
			"inspect/live/entities.go", "baselines.BaseAt(id.Index, row, at)", "baselines.BaseAt(id.Index, row, 1<<40)"),
		change("inspector", "a field has no bits", "TestSnapshotsAddUpToTheDatagrams",
			"inspect/live/tap.go", "addBits(&t.sum.Fields, c.Name+\".\"+f.Name, f.Bits)", "_ = f"),
		change("inspector", "inputs that stood in are not counted", "TestClientsReportTheirMispredictions",
			"input/server.go", "q.stats.Stood++\n", "\n").inFolder("predict"),
		change("inspector", "a report that was not sent counts as told", "TestAReportThatWasNotSentIsNotTold",
			"predict/report.go", "netcode.Send(r.client, netcode.ToServer(), &t) == nil", "netcode.Send(r.client, netcode.ToServer(), &t) != netcode.ErrQueueFull"),
		change("inspector", "ticks that are asked for alone are measured for good", "TestTicksAloneAreMeasured",
			"inspect/live/inspector.go", "*until > 0 && i.now() >= *until", "*until < 0 && i.now() >= *until"),
		change("inspector", "sending has the label of encoding", "TestProfilesKnowThePhases",
			"inspect/live/inspector.go", "i.mark.enter(Send)", "i.mark.enter(Encode)"),
		change("load", "the bound of ticks ends nothing", "TestTheBoundOfTheTicks",
			"load/report.go", "case took > r.Bound:", "case false:"),
		change("load", "what a bot sends crosses no link", "TestABadLinkIsThereInBothDirections",
			"load/link.go", "l.queue.put(to, datagram)\n\treturn l.flush()", "return l.socket.Send(to, datagram)"),
	}
}

package switchoff

// replays switches off what the playback of recordings has to do.
func replays() []mutation {
	const seeks = "TestSeeksGiveTheStateOfTheTick"
	play := func(off, test, old, new string) mutation {
		return change("replay", off, test, "record/player.go", old, new)
	}
	mirror := func(off, test, old, new string) mutation {
		return change("replay", off, test, "record/mirror.go", old, new)
	}
	return []mutation{
		change("recording", "a chunk unpacks to any size", "TestSizesOfChunksAreBounded", "record/reader.go", "case h.raw > maxRaw || ", "case "),
		change("recording", "a chunk is of any size", "TestSizesOfChunksAreBounded", "record/reader.go", "h.stored > maxRaw+maxRaw/8 || ", ""),
		change("recording", "a chunk unpacks to more than its bytes can", "TestSizesOfChunksAreBounded", "record/reader.go", " || uint64(h.raw) > uint64(h.stored)*maxShrink:", ":"),
		change("recording", "a chunk has any number of ticks", "TestSizesOfChunksAreBounded", "record/reader.go", "ticks == 0 || ticks > maxTicks || ", "ticks == 0 || "),
		change("recording", "a writer's chunk grows beyond what readers take", "TestAWriterBoundsItsChunks", "record/writer.go", "w.ticks == w.rate || w.raw > maxRaw/4", "w.ticks == w.rate"),
		play("a seek does not go back", seeks, " || p.reader.now > p.heard {", " {"),
		mirror("names are those of the recording", seeks, "\t\trename(m.plans[row], m.lanes, m.ID)\n", ""),
		mirror("components that went stay", seeks, "for gone := e.mask.Minus(mask); !gone.IsZero();", "for gone := e.mask.Minus(mask); false;"),
		mirror("an entity keeps its life over those of the recording", seeks, "if generation == e.generation {", "if e.generation != 0 && generation != 0 {"),
		testedIn("record", change("replay", "recorded values wait for the rate of their component", seeks, "internal/worldless/entities.go", "\t\t\te.store.Set(c.id", "\t\t\te.putNow(c.id")),
		play("a server without room has a part of the world", "TestASeekWithoutRoomTakesTwoTicks", "if p.copy(p.reader, p.touched) {", "if p.copy(p.reader, p.touched) || !p.crowded {"),
		play("the recording goes on while it is paused", "TestPlaybackGoesAtItsSpeed", "if !p.paused && p.chunk >= 0 {", "if p.chunk >= 0 {"),
		play("parts of ticks are lost", "TestPlaybackGoesAtItsSpeed", "p.part/ticksUnit), p.Last()), p.part%ticksUnit", "p.part/ticksUnit), p.Last()), 0"),
		change("recording", "payloads are not acknowledged at once", "TestRecordingsAreAboutAsLargeAsAStream", "record/writer.go", "w.view.Acked(seq)", "_ = seq"),
		change("recording", "a chunk goes on from the one before", "TestRecordingsPlayBackEveryTick", "record/writer.go", "\tw.view.Restart(w.seq + 1)\n", ""),
		change("recording", "a file lacks the tables of its game", "TestARecordingHasItsTables", "record/format.go", "h.tables = append(h.tables, string(set.AppendText(nil)))", "_ = set"),
		change("recording", "a class of trained tables hides a lane's", "TestARecordingHasItsTables", "record/format.go", "if t != nil && t.Name() != class {", "if t != nil && t.Name() == class {"),
		change("recording", "a chunk's rows take any memory", "TestVersionsOfAChunkAreBounded", "record/reader.go", " || r.replica.HistoryBytes() > r.most {", " {"),
		testedIn("record", change("recording", "a recording is a client that pages are shared with", "TestARecordingIsNoClient", "snapshot/view.go", "\tif !v.recorder {\n", "\tif true {\n")),
		testedIn("record", change("recording", "a recording is a client to the account", "TestARecordingIsNoClient", "snapshot/account.go", "if !d.store.counts || v.recorder {", "if !d.store.counts {")),
		change("replay", "a killcam ends a second early", "TestAMemoryPlaysTheLastSeconds", "record/memory.go", "\t\tr.writer.flush()\n", ""),
		change("replay", "a memory forgets too early", "TestAMemoryPlaysTheLastSeconds", "record/memory.go", "kept[0].last+m.ticks <= last", "kept[0].last < last"),
		change("replay", "damage in a part is copied", "TestCutLeavesOutDamage", "record/cut.go", "case errors.Is(err, ErrDamaged):\n\t\t\tcontinue", "case errors.Is(err, ErrDamaged):\n\t\t\treturn first, last, nil"),
		change("replay", "a follower sees all components", "TestSpectatorsFollowAPlayersView", "record/sight.go", "rows, some := seen.rows[was.Index]", "rows, some := seen.rows[1<<30]"),
		change("replay", "a follower sees all entities", "TestSpectatorsFollowAPlayersView", "record/sight.go", "\t\t\tv.Hide(id)\n", ""),
		change("replay", "who ends following sees no more than before", "TestAFollowedViewChangesInPlay", "record/sight.go", "\t\t\tv.ShowAll()\n", ""),
		change("replay", "owners are those of the begin of a chunk", "TestSpectatorsFollowAPlayersView", "record/sight.go", "if begins || v.moved {", "if begins {"),
		change("replay", "clients that have gone are followed", "TestSpectatorsFollowAPlayersView", "record/sight.go", "\t\t\tclear(v.views)\n", ""),
		mirror("rows of a distance band are played", "TestRowsOfABandAreNotPlayed", "if m.rows[row] < 0 {", "if false {"),
		play("a server plays two recordings", "TestAServerPlaysOneRecording", "return nil, ErrPlaying", "_ = ErrPlaying"),
		change("replay", "a seek sends the messages of the ticks between", "TestMessagesFollowThePlayback", "record/player.go", "\tp.heard = p.at\n", ""),
		change("replay", "a fast playback leaves out messages", "TestMessagesFollowThePlayback", "record/player.go", "p.chunkOf(min(p.heard+1, p.at)),", "p.chunkOf(p.at),"),
		testedIn("record", change("replay", "messages name recorded entities", "TestSpectatorsGetTheMessages", "internal/endpoint/posted.go", "\t\t\tid = names(id)\n", "")),
		play("a seek in play reads all that it passes over", "TestASeekInPlayReadsNoChunkBetween", "p.chunkOf(min(p.heard+1, p.at)), p.chunkOf(p.at)", "max(p.chunk, 0), p.chunkOf(p.at)"),
		testedIn("record", change("replay", "a recorded id leaves none for those that come", "TestHostilePlayersAreReplayed", "host.go", "id > math.MaxInt32", "id > math.MaxUint32")),
		change("replay", "a client that connected is ended as a recorded one", "TestEndRecordedLeavesAClientThatConnected", "host.go", "\tcase !c.Recorded():\n", ""),
		testedIn("record", change("replay", "recorded players stay in a closed game", "TestAGameThatCloses", "server.go", "case c.player != nil:", "case c.Local():")),
		testedIn(".", change("replay", "a client that sends no state is asked for it", "TestAResyncOfNoStateIsIgnored", "client_frame.go", "content.Resync && c.sender != nil", "content.Resync")),
		change("replay", "a recording that has ended keeps who comes and goes", "TestNothingIsKeptAfterARecording", "record/start.go", "r.writer, r.players.on = nil, false", "r.writer = nil"),
		testedIn("collections", change("replay", "a recording that has ended keeps changes", "TestAStoppedRecordingKeepsNoChanges", "collections/record.go", "t.on, t.bodies = false, nil", "t.on = true")),
		testedIn("input", change("replay", "a player was shown any moment", "TestAMomentThatNoClientTellsOfIsRefused", "input/recorded.go", "v>>1 > uint64(mostBack)", "false")),
		testedIn("input", change("replay", "the moment of a silent player is written as it is", "TestARecordingOfASilentClientIsLegal", "input/recorded.go", "min(max(at.Begin().Sub(shown), 0), mostBack)", "max(at.Begin().Sub(shown), 0)")),
		testedIn("input", change("replay", "a recording that has ended keeps players", "TestAStoppedRecordingKeepsNoPlayers", "input/recorded.go", "r.on, r.gone = false, r.gone[:0]", "r.on = true")),
		change("replay", "spectators get what went to others", "TestSpectatorsGetTheMessages", "record/messages.go", "player != 0 && slices.Contains(m.Clients, player)", "player != 0"),
		testedIn("record", change("replay", "a recorder does not learn of plain messages to one client", "TestPlainMessagesToOneClientAreRecorded", "internal/endpoint/send.go", "\t\tif err == nil {\n\t\t\te.tellPosted", "\t\tif err != nil {\n\t\t\te.tellPosted")),
		change("replay", "a message of another type is posted", "TestPostRefusesWhatIsNoMessageOfTheServer", "internal/endpoint/posted.go", "e.Types.Roles[m.Type] != registry.Alone || ", "e.Types.Roles[m.Type] > registry.Answer || ").inFolder("."),
		testedIn("record", change("replay", "a replay does not know what stood in", "TestAGameReplaysFromItsInputs", "input/recorded.go", "p.types, shown, !here", "p.types, shown, false")),
		testedIn("record", change("replay", "a playback has no inputs", "TestAPlaybackHasTheInputs", "input/recorded.go", "\tp.at = r.at\n\tif c :=", "\tp.at = r.at\n\tp.types = 0\n\tif c :=")),
		testedIn("examples/shooter", change("replay", "a replayed shot is judged in another moment", "TestAMatchReplaysFromItsInputs", "input/recorded.go", "p.types, shown, !here", "p.types, tick.Time{}, !here")),
		change("replay", "a replay is silent", "TestAGameReplaysFromItsInputs", "record/replay.go", "\t\t\tok = p.say(&b)\n", ""),
		testedIn("record", change("replay", "an entity that has gone takes the collections of another along", "TestCollectionsArePlayed", "collections/record.go", "h != nil && h.id == at.id {", "h != nil {")),
		testedIn("record", change("replay", "collections name recorded entities", "TestCollectionsArePlayed", "collections/record.go", "\t\t\trow[lane], row[lane+1] = id.Index, id.Generation\n", "\t\t\t_ = id\n")),
		testedIn("input", change("replay", "a file makes players without end", "TestTooManyRecordedPlayersAreRefused", "input/recorded.go", "if len(r.played) == wire.MaxClients {", "if len(r.played) < 0 {")),
		change("replay", "sights have the rows of older builds", "TestPlaybacksOfRandomGames", "record/sight.go", "\trows = rows.Squeeze(schema.Older)\n", ""),
		change("replay", "a host's input comes in a tick whose input the game had", "TestATickKeepsTheInputThatTheGameGot", "input/server.go", "max(q.server.clock.Tick(), q.consumed+1)", "q.server.clock.Tick()"),
		change("replay", "a note has the sights of clients without end", "TestMoreViewsThanClientsAreRefused", "record/sight.go", " && len(v.views) < wire.MaxClients {", " {"),
		testedIn("inspect", change("replay", "a capture's sessions have each the state of the one before", "TestTapFollowsSessions", "inspect/capture.go", "delete(c.flows, f) //", "_ = f //")),
		testedIn("inspect", change("replay", "a capture's state is that of its first packet", "TestTapReadsCaptures", "inspect/capture.go", "_ = known.Read(payload) //", "_ = known //")),
	}
}

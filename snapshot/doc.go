// Package snapshot stores the world's state by tick, and knows for each client what that client still lacks.
//
// [Store] is the server's newest state of everything, with what it was in the last ticks. [View] is the server's knowledge of one
// client: it writes snapshots and learns from acknowledgements. Package replica is the client's side. None of them does I/O, starts a goroutine or reads a clock.
//
// A rule with a number, as (rule 1), is one of docs/design.md, The rules of replication.
//
// # Words
//
//   - row: one component of one entity, as its quantised lanes; a lane is 32 bits
//   - version: the value of a row as of a tick
//   - snapshot: the rows of a tick, as one message
//   - baseline: the version that a client has acknowledged; T is its tick
//   - previous baseline: the version that T's own record was coded against; T' is its tick
//   - delta: the difference of an entity's rows from the baseline
//   - record: one entity in a packet; full, or a delta against T. An implicit record has no header, an explicit one tells T or its rows
//   - run: full records of neighbours by index, with one header
//   - visible: whether a client may see an entity at all
//   - lifetime: the time in which a client sees an entity without a break; an acknowledgement of an earlier one makes no baseline
//   - page: 64 entities, neighbours by index; one word of a bitset
//   - ack state: what the server knows of what a client has of one entity; entities of a page share it (members)
//   - complete tick: a tick whose every packet with records of a page was acknowledged
//   - R and N: the newest complete tick of a page, and the one before it
//   - list: the entities of R, of which a packet tells in four bits for each four which it has records of
//   - group: entities that are sent in one packet or not at all
//   - atomic unit: a group with the despawns and departures that must be seen together with it
//   - plan: the order in which entities are sent when the budget is short
//   - history: the undo log of the store
//
// # One packet
//
// write.go reads top to bottom; each of these calls the next ones:
//
//   - [View.Observe] and [View.Plan], once a tick: what waits for this client, and what of it goes first
//   - [View.WriteWithin]: opens the packet in the ring of sent packets (sentRing.open), and ends it
//   - packetWriter.writePayload: header, chooseRefs, writeDespawns, writeListed, writeUnlisted
//   - writePage for each page of a list, writeWord and writeEntity for the others: their candidates
//   - prepare: the baselines of one record (View.ack, before), and its delta
//   - deltaCache.get: the delta, found or encoded (encode, Store.versions, delta.Delta.Code)
//   - writeRecord: its bits; writeAt also writes its place among the unlisted ones
//   - recordSent: what was sent, for [View.Acked] and [View.Lost]
//
// A page whose records are as usual (usualIn) is asked about once: prepareUsual and listSent equal prepare and recordSent.
//
// A record gets into a packet from a page (writeMembers), by itself (writeSingle), with its group or unit (fitsAll), or as what starved
// (writeStarved); and from the text of a page that another client's packet has (copyText, copyLarge).
//
// # Files
//
//   - store.go, replace.go, history.go, moved.go, columns.go: the state, and its past; ids that are reserved before their entity is spawned (Store.Reserve)
//   - view.go: the knowledge of one client; what each commit changes of it
//   - visibility.go: entities that a client sees; lifetimes: show begins one, without a baseline, and end ends it
//   - component_visibility.go: components that a client may see; hidden ones
//   - bands.go: rows that are bands of others, derived at a commit; which of them a client gets
//   - overrides.go, ownership.go: changes that one client alone sees, or has made itself
//   - references.go: rows that name entities, which a client may not see
//   - acked.go: acknowledgements and losses: which packet makes a baseline, for an entity or a page; despawns that are settled, resyncs
//   - baselines.go: the same for readers of packets that were just written
//   - ack_pages.go, sent.go: ack states by page; packets and records on their way
//   - write.go: a packet from its header to its last record, one record and its baselines; list.go: listed records
//   - groups.go: entities that are sent together; atomic.go: with despawns and departures
//   - priority.go: which records go first when the budget is short; despawns have a share of their own (write.go, atomic.go)
//   - page_cache.go, page_floats.go, delta_cache.go: bits that several clients get, only where they see the same rows; delta_batch.go, replace_batch.go: fast paths
//   - format.go, errors.go, room.go, bitset.go: names of package format, errors, memory, sets
//
// Fast paths are in page_cache.go, delta_batch.go and replace_batch.go, in packetWriter.usualIn, deltaCache.find and history.guess. Each names the
// plain code that it equals. The build tag netcode_plain leaves them out; the same bytes are sent.
package snapshot

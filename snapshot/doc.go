// Package snapshot stores the world's state by tick at the server. For each client it knows what that client still lacks, and writes it.
//
// [Store] is the newest state of all entities, with a history of the last ticks. [View] is the server's knowledge of one
// client: it writes snapshots and learns from acknowledgements. Package replica is the client's side. None of them does I/O, starts a goroutine or reads a clock.
//
// For readers of Quake III: [View.WriteWithin] is SV_BuildClientSnapshot and SV_WriteSnapshotToClient. packetWriter.prepare chooses
// the baseline, and deltaCache.encode is MSG_WriteDeltaEntity. Unlike there, each entity has a baseline of its own.
//
// A rule with a number, as (rule 1), is one of docs/design.md, The rules of replication.
//
// # Words
//
//   - row: one component of one entity, as its quantised lanes; a lane is 32 bits
//   - version: the value of a row as of a tick
//   - snapshot: the rows of a tick, as one message
//   - image: the values that one row of a page's entities had before the changes of a tick
//   - baseline: the version that a client has acknowledged; T is its tick
//   - previous baseline: the version that T's own record was coded against; T' is its tick
//   - delta: the difference of an entity's rows from the baseline
//   - record: one entity in a packet; full, or a delta against T. An implicit record has no header, an explicit one has T or its rows
//   - run: full records of neighbours by index, with one header
//   - visible: whether a client may see an entity at all
//   - lifetime: the time in which a client sees an entity without a break; an acknowledgement of an earlier one makes no baseline
//   - page: 64 entities, neighbours by index; one word of a bitset
//   - ack state: the server's knowledge of a client's records of one entity; entities of a page with equal ones share one (members)
//   - complete tick: a tick of a page whose packets with records of the page were all acknowledged
//   - R and N: the newest complete tick of a page, and one before it
//   - list: the entities of pages with a record of R; a packet has one symbol for each four of them
//   - nibble: that symbol; it tells which of the four have a record in the packet
//   - text: a page's records as they are written; clients share the encoded bits if these depend on nothing of one client
//   - group: entities that are sent in one packet or not at all
//   - atomic unit: a group with the despawns and departures that must be seen together with it
//   - due: a despawn that the client must still be sent; in code also owed
//   - large: of records, exact floats of 192 bits or more; of groups, too many bits for a packet
//   - plan: the order in which entities are sent when the budget is short
//   - history: the versions of the last W ticks at the server, as images
//   - [Interest]: the rule that decides which entities and components each client may see
//   - [EncodeCache]: encoded deltas and texts of a tick, one for each goroutine that writes packets
//   - [Handover]: an entity with a new owner or writer
//   - account: the bits that the writers wrote, by purpose, row, field and entity, for tools ([Store.Count], [PayloadBits]); [ViewStats]: counters of a view
//   - [Mask], [Schema], [RowOptions], [Config]: see package format
//
// # One packet
//
// write.go reads top to bottom; each of these calls the next ones:
//
//   - [View.Observe] and [View.Plan], once a tick: what waits for this client, and which entities are sent first
//   - [View.WriteWithin]: opens the packet in the ring of sent packets (sentRing.open), and ends it
//   - packetWriter.writePayload: header, chooseRefs, writeDespawns, writeListed, writeUnlisted
//   - writePage for each page of a list, writeWord and writeEntity for the others: their candidates
//   - prepare: the baselines of one record (View.ack, packetWriter.previous), and its delta; sharedText does the same for a page at once
//   - deltaCache.get: the delta, found or encoded (encode, Store.versions, delta.Delta.Code)
//   - writeRecord: its bits; writeAt also writes the gap to its index, if it is unlisted
//   - recordSent, textSent: what was sent, for [View.Acked] and [View.Lost]
//
// A page of a list is always written from a text (writeText): one that clients share (sharedText), or one client's own (ownText). An unlisted
// record gets into a packet with all of its group or unit, or alone, by tryWriteLacking.
//
// # Files
//
//   - store.go: the newest state; spawns and despawns
//   - reserve.go: ids that are reserved before their entity is spawned (Store.Reserve); entities with ids of another store (Mirror)
//   - replace.go, columns.go: changes of rows; rows as of an earlier tick
//   - control.go: components.Owner, Group, Priority and Rate of entities; Due
//   - history.go, moved.go: images of pages, and versions found in them; the tick of an entity's newest change
//   - view.go: the knowledge of one client, and how a commit changes it
//   - visibility.go: entities that a client sees; lifetimes: show begins one, without a baseline, and end ends it
//   - component_visibility.go: the mask of rows that a client sees of an entity; changes that one client alone sees
//   - bands.go: rows that are bands of others, derived at a commit
//   - ownership.go: owners, and clients that may write components; Handovers
//   - own_writes.go: changes that a client has made itself
//   - references.go: rows that name entities; a client reads nil for entities that it does not see
//   - acked.go: acknowledgements and losses: which packet makes a baseline, for an entity or a page (Acked, ackMembers, ackEntity); despawns that are settled, resyncs
//   - attend.go: lives of entities that collections attend to; repeat.go: packets that package consistent may send again
//   - baselines.go: acknowledged rows of a client, for tools; account.go: the account of what is written, for tools
//   - seen.go: memory for the pages that a client sees, and how it is forgotten; ack_pages.go: ack states by page, and its reference ticks R and N
//   - sent.go: packets and records on their way
//   - page_refs.go: how R and N of a page are chosen (View.noteAckedRefs, findRefs); page_distance.go: how far N lies before R
//   - write.go: a packet from its header to its last record, despawns and their share of a short budget (writeDespawns), one record and its baselines; list.go: listed records, and where a page is cut
//   - plain_profile.go: records for clients of the plain profile
//   - groups.go: entities that are sent together; atomic.go: with despawns and departures, and groups that found no room
//   - priority.go: which records are sent first when the budget is short
//   - page_cache.go, page_floats.go: texts of pages; several clients get one only if they see the same rows
//   - delta_cache.go: deltas of entities that several clients get; delta_batch.go: many at once
//   - format.go, errors.go, room.go, bitset.go: names of package format, errors, memory, sets
//
// Fast paths are in page_cache.go and delta_batch.go, in packetWriter.usualIn, deltaCache.find and View.regroup.
// Each names the plain code that it equals. The build tag netcode_plain leaves them out; the same bytes are sent.
package snapshot

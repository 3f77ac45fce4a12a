package netcode

import (
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
)

// Stats counts events since a server or client was made. Each limit of Config has a counter with its name, so that it is seen
// when it is reached. A counter that an end does not use stays zero.
type Stats struct {
	Packets  peer.Stats    // Packets of all connections together, those that ended included.
	Messages message.Stats // Received messages: queued, handled, and what each limit of a queue dropped, refused or deferred.

	// HandshakeStats are the counters of the handshake; its fields are those of Stats.
	peer.HandshakeStats

	// The life of connections.
	Connected    uint64 // Connections that came about.
	Disconnected uint64 // Of those, connections that ended, for any reason.

	// Datagrams that had no effect, and those that ended a connection.
	Strangers uint64 // Packets from an address without a connection.
	Malformed uint64 // Connections ended because a packet with a right checksum was not legal.

	// One for each limit.
	TicksSlipped    uint64 // CatchUp: ticks given up after a stall.
	SilenceTimeouts uint64 // SilenceTimeout: connections given up because nothing was heard.
	BudgetSpent     uint64 // SendBudget: ticks in which a peer got less than it lacked.
	SentRingFull    uint64 // SentPackets: packets not sent, or later, because too many before them are not acknowledged.
	OutboxFull      uint64 // OutboxBytes: unreliable messages that were not sent.
	BackPressure    uint64 // ReliableBytes: reliable messages that were not sent.
	Recalled        uint64 // Messages taken back before they left, since the entity that they are about left the client's sight.
	DelayedDropped  uint64 // Messages held back and then dropped: their entity died or was hidden before it was sent, the connection ended, or DeferredTime, or a newer one.
	TooLarge        uint64 // PacketSize: messages refused because they are larger than what can travel.
	QueueOverflows  uint64 // ReliableBytes: connections ended because a reliable message could not be kept, also one that came while a stage was full (see QueuePerSender).
	Stalled         uint64 // ReliableStall: connections ended because reliable messages waited for window or credit for too long.
	RateLimited     uint64 // FloodFrames: connections ended because far too much came.
	FlushesCut      uint64 // FlushTimeout: connections that closed with messages undelivered.
	CallsFull       uint64 // Calls: questions refused because too many were open.
	CallsLate       uint64 // Calls that ended with ErrDeadline.
	Oversize        uint64 // PacketSize: times that an entity did not fit into a packet.
	LargeGroups     uint64 // PacketSize: times that a group became too large for a packet.
	HistoryEvicted  uint64 // HistoryBytes: changes forgotten before they were Window old.
	StaleSnapshots  uint64 // Window: packets dropped unread because they are too far behind.
	LostBaselines   uint64 // Window: packets dropped because they are coded against an evicted version.
	EntitiesGrown   uint64 // Entities: times that memory grew for more entities than there was room for. It is not counted on clients.
	EntitiesRefused uint64 // MaxEntities: spawns refused because so many were alive. An entity that is refused is tried again, and counted again, in each tick.
	Unreplicated    uint64 // Component sets of a server's world that have replicated components and no components.Replicated.
	TooManyEntities uint64 // MaxEntities: connections that a client ended because the server showed it more entities, or named it the writer of more.
	CallsCancelled  uint64 // Calls whose context was done first.
	LateAnswers     uint64 // Answers dropped because no call, or no longer one, waits for them.
	NotOwner        uint64 // OwnerOnly: messages dropped because the entity does not belong to their sender.
	NotVisible      uint64 // Messages dropped because their sender may not see the entity that they speak of.
	UnknownTypes    uint64 // Messages ignored because this end's protocol lacks their type.
	LeftOut         uint64 // Messages that were not sent because the other end's older build lacks their type.
	HandlerPanics   uint64 // Handlers, and other functions of the game that were called for a connection, that panicked.
	OfTheGone       uint64 // LeaveTimeout: messages dropped because their sender's connection had ended before their stage came.
	NotAllowed      uint64 // Strikes: packets refused because of writes without authority.
	Resyncs         uint64 // Resyncs served.
	ResyncsDeferred uint64 // Resyncs put off because the last was less than 2 s ago.
	LingeringFull   uint64 // Close messages not repeated because too many sessions were ending.
	OutputFull      uint64 // Datagrams not built because too much waits for Drain.

	// The memory in use at present. These fall too.
	HistoryBytes uint64 // Bytes of versions: of the last Window on a server, with those that clients write; of the last two Windows on a client.

	Errors       uint64 // Errors given to OnError.
	LinesSkipped uint64 // Log lines left out because too many came in one second.
}

// addEnd adds the counters of the message part of an end.
func (s *Stats) addEnd(e *endpoint.Counters) {
	s.Malformed = e.Malformed
	s.OutboxFull, s.BackPressure, s.TooLarge = e.OutboxFull, e.BackPressure, e.TooLarge
	s.Recalled, s.DelayedDropped, s.LeftOut, s.OfTheGone = e.Recalled, e.DelayedDropped, e.LeftOut, e.OfTheGone
	s.CallsFull, s.CallsLate, s.CallsCancelled, s.LateAnswers = e.CallsFull, e.CallsLate, e.CallsCancelled, e.LateAnswers
	s.NotOwner, s.NotVisible, s.UnknownTypes, s.HandlerPanics = e.NotOwner, e.NotVisible, e.UnknownTypes, e.HandlerPanics
	l := &e.Links
	s.BudgetSpent, s.SentRingFull, s.OutputFull = l.BudgetSpent, l.SentRingFull, l.OutputFull
	s.Stalled, s.RateLimited, s.FlushesCut = l.Stalled, l.RateLimited, l.FlushesCut
	s.QueueOverflows = e.QueueOverflows + l.QueueOverflows
}

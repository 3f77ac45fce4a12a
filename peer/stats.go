package peer

// Stats counts what happened on one connection since it was opened.
type Stats struct {
	Sent      uint64 // packets finished
	Repeated  uint64 // packets that only acknowledged, sent once more as they were
	BytesSent uint64 // of both

	Received      uint64 // packets that passed every check of Read
	BytesReceived uint64 // bytes of those packets
	Accepted      uint64 // packets accepted, so acknowledged
	Duplicates    uint64 // packets dropped: accepted before
	Old           uint64 // packets dropped: older than the replay window
	BadChecksum   uint64 // datagrams dropped: damaged or of another session
	Malformed     uint64 // packets with a right checksum and an illegal form
	AcksOfUnsent  uint64 // packets that acknowledged what was never sent

	Acked    uint64 // eliciting packets acknowledged, LateAcks included
	Lost     uint64 // eliciting packets presumed lost, LateAcks included
	LateAcks uint64 // packets acknowledged after they were presumed lost
	RingFull uint64 // ticks in which nothing but signs of life could be sent, since too many packets are awaited
}

package wire

// PacketStats counts what happened on one connection since it was opened.
type PacketStats struct {
	Sent      uint64 // packets finished
	Repeated  uint64 // packets that only acknowledged, sent again unchanged
	BytesSent uint64 // bytes of Sent and Repeated

	Received      uint64 // packets that passed every check
	BytesReceived uint64 // bytes of those packets
	Accepted      uint64 // packets accepted, and so acknowledged
	Duplicates    uint64 // packets dropped: accepted before
	Old           uint64 // packets dropped: older than the replay window
	BadChecksum   uint64 // datagrams dropped: damaged or of another session
	Malformed     uint64 // packets with a correct checksum and illegal content
	AcksOfUnsent  uint64 // packets that acknowledged a sequence that was never sent

	ProbesLost uint64 // lost probes of a packet size; Lost does not count them

	Acked    uint64 // eliciting packets acknowledged, LateAcks included
	Lost     uint64 // eliciting packets presumed lost, LateAcks included
	LateAcks uint64 // packets acknowledged after they were presumed lost
	RingFull uint64 // ticks in which only signs of life could be sent, since too many packets were awaited
}

// Add adds the counters of another connection to s.
func (s *PacketStats) Add(one PacketStats) {
	s.Sent += one.Sent
	s.Repeated += one.Repeated
	s.BytesSent += one.BytesSent
	s.Received += one.Received
	s.BytesReceived += one.BytesReceived
	s.Accepted += one.Accepted
	s.Duplicates += one.Duplicates
	s.Old += one.Old
	s.BadChecksum += one.BadChecksum
	s.Malformed += one.Malformed
	s.AcksOfUnsent += one.AcksOfUnsent
	s.ProbesLost += one.ProbesLost
	s.Acked += one.Acked
	s.Lost += one.Lost
	s.LateAcks += one.LateAcks
	s.RingFull += one.RingFull
}

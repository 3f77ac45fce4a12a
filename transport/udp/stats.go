package udp

import "sync/atomic"

// Stats counts the datagrams of one socket.
type Stats struct {
	Sent          uint64 // taken by the kernel
	BytesSent     uint64 // of these, without headers
	Runs          uint64 // runs: writes of the kernel with several datagrams each
	Volleys       uint64 // calls of the kernel with several of those, or of single datagrams
	SendDropped   uint64 // dropped because the kernel had no room
	SendErrors    uint64 // refused for another reason, which Send returned
	Received      uint64 // put into the queue
	BytesReceived uint64 // of these, without headers
	RunsReceived  uint64 // reads of the kernel with several datagrams each
	Overflowed    uint64 // came while the queue was full
	TooLarge      uint64 // longer than Config.MaxDatagram, or than the buffer given to Receive
	Empty         uint64 // had no byte
	ReadErrors    uint64 // faults of the socket while reading
}

type counters struct {
	sent, bytesSent, runs, volleys        atomic.Uint64
	sendDropped, sendErrors               atomic.Uint64
	received, bytesReceived, runsReceived atomic.Uint64
	overflowed                            atomic.Uint64
	tooLarge, empty, readErrors           atomic.Uint64
}

func (c *counters) load() Stats {
	return Stats{
		Sent:          c.sent.Load(),
		BytesSent:     c.bytesSent.Load(),
		Runs:          c.runs.Load(),
		Volleys:       c.volleys.Load(),
		SendDropped:   c.sendDropped.Load(),
		SendErrors:    c.sendErrors.Load(),
		Received:      c.received.Load(),
		BytesReceived: c.bytesReceived.Load(),
		RunsReceived:  c.runsReceived.Load(),
		Overflowed:    c.overflowed.Load(),
		TooLarge:      c.tooLarge.Load(),
		Empty:         c.empty.Load(),
		ReadErrors:    c.readErrors.Load(),
	}
}

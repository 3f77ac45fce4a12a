package peer

import (
	"time"
)

// OutgoingConfig bounds what waits to be sent to one peer. Zero or less in a field takes its default.
type OutgoingConfig struct {
	// PacketSize is that of the connection, in bytes. Default 1200.
	PacketSize int
	// UnreliableBytes is how many bytes of unreliable messages with their headers may wait. It is rounded to whole packets,
	// one at least. Default 64 KiB.
	UnreliableBytes int
	// ReliableBytes bounds the memory of reliable messages that wait or are not yet acknowledged. Default 256 KiB.
	ReliableBytes int
	// SentPackets is that of the connection: for how many packets back it is remembered what they carried. Default 1024.
	SentPackets int
}

// Outgoing is what waits to be sent to one peer, in the order of the calls, and what was sent and may have to be sent
// again. It belongs to one goroutine. Once warm it allocates nothing.
//
// Reserve with Commit, or Push, put messages in; Fill moves them into packets; Acked and Lost tell what became of those.
type Outgoing struct {
}

// NewOutgoing returns an empty queue. Its first buffer is its own and stays, further ones come from the pool and go back
// when they were sent.
func NewOutgoing(cfg OutgoingConfig, pool *Pool) *Outgoing { panic("peer: being written") }

// Reserve opens a message and returns room for its body, bound bytes: straight in the batch that is being filled where the
// message is unreliable. Commit or Cancel must follow before any other call. An error means that nothing was opened:
// ErrQueueFull, ErrBackPressure, ErrTooLarge, ErrEntity or ErrDelivery. It panics on a type, stage or flags that do not
// exist.
func (o *Outgoing) Reserve(p *Post, bound int) (payload []byte, err error) { panic("peer: being written") }

// Commit adds the message opened by Reserve, of whose room the first n bytes are the body. It panics on more than was
// reserved.
func (o *Outgoing) Commit(n int) { panic("peer: being written") }

// Cancel forgets the message opened by Reserve.
func (o *Outgoing) Cancel() { panic("peer: being written") }

// Push adds a message whose body is encoded already. Errors and panics are those of Reserve.
func (o *Outgoing) Push(p *Post, body []byte) error { panic("peer: being written") }

// Fill moves what may be sent into the packet that b builds: first what was lost, oldest first, then what waits, in the
// order of the calls; at most limit bytes, with the headers of messages and batches. Reliable messages that wait for window
// or credit let others pass. It stops at the first message that does not fit, and more says that something is left that
// could be sent now. The builder is at channel 0 of Unreliable afterwards.
//
// The packet must be finished. One that is not after all must be told as Lost.
func (o *Outgoing) Fill(b *Builder, limit int) (more bool) { panic("peer: being written") }

// Acked says that a packet arrived, also one that was presumed lost: what it carried is confirmed.
func (o *Outgoing) Acked(seq uint64) { panic("peer: being written") }

// Lost says that a packet is presumed lost: what it carried waits to be sent again, unless a later packet carries it.
func (o *Outgoing) Lost(seq uint64) { panic("peer: being written") }

// Credit notes a credit message: the low 32 bits of what the receiver has granted. What is not more than before is ignored.
func (o *Outgoing) Credit(low uint32) { panic("peer: being written") }

// Waiting returns how many bytes wait to be sent, message headers included.
func (o *Outgoing) Waiting() int { panic("peer: being written") }

// Pending reports whether Fill would put anything into a packet with room.
func (o *Outgoing) Pending() bool { panic("peer: being written") }

// Unconfirmed returns how many reliable messages are not yet acknowledged, pieces counted apart.
func (o *Outgoing) Unconfirmed() int { panic("peer: being written") }

// Blocked returns for how long reliable messages have waited for window or credit without any progress; 0 while none
// waits so. It is to be called once a frame: the time counts from the call that first saw them wait.
func (o *Outgoing) Blocked(now time.Duration) time.Duration { panic("peer: being written") }

// Clear drops everything that waits and gives the buffers back, at the end of a connection.
func (o *Outgoing) Clear() { panic("peer: being written") }

// Stats returns the counters.
func (o *Outgoing) Stats() OutgoingStats { panic("peer: being written") }

// OutgoingStats counts what happened to messages since the queue was made.
type OutgoingStats struct {
	Unreliable   uint64 // unreliable messages taken
	Reliable     uint64 // reliable messages taken
	Pieces       uint64 // pieces that messages were cut into
	QueueFull    uint64 // unreliable messages dropped: no room
	BackPressure uint64 // reliable messages refused: no room
	TooLarge     uint64 // messages refused: too large
	Resent       uint64 // reliable messages and pieces sent once more
	Confirmed    uint64 // reliable messages and pieces acknowledged
	LateAcks     uint64 // of those, presumed lost before
}

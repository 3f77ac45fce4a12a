package peer

import "github.com/arche-netcode/netcode/wire"

// Arrivals is what one end knows of the messages that came from a peer: it drops what came before, holds back what came
// early, joins pieces, and grants credit. The zero value is ready. It belongs to one goroutine. Once warm it allocates
// nothing.
//
// A packet's messages are all judged before the first is taken. Messages of channel 0 of Unreliable without flags need
// neither; netcode's own types on it are for the caller.
type Arrivals struct {
}

// Judge reports, without effect, what is wrong with a message. An error closes the connection: ErrMalformed, or

func (a *Arrivals) Judge(ch wire.Channel, h wire.MessageHeader, payload []byte) error { panic("peer: being written") }

// Take takes a judged message of the packet with the number seq and calls deliver for each message that is due with it: none
// for a duplicate, for one that is early or late or only a piece; several where it closes a gap. What deliver is given, and
// its Body, are good during the call. Body of a message that came in pieces, or early, was not seen whole by Judge's
// caller before: what is wrong with it is reason to close there and then.
//
// The error is one that Judge could not see, because messages of one packet contradict each other; it closes too.
func (a *Arrivals) Take(seq uint64, ch wire.Channel, h wire.MessageHeader, payload []byte, deliver func(*Arrival)) error { panic("peer: being written") }

// Freed gives back the Cost of messages that were handled, or dropped for good.
func (a *Arrivals) Freed(cost int) { panic("peer: being written") }

// CreditDue returns what a credit message would say now, and whether one is to be sent in the next packet.
func (a *Arrivals) CreditDue() (low uint32, due bool) { panic("peer: being written") }

// CreditSent says that the packet seq carries a credit message with what CreditDue returned last.
func (a *Arrivals) CreditSent(seq uint64) { panic("peer: being written") }

// Acked and Lost tell what became of a packet: a credit message that is lost is due again.
func (a *Arrivals) Acked(seq uint64) { panic("peer: being written") }

// Lost is the other half of Acked.
func (a *Arrivals) Lost(seq uint64) { panic("peer: being written") }

// Waiting returns the cost of what was received and not freed yet.
func (a *Arrivals) Waiting() int { panic("peer: being written") }

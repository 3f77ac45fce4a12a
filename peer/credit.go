package peer

import (
	"encoding/binary"
)

const (
	// InitialCredit is the credit with which both ends begin, in cost of reliable messages: what one end may have sent that
	// the other has not handled.
	InitialCredit = 128 << 10
	// creditStep is the largest amount that a receiver may leave ungranted.
	creditStep = InitialCredit / 4
	// messageOverhead is the cost of a reliable message beside its payload.
	messageOverhead = 32
	// maxMessageCost is the largest cost of one message with all its pieces. A sender whose receiver has handled everything
	// has that much credit.
	maxMessageCost = InitialCredit - creditStep

	// ReliableWindow is the largest number of messages in flight on a reliable channel: number n is not sent before n-1024
	// is acknowledged.
	ReliableWindow = 1024

	// MaxFragments is the largest number of pieces of a message, and maxFragmentSets that of messages in pieces at once
	// in one direction.
	MaxFragments    = 80
	maxFragmentSets = 4
	// fragmentHeader is the header of a piece, after its number: type and stage of the whole, index, count.
	fragmentHeader = 4

	// CreditSize is the size of a credit message's payload.
	CreditSize = 4
)

// messageCost returns the cost of a reliable message with so much payload.
func messageCost(payload int) int { return payload + messageOverhead }

// creditGrant is the receiver's side of the credit. Everything counts from the start of the connection, in cost.
type creditGrant struct {
	received uint64 // of messages that came
	freed    uint64 // of those that were handled
	told     uint64 // what was granted beyond InitialCredit, by the newest credit message
	offered  uint64 // what the next one will grant
	packet   uint64 // that had the newest credit message; 0 for none
	awaited  bool   // its outcome is not known
	again    bool   // it was lost
}

// judge reports whether a message of this cost is within what was granted.
func (g *creditGrant) judge(cost int) error {
	if g.received+uint64(cost) > InitialCredit+g.told {
		return ErrOverCredit
	}
	return nil
}

// offer returns what a credit message would say, and whether it is worth one.
func (g *creditGrant) offer() (low uint32, due bool) {
	g.offered = g.freed
	return uint32(InitialCredit + g.offered), g.again || g.offered-g.told >= creditStep
}

// sent notes that a packet has what offer returned last.
func (g *creditGrant) sent(packet uint64) {
	g.told, g.packet, g.awaited, g.again = g.offered, packet, true, false
}

// settle notes what became of a packet.
func (g *creditGrant) settle(packet uint64, lost bool) {
	if g.awaited && g.packet == packet {
		g.awaited = false
		g.again = lost
	} else if !lost && g.packet == packet {
		g.again = false // it was only late
	}
}

// unsent notes that a packet was not sent, and that another will have its number.
func (g *creditGrant) unsent(packet uint64) {
	if g.packet == packet {
		g.packet, g.awaited, g.again = 0, false, true
	}
}

// AppendCredit appends the payload of a credit message: the low 32 bits of what is granted since the start, little-endian.
func AppendCredit(b []byte, low uint32) []byte { return binary.LittleEndian.AppendUint32(b, low) }

// ParseCredit reads the payload of a credit message. The error is ErrMalformed.
func ParseCredit(payload []byte) (low uint32, err error) {
	if len(payload) != CreditSize {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint32(payload), nil
}

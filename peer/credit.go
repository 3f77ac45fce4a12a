package peer

const (
	// InitialCredit is the credit with which both ends begin, in cost of reliable messages: what one end may have sent that
	// the other has not handled.
	InitialCredit = 128 << 10
	// creditStep is how much a receiver may still have to grant without saying so.
	creditStep = InitialCredit / 4
	// messageOverhead is what a reliable message costs beside its payload.
	messageOverhead = 32
	// maxMessageCost is the most that one message may cost with all its pieces: what a sender whose receiver has handled
	// everything surely has.
	maxMessageCost = InitialCredit - creditStep

	// ReliableWindow is how many numbers of a reliable channel are on their way at most: number n is not sent before n-1024
	// is acknowledged.
	ReliableWindow = 1024

	// MaxFragments is how many pieces a message may come in, and maxFragmentSets how many messages may be in pieces at once
	// in one direction.
	MaxFragments    = 32
	maxFragmentSets = 4
	// fragmentHeader is what a piece has in front, after its number: type and stage of the whole, index, count.
	fragmentHeader = 4

	// CreditSize is the size of a credit message's payload.
	CreditSize = 4
)

// messageCost is what a reliable message with so much payload costs.
func messageCost(payload int) int { return payload + messageOverhead }

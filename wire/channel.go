package wire

import "strconv"

// Delivery says what is promised of a message.
type Delivery uint8

// The modes of delivery.
const (
	Unreliable          Delivery = 0 // at most once, in any order
	UnreliableSequenced Delivery = 1 // at most once, never after a later one of its channel
	Reliable            Delivery = 2 // exactly once while the connection lasts, in any order
	ReliableOrdered     Delivery = 3 // exactly once, in the order of the channel
)

// Valid reports whether d is one of the four modes.
func (d Delivery) Valid() bool { return d <= ReliableOrdered }

// Reliable reports whether what is lost is sent again.
func (d Delivery) Reliable() bool { return d >= Reliable }

// String returns the mode's name.
func (d Delivery) String() string {
	switch d {
	case Unreliable:
		return "Unreliable"
	case UnreliableSequenced:
		return "UnreliableSequenced"
	case Reliable:
		return "Reliable"
	case ReliableOrdered:
		return "ReliableOrdered"
	}
	return "Delivery(" + strconv.Itoa(int(d)) + ")"
}

// MaxChannels is how many channels there are of each mode of delivery.
const MaxChannels = 64

// Channel is a line of messages of one mode of delivery. Order and loss are a channel's own: those of two channels have
// nothing to do with each other. It is one byte on the wire: the mode in the two high bits, the number below. The zero value
// is channel 0 of Unreliable.
type Channel uint8

// NewChannel returns channel number of a mode. Both are taken modulo their ranges, 4 and MaxChannels.
func NewChannel(d Delivery, number int) Channel {
	return Channel(d)<<6 | Channel(number)&(MaxChannels-1)
}

// Delivery returns the channel's mode.
func (c Channel) Delivery() Delivery { return Delivery(c >> 6) }

// Number returns the channel's number among those of its mode, 0 to MaxChannels-1.
func (c Channel) Number() int { return int(c & (MaxChannels - 1)) }

// String returns mode and number, such as "Reliable 3".
func (c Channel) String() string { return c.Delivery().String() + " " + strconv.Itoa(c.Number()) }

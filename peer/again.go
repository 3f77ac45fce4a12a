package peer

import "time"

// AckSize is the most that a packet takes that only acknowledges.
const AckSize = packetOverhead

// said is the newest packet that only acknowledged, and what it acknowledged.
type said struct {
	packet [AckSize]byte
	size   int // 0: there was none
	newest uint64
	bits   uint64
}

// AckAgain reports whether what was acknowledged last is worth saying again when
// nothing else is to be said: packets of the remote end are lost here, so its
// acknowledgements are likely to be lost there, and it waits for them in vain.
// Where nothing comes any more, that ends after a few ticks.
func (c *Conn) AckAgain(now time.Duration) bool {
	return c.received.lacks() >= minLacking && now-c.heard <= ackAgain*c.config.TickInterval
}

// AckCopies returns the number of extra packets of a tick that repeat the last
// acknowledgement. Where much is lost few arrive, and the remote end then codes
// its state against older packets.
func (c *Conn) AckCopies(now time.Duration) int {
	if !c.AckAgain(now) {
		return 0
	}
	return min(c.received.lacks()/lackingPerCopy, mostCopies)
}

// Again writes the newest packet that only acknowledged into dst, to be sent once
// more as it is, and returns its length: 0, and nothing counts as sent, where there
// is something to add to it or dst is shorter than AckSize. With a number of its own
// the same would tell the remote end of one more packet that may be lost, which
// that one has to tell back.
func (c *Conn) Again(dst []byte) int {
	s := &c.said
	if len(dst) < AckSize || s.size == 0 || s.newest != c.received.newest || s.bits != c.received.window[0] {
		return 0
	}
	c.stats.Repeated++
	c.stats.BytesSent += uint64(s.size)
	return copy(dst, s.packet[:s.size])
}

// says keeps a packet that only acknowledges.
func (c *Conn) says(packet []byte) {
	c.said.size = copy(c.said.packet[:], packet)
	c.said.newest, c.said.bits = c.received.newest, c.received.window[0]
}

package peer

import (
	"sort"

	"github.com/arche-netcode/netcode/wire"
)

// MaxBody returns the longest body, in bytes, that Reserve takes for such a message while nothing else waits; 0 also when
// none does.
func (o *Outgoing) MaxBody(p *Post) int {
	var prefix [maxPrefix]byte
	front := len(p.appendPrefix(prefix[:0]))
	if !p.Channel.Delivery().Reliable() {
		return max(min(o.batches.most(p.Channel)-wire.MessageHeaderSize-front, o.config.PacketSize), 0)
	}
	return max(sort.Search(maxMessageCost+1, func(bound int) bool { return !o.reliable.takes(front + bound) })-1, 0)
}

// takes reports whether a message with n bytes of prefixes and body can be sent at all.
func (r *reliable) takes(n int) bool {
	pieces := r.cut(n)
	return pieces <= MaxFragments && r.cost(n, pieces) <= maxMessageCost && r.size(n, pieces)+pieces*itemOverhead <= r.limit
}

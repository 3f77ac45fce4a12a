package snapshot

import "math/bits"
import "fmt"

func (h *history) audit(where string) {
	for n := h.oldest; n < h.next; n++ {
		c := h.at(n)
		w := h.rows[c.row].width
		if bits.OnesCount64(c.there) > int(c.room) {
			panic(fmt.Sprint(where, " room ", *c))
		}
		if c.room > 0 && (int(c.lane&uint64(len(h.lanes)-1))+int(c.room)*(1+w) > len(h.lanes) || c.lane < h.firstLane || c.lane+uint64(c.room)*uint64(w+1)-h.firstLane > uint64(len(h.lanes))) {
			panic(fmt.Sprint(where, " lane ", *c, h.firstLane, h.lane, w))
		}
	}
}

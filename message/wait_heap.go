package message

// waiter is a message that was put aside: its place in the list, and what its heap goes by.
type waiter struct {
	key int64
	at  int
}

// waitHeap has the waiter with the lowest key in front.
type waitHeap []waiter

func (h *waitHeap) push(w waiter) {
	*h = append(*h, w)
	list := *h
	for at := len(list) - 1; at > 0 && list[at].key < list[(at-1)/2].key; at = (at - 1) / 2 {
		list[at], list[(at-1)/2] = list[(at-1)/2], list[at]
	}
}

func (h *waitHeap) pop() waiter {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	for at := 0; ; {
		child := 2*at + 1
		if child+1 < last && list[child+1].key < list[child].key {
			child++
		}
		if child >= last || list[child].key >= list[at].key {
			break
		}
		list[at], list[child] = list[child], list[at]
		at = child
	}
	*h = list
	return first
}

// move takes over the places that messages have moved to; those below zero have left.
func (h *waitHeap) move(places []int) {
	list := *h
	*h = list[:0]
	for _, w := range list {
		if w.at = places[w.at]; w.at >= 0 {
			h.push(w)
		}
	}
}

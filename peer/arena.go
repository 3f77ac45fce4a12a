package peer

// arena is the memory of reliable messages, a circle in which each lies in one piece. What comes first is freed first.
type arena struct {
	buf  []byte
	head int  // where the next message goes
	tail int  // where the oldest one lies
	any  bool // there is one
}

// place returns where n bytes can go.
func (a *arena) place(n int) (at int, ok bool) {
	switch {
	case !a.any:
		return 0, n <= len(a.buf)
	case a.head > a.tail && len(a.buf)-a.head >= n:
		return a.head, true
	case a.head > a.tail:
		return 0, a.tail >= n
	}
	return a.head, a.tail-a.head >= n
}

// take notes that n bytes at the place that place returned are in use.
func (a *arena) take(at, n int) {
	if !a.any {
		a.tail, a.any = at, true
	}
	a.head = at + n
}

// free notes that nothing before tail is in use any more.
func (a *arena) free(tail int) { a.tail = tail }

// clear notes that nothing is.
func (a *arena) clear() { a.head, a.tail, a.any = 0, 0, false }

package peer

// Fill moves what may be sent into the packet that b builds: first what was lost, oldest first, then what waits, in the
// order of the calls; at most limit bytes, with the headers of messages and batches. Reliable messages that wait for window
// or credit let others pass. It stops at the first message that does not fit, and more says that something is left that
// could be sent now. The builder is at channel 0 of Unreliable afterwards.
//
// The packet must be finished. One that is not after all must be told to Unsent.
func (o *Outgoing) Fill(b *Builder, limit int) (more bool) {
	whole := b.limit
	b.limit -= max(whole-len(b.buf)-max(limit, 0), 0)
	o.batches.close()
	if o.reliable.resend(b, &o.stats) {
		o.fresh(b)
	}
	b.limit = whole
	b.Switch(0)
	return o.Pending()
}

// Next returns the least limit with which Fill moves a message into the packet that b builds, 0 where nothing may be sent.
func (o *Outgoing) Next(b *Builder) int {
	o.batches.close()
	r := &o.reliable
	if id := r.items.oldestLost(); id != 0 {
		it := r.items.at(id)
		return len(r.framed(it)) + b.turnSize(r.lines[it.line].channel)
	}
	run, line := o.batches.front(), r.sendable()
	switch {
	case run == nil && line == nil:
		return 0
	case line == nil, run != nil && run.before <= line.head:
		return o.batches.first(run) + b.turnSize(run.channel)
	}
	return len(r.framed(r.items.at(line.head))) + b.turnSize(line.channel)
}

// fresh moves what was not sent before, and stops at what does not fit.
func (o *Outgoing) fresh(b *Builder) {
	for {
		run, line := o.batches.front(), o.reliable.sendable()
		switch {
		case run == nil && line == nil:
			return
		case line == nil, run != nil && run.before <= line.head:
			if !o.batches.send(b) {
				return
			}
		default:
			if !o.reliable.sendHead(line, b) {
				return
			}
		}
	}
}

// resend moves the lost messages into the packet and reports whether all fitted.
func (r *reliable) resend(b *Builder, stats *OutgoingStats) bool {
	for id := r.items.oldestLost(); id != 0; id = r.items.oldestLost() {
		it := r.items.at(id)
		b.Switch(r.lines[it.line].channel)
		if !b.Append(r.framed(it)) {
			return false
		}
		r.items.find(id)
		r.carry(b.sequence, id, it)
		stats.Resent++
	}
	return true
}

// carry notes that a packet carries a message.
func (r *reliable) carry(seq, id uint64, it *item) {
	for r.carried.crowded(seq) {
		r.lost(r.carried.packets.at(r.carried.packets.first).packet) // what it carried is sent again, rather than forgotten
		r.carried.drop()
	}
	r.carried.note(r.carried.open(seq), id)
	if it.state == itemWaiting {
		r.underway++
	}
	it.state, it.packet = itemFlying, seq
	r.waiting -= it.size
}

// sendHead moves the first message that waits in a line into the packet and reports whether it fitted.
func (r *reliable) sendHead(l *line, b *Builder) bool {
	id := l.head
	it := r.items.at(id)
	b.Switch(l.channel)
	if !b.Append(r.framed(it)) {
		return false
	}
	l.head = it.next
	switch {
	case it.pieces > 0:
		r.sets[r.open] = fragmentSet{first: id, end: id + uint64(it.pieces)}
		r.open++
		r.spent += uint64(it.setCost)
	case !it.piece:
		r.spent += uint64(it.cost())
	}
	r.carry(b.sequence, id, it)
	return true
}

// hold says why the first message that waits in a line cannot be sent.
type hold uint8

const (
	holdNone   hold = iota
	holdEmpty       // nothing waits
	holdWindow      // too many before it are not acknowledged, or too many large ones are under way
	holdCredit      // the receiver has to grant more first
)

// hold looks at the first message that waits. The pieces of a large message are paid for with the first one, so that a
// message that was begun can always be completed.
func (r *reliable) hold(l *line) hold {
	if l.head == 0 {
		return holdEmpty
	}
	it := r.items.at(l.head)
	switch {
	case it.number >= l.confirmed.base+ReliableWindow:
		return holdWindow
	case it.pieces > 0 && r.open == maxFragmentSets:
		return holdWindow
	case it.pieces > 0 && r.spent+uint64(it.setCost) > r.granted:
		return holdCredit
	case !it.piece && r.spent+uint64(it.cost()) > r.granted:
		return holdCredit
	}
	return holdNone
}

// sendable returns the line whose first message is the next to be sent: the one handed over first among those that are not
// held up. Once one lacks credit those handed over after it must not spend what it waits for, or a large message might wait
// for ever; pieces spend nothing.
func (r *reliable) sendable() (next *line) {
	poorest := r.items.next // id of the first message that lacks credit
	var piece *line         // with the first piece that is not the first of its message
	for i := range r.lines {
		l := &r.lines[i]
		switch r.hold(l) {
		case holdCredit:
			poorest = min(poorest, l.head)
		case holdNone:
			if it := r.items.at(l.head); it.piece && it.pieces == 0 {
				if piece == nil || l.head < piece.head {
					piece = l
				}
			} else if next == nil || l.head < next.head {
				next = l
			}
		}
	}
	if next != nil && next.head > poorest {
		next = nil
	}
	if next == nil || piece != nil && piece.head < next.head {
		return piece
	}
	return next
}

// blocked says for what messages wait: for the window, or else for credit, or for none of the two.
func (r *reliable) blocked() hold {
	why := holdNone
	for i := range r.lines {
		switch r.hold(&r.lines[i]) {
		case holdWindow:
			return holdWindow
		case holdCredit:
			why = holdCredit
		}
	}
	return why
}

package message

import "github.com/arche-netcode/netcode/tick"

// fairQueue counts the messages that wait for a stage, by source. The first overflow counts them all; later ones apply
// the changes since. A queue that never fills costs nothing.
type fairQueue struct {
	frame, epoch uint64    // frame and epoch of the counted queue
	base         int       // place of the first counted item
	from, upto   int       // range of the counted items
	next         []int32   // next[place-base]: place of the source's next unreliable message
	sources      []*Source // max-heap by weight
	present      int       // number of sources with messages in the stage
}

// sourceShare counts the messages of one source in a fairQueue.
type sourceShare struct {
	count, unreliable int   // messages; unreliable ones among them
	first, last       int32 // places of the oldest and the newest unreliable one
	at                int   // index in fairQueue.sources
	listed            bool
}

// weight returns the number of a source's messages in a stage; 0 if none of them may be dropped.
func (s *Source) weight(stage tick.Stage) int {
	if s.shares[stage].unreliable == 0 {
		return 0
	}
	return s.shares[stage].count
}

// fairQueueOf returns the counts, by source, of the messages that wait for a stage.
func (in *Inbound) fairQueueOf(stage tick.Stage) *fairQueue {
	c, q := &in.fairQueues[stage], &in.cur.stages[stage]
	if c.frame != in.number || c.epoch != q.epoch || c.upto < q.head {
		c.reset(stage)
		c.frame, c.epoch, c.base, c.from, c.upto = in.number, q.epoch, q.head, q.head, q.head
	}
	for ; c.from < q.head; c.from++ {
		if it := q.items[c.from]; !it.dead() {
			c.leave(in.cur.origins[it.origin].source, stage, it)
		}
	}
	for ; c.upto < len(q.items); c.upto++ {
		c.next = append(c.next, 0)
		if it := q.items[c.upto]; !it.dead() {
			c.enter(in.cur.origins[it.origin].source, stage, it)
		}
	}
	return c
}

// reset drops all counts.
func (c *fairQueue) reset(stage tick.Stage) {
	for _, s := range c.sources {
		s.shares[stage] = sourceShare{}
	}
	clear(c.sources)
	c.sources, c.next, c.present = c.sources[:0], c.next[:0], 0
}

// enter counts the item at upto.
func (c *fairQueue) enter(s *Source, stage tick.Stage, it item) {
	e := &s.shares[stage]
	if !e.listed {
		*e = sourceShare{at: len(c.sources), listed: true}
		c.sources = append(c.sources, s)
	}
	if e.count++; e.count == 1 {
		c.present++
	}
	if !it.channel.Delivery().Reliable() {
		if e.unreliable++; e.unreliable == 1 {
			e.first = int32(c.upto)
		} else {
			c.next[int(e.last)-c.base] = int32(c.upto)
		}
		e.last = int32(c.upto)
	}
	c.settle(s, stage)
}

// leave subtracts an item that was handled or dropped. It is the oldest of its source.
func (c *fairQueue) leave(s *Source, stage tick.Stage, it item) {
	e := &s.shares[stage]
	if e.count--; e.count == 0 {
		c.present--
	}
	if !it.channel.Delivery().Reliable() {
		e.unreliable--
		e.first = c.next[int(e.first)-c.base]
	}
	c.settle(s, stage)
}

// settle restores the heap after the weight of a source changed.
func (c *fairQueue) settle(s *Source, stage tick.Stage) {
	at := s.shares[stage].at
	for at > 0 && c.heavier(at, (at-1)/2, stage) {
		c.swap(at, (at-1)/2, stage)
		at = (at - 1) / 2
	}
	for {
		child := 2*at + 1
		if child+1 < len(c.sources) && c.heavier(child+1, child, stage) {
			child++
		}
		if child >= len(c.sources) || !c.heavier(child, at, stage) {
			return
		}
		c.swap(at, child, stage)
		at = child
	}
}

// heavier compares two entries of the heap. Of two equal weights the lower id is heavier.
func (c *fairQueue) heavier(a, b int, stage tick.Stage) bool {
	s, than := c.sources[a], c.sources[b]
	return s.weight(stage) > than.weight(stage) || s.weight(stage) == than.weight(stage) && s.id < than.id
}

func (c *fairQueue) swap(a, b int, stage tick.Stage) {
	c.sources[a], c.sources[b] = c.sources[b], c.sources[a]
	c.sources[a].shares[stage].at, c.sources[b].shares[stage].at = a, b
}

// makeRoom makes room in a full queue for one message of a source. The queue is divided equally among the
// sources that have messages in it; nobody loses part of their share. Sources above their share lose first: the oldest
// unreliable message of the largest source. If these have only reliable messages, the largest source loses its
// connection. If no other source can make room, a source at or above its share does so itself. Its unreliable message
// never costs a connection.
func (in *Inbound) makeRoom(s *Source, stage tick.Stage, reliable bool) error {
	if s.fault != nil { // its connection is about to end: nobody makes room for this message
		in.stats.Full++
		return ErrFull
	}
	c := in.fairQueueOf(stage)
	mine := s.shares[stage]
	present := c.present
	if mine.count == 0 {
		present++
	}
	share := max(in.limits.PerStage/present, 1)
	if top := c.sources[0]; top.weight(stage) > share {
		in.dropOldest(c, top, stage)
		return nil
	}
	if reliable || mine.count < share {
		if most := c.most(s, stage, max(share, mine.count)); most != nil {
			most.fail(ErrFull)
			in.stats.Evicted += uint64(in.Drop(most))
			return nil
		}
	}
	if mine.unreliable > 0 {
		in.dropOldest(c, s, stage)
		return nil
	}
	in.stats.Full++
	return ErrFull
}

// dropOldest drops the oldest unreliable message of a source in a stage.
func (in *Inbound) dropOldest(c *fairQueue, s *Source, stage tick.Stage) {
	q := &in.cur.stages[stage]
	it := &q.items[s.shares[stage].first]
	c.leave(s, stage, *it)
	it.kind = 0
	q.live--
	in.stats.PerStage++
}

// most returns the other source with the most messages in a stage, if it has more than least. Sources in this process
// are skipped: their senders get an error at once.
func (c *fairQueue) most(but *Source, stage tick.Stage, least int) (most *Source) {
	for _, s := range c.sources {
		if n := s.shares[stage].count; (n > least || most != nil && n == least && s.id < most.id) && !s.inside && s != but {
			most, least = s, n
		}
	}
	return most
}

// Drop removes all queued and deferred messages of a source and returns their number. Its connection ended, and the
// game was told that nothing more comes. The cost is not freed. A handler may call it.
func (in *Inbound) Drop(s *Source) int {
	dropped := s.deferred.count
	in.Forget(s)
	if s.frame != in.number {
		return dropped // nothing sent in this frame, and nothing carried over
	}
	for stage := range in.cur.stages {
		q := &in.cur.stages[stage]
		before := q.live
		for i := q.head; i < len(q.items); i++ {
			if it := q.items[i]; !it.dead() && in.cur.origins[it.origin].source == s {
				q.items[i].kind = 0
				q.live--
				dropped++
			}
		}
		if q.live < before {
			q.epoch++
		}
	}
	return dropped
}

// EachReliable calls f for each reliable message of a source that waits: before Drop it is what will not be handled. Both
// arguments are valid until f returns.
func (in *Inbound) EachReliable(s *Source, f func(m *Message, payload []byte)) {
	for i := range s.deferred.list {
		if e := &s.deferred.list[i]; !e.gone && e.message.Channel.Delivery().Reliable() {
			f(&e.message, s.deferred.payload(e))
		}
	}
	if s.frame != in.number {
		return
	}
	for stage := range in.cur.stages {
		q := &in.cur.stages[stage]
		for i := q.head; i < len(q.items); i++ {
			it := q.items[i]
			if it.dead() || !it.channel.Delivery().Reliable() || in.cur.origins[it.origin].source != s {
				continue
			}
			m := in.cur.options(it)
			m.Type, m.Stage, m.Channel = it.kind, tick.Stage(stage), it.channel
			f(&m, in.cur.payload(it))
		}
	}
}

// MayHold reports whether messages of a source may wait here. It does not search: it returns true for every source that
// sent, or had messages carried over, in this frame.
func (in *Inbound) MayHold(s *Source) bool { return s.deferred.count > 0 || s.frame == in.number }

// CountUnhandled counts the waiting reliable messages of each of these sources, for Source.Unhandled. It makes one
// pass, however many sources there are.
func (in *Inbound) CountUnhandled(sources []*Source) {
	for _, s := range sources {
		s.unhandled = s.deferred.count - s.deferred.unreliable
	}
	for stage := range in.cur.stages {
		q := &in.cur.stages[stage]
		if q.live == 0 {
			continue
		}
		for _, it := range q.items[q.head:] {
			if !it.dead() && it.channel.Delivery().Reliable() {
				in.cur.origins[it.origin].source.unhandled++
			}
		}
	}
}

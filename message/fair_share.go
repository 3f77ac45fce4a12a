package message

import "github.com/arche-netcode/netcode/tick"

// fairQueue counts, by source, the messages that wait for a stage. The first full queue counts them all; later ones follow the
// changes since. So a queue that is not full costs nothing.
type fairQueue struct {
	frame, epoch uint64    // of the queue that was counted
	base         int       // place of the first item that was
	from, upto   int       // the items in between are counted
	next         []int32   // of an unreliable message, by its place after base: the place of the next one of its source
	sources      []*Source // a heap by weight
	present      int       // sources that have messages there
}

// sourceShare counts the messages of one source in a crowd.
type sourceShare struct {
	count, loose int   // messages, and of them unreliable ones
	first, last  int32 // places of the oldest and the newest of these
	at           int   // in crowd.sources
	listed       bool
}

// weight returns the number of a source's messages in a stage if one of them may be dropped, and else 0.
func (s *Source) weight(stage tick.Stage) int {
	if s.crowd[stage].loose == 0 {
		return 0
	}
	return s.crowd[stage].count
}

// fairQueueOf returns the counts, by source, of the messages that wait for a stage.
func (in *Inbound) fairQueueOf(stage tick.Stage) *fairQueue {
	c, q := &in.crowds[stage], &in.cur.stages[stage]
	if c.frame != in.number || c.epoch != q.epoch || c.upto < q.head {
		c.reset(stage)
		c.frame, c.epoch, c.base, c.from, c.upto = in.number, q.epoch, q.head, q.head, q.head
	}
	for ; c.from < q.head; c.from++ {
		if it := q.items[c.from]; !it.dead() {
			c.leave(in.cur.origins[it.origin()].source, stage, it)
		}
	}
	for ; c.upto < len(q.items); c.upto++ {
		c.next = append(c.next, 0)
		if it := q.items[c.upto]; !it.dead() {
			c.enter(in.cur.origins[it.origin()].source, stage, it)
		}
	}
	return c
}

// reset forgets what was counted.
func (c *fairQueue) reset(stage tick.Stage) {
	for _, s := range c.sources {
		s.crowd[stage] = sourceShare{}
	}
	clear(c.sources)
	c.sources, c.next, c.present = c.sources[:0], c.next[:0], 0
}

// enter counts the item at upto.
func (c *fairQueue) enter(s *Source, stage tick.Stage, it item) {
	e := &s.crowd[stage]
	if !e.listed {
		*e = sourceShare{at: len(c.sources), listed: true}
		c.sources = append(c.sources, s)
	}
	if e.count++; e.count == 1 {
		c.present++
	}
	if !it.delivery().Reliable() {
		if e.loose++; e.loose == 1 {
			e.first = int32(c.upto)
		} else {
			c.next[int(e.last)-c.base] = int32(c.upto)
		}
		e.last = int32(c.upto)
	}
	c.settle(s, stage)
}

// leave counts out an item that was handled or dropped. Of a source the oldest goes first, so of its unreliable ones it is
// the first.
func (c *fairQueue) leave(s *Source, stage tick.Stage, it item) {
	e := &s.crowd[stage]
	if e.count--; e.count == 0 {
		c.present--
	}
	if !it.delivery().Reliable() {
		e.loose--
		e.first = c.next[int(e.first)-c.base]
	}
	c.settle(s, stage)
}

// settle restores the heap after the weight of a source changed.
func (c *fairQueue) settle(s *Source, stage tick.Stage) {
	at := s.crowd[stage].at
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

// heavier compares two places of the heap. Of two sources that weigh the same it is the one with the lower id.
func (c *fairQueue) heavier(a, b int, stage tick.Stage) bool {
	s, than := c.sources[a], c.sources[b]
	return s.weight(stage) > than.weight(stage) || s.weight(stage) == than.weight(stage) && s.id < than.id
}

func (c *fairQueue) swap(a, b int, stage tick.Stage) {
	c.sources[a], c.sources[b] = c.sources[b], c.sources[a]
	c.sources[a].crowd[stage].at, c.sources[b].crowd[stage].at = a, b
}

// makeRoom makes room in a full queue for one message of the present source. An equal share of the queue, by those who have
// something there, is everyone's own: room is made by those above it, first by unreliable messages, the oldest of whoever has
// the most; where nobody above his share has any, by the connection of whoever has the most. A source that is not below its share makes
// room himself where no other can, and an unreliable message of his is not worth a connection.
func (in *Inbound) makeRoom(stage tick.Stage, reliable bool) error {
	s := in.from.source
	if s.fault != nil { // its connection is about to end: nobody makes room for it
		in.stats.Full++
		return ErrFull
	}
	c := in.fairQueueOf(stage)
	mine := s.crowd[stage]
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
		if most := in.most(c, stage, max(share, mine.count)); most != nil {
			most.fail(ErrFull)
			in.stats.Evicted += uint64(in.Drop(most))
			return nil
		}
	}
	if mine.loose > 0 {
		in.dropOldest(c, s, stage)
		return nil
	}
	in.stats.Full++
	return ErrFull
}

// dropOldest drops the oldest unreliable message that a source has in a stage.
func (in *Inbound) dropOldest(c *fairQueue, s *Source, stage tick.Stage) {
	q := &in.cur.stages[stage]
	it := &q.items[s.crowd[stage].first]
	c.leave(s, stage, *it)
	it.kill()
	q.live--
	in.stats.PerStage++
}

// most returns the source that has the most messages in a stage, if that is more than least. Those in this process are
// left out: to them it is said at once that a message finds no room.
func (in *Inbound) most(c *fairQueue, stage tick.Stage, least int) (most *Source) {
	for _, s := range c.sources {
		if n := s.crowd[stage].count; (n > least || most != nil && n == least && s.id < most.id) && !s.inside && s != in.from.source {
			most, least = s, n
		}
	}
	return most
}

// Drop takes what a source has sent out of the queues and out of what is deferred, and returns how many messages that
// were: its connection ended, and the game was told that nothing more comes from there. Their cost is not freed. It may be
// called from a handler.
func (in *Inbound) Drop(s *Source) int {
	dropped := s.deferred.count
	in.Forget(s)
	if s.frame != in.number {
		return dropped // it has sent nothing in this frame, and nothing of an earlier one waits
	}
	for stage := range in.cur.stages {
		q := &in.cur.stages[stage]
		before := q.live
		for i := q.head; i < len(q.items); i++ {
			if it := q.items[i]; !it.dead() && in.cur.origins[it.origin()].source == s {
				q.items[i].kill()
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

// MayHold reports whether anything of a source may wait here. It does not look for it: of one that sent in this frame, or
// of whom something was carried into it, anything may.
func (in *Inbound) MayHold(s *Source) bool { return s.deferred.count > 0 || s.frame == in.number }

// CountUnhandled counts for each of a list of sources the reliable messages that wait; Source.Unhandled tells. It is one
// pass over what waits, however many sources there are.
func (in *Inbound) CountUnhandled(sources []*Source) {
	for _, s := range sources {
		s.unhandled = s.deferred.count - s.deferred.loose
	}
	for stage := range in.cur.stages {
		q := &in.cur.stages[stage]
		if q.live == 0 {
			continue
		}
		for _, it := range q.items[q.head:] {
			if !it.dead() && it.delivery().Reliable() {
				in.cur.origins[it.origin()].source.unhandled++
			}
		}
	}
}

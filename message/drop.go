package message

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

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

package snapshot

// mostLivesEach is for how many lives there is room for each entity that a Replica takes: those that are alive, and those
// that ended so lately that something on its way may speak of them. So all entities may be replaced at once.
const mostLivesEach = 2

// beyond refuses a payload that speaks of an index that this end does not take.
func (r *Replica) beyond(index uint32) error {
	if index >= MaxEntities {
		return r.malformed()
	}
	if r.guard != nil { // it would refuse an entity that there cannot be
		r.stats.Guarded++
		return ErrGuarded
	}
	r.stats.TooMany++
	return ErrTooMany
}

// most is how many lives the payload may begin at most.
func (s *stage) most() int { return len(s.versions) - s.from + len(s.despawns) }

// fits counts the lives that the payload begins and refuses it where that are too many.
func (r *Replica) fits() error {
	fresh, s := 0, &r.stage
	for _, id := range s.despawns {
		if r.find(id.Index, id.Generation) < 0 {
			fresh++
		}
	}
	for i := range s.runs {
		u := &s.runs[i]
		for k := range uint32(u.n) {
			if r.find(u.index+k, u.generation) < 0 {
				fresh++
			}
		}
	}
	indexes, runs := s.indexes, s.runs
	for i := s.from; i < len(s.versions); i++ {
		if len(runs) > 0 && runs[0].at == i-s.from {
			i, runs = i+runs[0].n-1, runs[1:]
			continue
		}
		if r.find(indexes[0], s.versions[i].generation) < 0 {
			fresh++
		}
		indexes = indexes[1:]
	}
	if r.numbers.used+fresh > mostLivesEach*int(r.most) {
		r.stats.TooMany++
		return ErrTooMany
	}
	return nil
}

package snapshot

// followed are the versions of a tick, by place, of which another with the same rows
// followed within spareTicks. Where everything moves they are followed in order: then
// they are those up to one.
type followed struct {
	n    int    // how many
	upTo uint32 // all in front of it
	set  bitset // those of the others
}

// add notes that n versions, from the one of a place on, were followed, which they
// are once. There are most of them.
func (f *followed) add(place uint32, n, most int) {
	f.n += n
	if place == f.upTo {
		f.upTo += uint32(n)
	} else {
		f.addApart(place, n, most)
	}
}

// addApart is add of what does not lie behind all others.
func (f *followed) addApart(place uint32, n, most int) {
	f.set = f.set.grownTo(most)
	f.set.setAll(place, n)
}

func (f *followed) has(place uint32) bool { return place < f.upTo || f.set.has(place) }

func (f *followed) clear() { f.n, f.upTo, f.set = 0, 0, f.set[:0] }

package snapshot

import (
	"fmt"

	"github.com/arche-netcode/netcode/tick"
)

// seqTold reports whether something of an index changed at tick u that this
// client is to be told.
func (c *seqClient) seqTold(index uint32, u tick.Tick) bool {
	was, is := &c.meant[u-1][index], &c.meant[u][index]
	return !is.kept && (*was != is.without(was, c.own[u][index]) || c.again[u][index] && is.generation != 0)
}

// unseen reports whether what happened to an index at tick u was of a life that
// began and ended between two ticks as of which it was shown, one after the other,
// or of one that ended before anything of it was said, or was not told any more
// since the client was left what it had.
func (c *seqClient) unseen(index uint32, u, from, to tick.Tick) bool {
	if u < c.keptAt[index] || u < c.unsaid[index] {
		return true
	}
	first := u
	if c.meant[u][index].generation == 0 {
		first-- // the life ended at u
	}
	life := c.meant[first][index].generation
	for ; first > 0 && c.meant[first-1][index].generation == life; first-- {
	}
	for ; u < to && c.meant[u][index].generation == life; u++ {
	}
	return first > from && c.meant[u][index].generation != life
}

// bound reports whether an index was in a group, as far as this client could
// see, just before what happened at tick u or just after.
func (s *sequence) bound(c *seqClient, index uint32, u tick.Tick, group uint32) bool {
	was, is := &c.meant[u-1][index], &c.meant[u][index]
	before := was.generation != 0 && (!was.kept || is.generation == 0)
	if u == c.unsaid[index] || u == c.keptAt[index] && is.generation != 0 {
		before = false // nothing of it was said, or it was left as it was: what is shown is a new life
	}
	return before && s.groups[u-1][index] == group || is.generation != 0 && !is.kept && s.groups[u][index] == group
}

// checkTogether: what happened at one tick to those that were in a group then,
// or had just been, a client is shown as a whole or not at all: rows, spawns and
// despawns. It is asked of each index that a packet of tick t has brought past a
// tick at which something happened to it.
func (s *sequence) checkTogether(c *seqClient, t tick.Tick) error {
	t -= s.start
	before := c.shown
	for index := range c.shown {
		if e := c.replica.Entity(uint32(index)); e.Tick > s.start {
			c.shown[index] = max(c.shown[index], e.Tick-s.start)
		}
	}
	for index := range uint32(sequenceIndexes) {
		for u := before[index] + 1; u <= c.shown[index]; u++ {
			if !c.seqTold(index, u) || c.unseen(index, u, before[index], c.shown[index]) {
				continue
			}
			for group := uint32(1); group <= sequenceGroups; group++ {
				if !s.bound(c, index, u, group) {
					continue
				}
				if err := s.checkOthers(c, index, u, t, group); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkOthers: since the client was shown what happened to an index at tick u,
// it is shown the same of all others of the group.
func (s *sequence) checkOthers(c *seqClient, index uint32, u, t tick.Tick, group uint32) error {
	for other := range uint32(sequenceIndexes) {
		if other == index || !c.seqTold(other, u) || !s.bound(c, other, u, group) || c.unseen(other, u, c.shown[other], t) {
			continue
		}
		if u <= c.torn || u <= s.split[group] {
			s.met.untied++
			continue
		}
		s.met.together++
		if c.meant[u][index].generation == 0 || c.meant[u][other].generation == 0 {
			s.met.parted++
		} else if s.groups[u][index] != group || s.groups[u][other] != group {
			s.met.moved++
		}
		if !c.isShown(other, u, t) {
			return fmt.Errorf("group %d is torn: what happened to %d at tick %d is shown, of %d it is not: %+v as of %d",
				group, index, u, other, c.held(c.replica.Entity(other)), c.shown[other])
		}
	}
	return nil
}

// isShown reports whether a client has been shown what happened to an index at
// tick u, or what that had come to by the packet of tick t. Of what was left as
// it was, and of what it could not be told any more when the packet was written,
// nothing is asked.
func (c *seqClient) isShown(index uint32, u, t tick.Tick) bool {
	if c.shown[index] >= u || c.left(index, t) {
		return true
	}
	got := c.held(c.replica.Entity(index))
	for ; u <= t; u++ {
		if c.asGood(got, index, c.shown[index], u) || c.meant[u][index].kept {
			return true
		}
	}
	return false
}

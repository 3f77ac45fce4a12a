package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// Acked tells that the packet with this sequence was decoded by the client:
// its records become baselines and its despawns are settled (rules 2, 7). It
// may come after Lost for the same sequence.
func (v *View) Acked(seq uint64) {
	v.born()
	p := v.sent.get(seq)
	if p == nil || p.acked {
		return
	}
	p.pending, p.acked = false, true
	v.ties.changes++
	if seq >= v.epochSeq {
		v.answer, v.answered = false, true
	}
	v.heard(p)
	if p.records > 0 && seq >= v.epochSeq {
		v.answers.acked(p.tick)
	}
	v.makeRoom()
	alone := 0
	counts := seq >= v.epochSeq
	for i := 0; i < p.n; {
		if i == p.at && p.alike != nil && counts && v.cohorts.used > 0 {
			alone += v.provedAlike(p.alike.entries, p.alike.words, p.tick)
			i += len(p.alike.entries)
			continue
		}
		entries := v.sent.following(p, i)
		alone += v.proved(entries, p.tick, counts)
		i += len(entries)
	}
	if p.alike != nil && min(alone, len(p.alike.entries)) >= v.cohorts.least {
		v.gather(p.alike, p.tick)
	}
}

// proved takes in what the client has decoded of a packet of tick t, which makes
// baselines unless it is of before a resync. It returns of how many entities that
// was taken in one by one.
func (v *View) proved(entries []sentEntry, t tick.Tick, counts bool) (alone int) {
	for i, fetched := 0, 0; i < len(entries); {
		if i >= fetched {
			fetched = min(i+ahead, len(entries))
			v.fetch(entries[i:fetched])
		}
		e := &entries[i]
		switch {
		case e.despawn:
			v.settle(e, t)
			i++
			continue
		case !counts:
			i++
			continue
		}
		if v.cohorts.used == 0 {
			v.confirm(e, t)
			alone++
			i++
			continue
		}
		n := v.wordsOf(entries[i:])
		alone += v.provedAlike(entries[i:i+n], v.words, t)
		i += n
	}
	return alone
}

// wordsOf puts into words the first of these that are of the same span, and
// returns how many that are.
func (v *View) wordsOf(entries []sentEntry) (n int) {
	v.words = v.words[:0]
	for ; n < min(ahead, len(entries)); n++ {
		e := &entries[n]
		if e.despawn || e.span != entries[0].span {
			break
		}
		w, bit := e.index>>6, uint64(1)<<(e.index&63)
		if last := len(v.words) - 1; last >= 0 && v.words[last].word == w {
			v.words[last].of |= bit
		} else {
			v.words = append(room(v.words, 1, usualList), wordOf{w, bit})
		}
	}
	return n
}

// provedAlike is proved for records of one span, of which words are.
func (v *View) provedAlike(entries []sentEntry, words []wordOf, t tick.Tick) (alone int) {
	m := v.proveTogether(words, len(entries), t, entries[0].span)
	for k := 0; m.alone != 0 && k < len(words); k++ {
		n := bits.OnesCount64(words[k].of)
		for i := 0; m.rest[k] != 0 && i < n; i++ {
			if e := &entries[i]; m.rest[k]>>(e.index&63)&1 != 0 {
				v.confirm(e, t)
				alone++
			}
		}
		entries = entries[n:]
	}
	return alone
}

// settle marks a despawn as known to the client.
func (v *View) settle(e *sentEntry, t tick.Tick) {
	p := &v.tenants[e.index]
	if v.ties.n > 0 && t >= p.ended {
		v.ties.untie(e.index, t)
	}
	if !v.owed.has(e.index) || t < p.ended {
		return // of another life: a despawn is written after the end that it tells of, and before any later one
	}
	v.owed.unset(e.index)
	v.unsent.unset(e.index)
	v.unacked.unset(e.index)
	p.shown = 0
}

// confirm makes a record the entity's baseline, unless it is of an earlier
// life or older than the baseline there is.
func (v *View) confirm(e *sentEntry, t tick.Tick) {
	p := v.alone(e.index)
	if p.base == tick.None {
		// A life begins after all records of earlier ones.
		if !v.visible.has(e.index) || t < v.tenants[e.index].life {
			return
		}
		v.meet(e.index)
	}
	p.proved(t, e)
	if v.ties.n > 0 {
		v.ties.untie(e.index, t)
	}
	if v.moved(e.index) <= t {
		// The client has the newest there is, whatever else is on its way.
		v.unacked.unset(e.index)
		v.unsent.unset(e.index)
	}
	if v.cohorts.all[v.cohorts.last].n > 0 {
		v.join(e.index)
	}
}

// proved takes in an acknowledged record of this life.
func (p *slot) proved(t tick.Tick, e *sentEntry) {
	back := p.base - t // of one that comes late
	if t > p.base {
		near := t - p.base
		if p.base == tick.None || p.mask != e.mask || near > mostNear {
			near = 0
		}
		p.base, p.mask, p.lean, p.near, p.after = t, e.mask, e.span, uint16(near), 0
	} else if back > 0 && back < min(mostNear+1, tick.Tick(p.lean)) && p.mask == e.mask && (p.near == 0 || back < tick.Tick(p.near)) {
		p.near = uint16(back)
	}
}

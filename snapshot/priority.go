package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sendPlan chooses which entities are sent first in a tick that has no room for all that wait.
type sendPlan struct {
	active   bool
	left     int         // chosen (pageSets.chosen) and not written yet
	advanced bool        // a further part was chosen since writeUnlisted last began with the first index
	ranked   []candidate // all that wait
	from     int         // the first from of ranked were chosen
	tier     int         // entities in a part
	average  int         // average bits of a record, times averageScale

	latest tick.Tick // tick of the newest plan
	went   []uint32  // indexes sent with the newest plan
	price  int64     // average score that it takes to be sent
	most   int64     // most score that an index begins with
}

// candidate is an entity that waits to be sent.
type candidate struct {
	score int64
	index uint32
}

const (
	averageScale = 16
	firstAverage = 128 * averageScale
	// priceShare is the divisor of the newest price in the average.
	priceShare = 8
	// mostScore bounds scores.
	mostScore = 1 << 60
)

// Plan chooses which entities are sent first if bytes are too few for all that wait. Call it once a tick, after Observe and before the
// packets. bytes < 0 means no limit.
//
// It is a priority accumulator. An entity that waits adds its weight to its score every tick, and those with the highest scores are
// sent. A sent entity pays the price, which is about the highest score of the entities that were not sent. So no entity starves, and
// one of twice the weight is sent twice as often.
//
// The choice is made in parts of the budget. Within a part, the order is that of the packet. Entities that were chosen and did not fit
// are chosen first in the next tick.
func (v *View) Plan(bytes int) {
	v.flushSpawns()
	p := &v.plan
	if len(p.went) > 0 {
		v.settleScores()
	}
	p.active = false
	if bytes < 0 {
		return
	}
	if p.average == 0 {
		p.average = firstAverage
	}
	fits := max(8*averageScale*bytes/p.average, 1)
	waiting := 0
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		waiting += bits.OnesCount64(v.pages[w].unsent &^ v.pages[w].despawnOwed)
	}
	if waiting <= fits && !v.backlog {
		return
	}
	v.rank(waiting <= fits)
	p.active, p.from, p.tier, v.cursor = true, 0, max(min(fits, waiting)/tiers, 1), 0
	v.choose()
}

// tiers is the number of parts of a budget.
const tiers = 4

// choose chooses the next part.
func (v *View) choose() {
	p := &v.plan
	n := min(p.tier, len(p.ranked)-p.from)
	if n == 0 {
		p.active = false
		return
	}
	next := p.ranked[p.from:]
	selectTop(next, n)
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		v.pages[w].chosen = 0
	}
	for _, c := range next[:n] {
		v.page(c.index).chosen |= bitOf(c.index)
	}
	p.from, p.left, p.advanced = p.from+n, n, true
}

// rank lists everything that waits with its score. fits tells that all of it is likely to be sent.
func (v *View) rank(fits bool) {
	v.settleUrged()
	p := &v.plan
	fresh := v.store.tick-p.latest != 1 // in the ticks between, everything was sent
	if fresh {
		p.price = 0
	}
	if p.latest, p.most = v.store.tick, p.price; fits {
		p.most = mostScore
	}
	p.ranked = p.ranked[:0]
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		g := v.pages[w]
		if fresh {
			for i := range g.lives {
				g.lives[i].score = 0
			}
			g.waited = 0
		}
		waits, waited := g.unsent&^g.despawnOwed, g.waited
		g.waited = waits
		for word := waits; word != 0; word &= word - 1 {
			index := firstOf(uint32(w), word)
			e := v.life(index)
			e.score = v.score(index, waited&bitOf(index) != 0)
			p.ranked = append(p.ranked, candidate{score: e.score + v.urgency(index), index: index})
		}
	}
}

// score returns the score of an index that waits. An index that did not wait in the last tick begins with the weight of the ticks
// since it was last sent. That is at most the price: it is sent soon, but not before entities of more weight. A new entity begins with
// at least the price.
func (v *View) score(index uint32, waited bool) int64 {
	p := &v.plan
	score, weight := v.life(index).score, v.weight(index)
	if !waited {
		life, went := v.life(index).firstTick, v.ack(index).went
		idle := min(v.store.tick-max(went, life-1)-1, 1<<20)
		if score = min(score+weight*int64(max(idle, 0)), p.most); went < life {
			score = max(score, p.price)
		}
	}
	return min(score+weight, mostScore)
}

// weight returns the weight of an index for this client: priority times relevance times the importance of its changed rows.
func (v *View) weight(index uint32) int64 {
	weight := v.store.priority(index) * v.weightOf(index)
	if v.store.schema.Weighed {
		weight = max(weight*v.importance(index)/NormalWeight, 1)
	}
	return weight
}

// Ranking returns the weight of a visible entity for this client, and its accumulated score. The unit of both is the weight of
// priority 1. Both are 0 for an entity that is not visible; the score is 0 if no budget was short.
func (v *View) Ranking(id wire.NetworkID) (weight, score float64) {
	if !v.Visible(id) {
		return 0, 0
	}
	const unit = NormalWeight * NormalWeight
	if v.page(id.Index).waited&bitOf(id.Index) != 0 {
		score = float64(v.life(id.Index).score) / unit
	}
	return float64(v.weight(id.Index)) / unit, score
}

// importance returns the highest importance of the rows of an index that the client may not have in their newest state.
func (v *View) importance(index uint32) int64 {
	s := v.store
	base, mask := v.ack(index).base, v.maskOf(index)
	shown := v.shown(index, mask)
	highest := int64(0)
	for m := mask.Union(shown); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		if base == tick.None || !mask.Has(row) || !shown.Has(row) || v.changedSince(index, row, base) {
			o := s.schema.Options(row)
			highest = max(highest, o.Weight())
		}
	}
	return cmp.Or(highest, NormalWeight)
}

// changedSince reports whether a row changed for this client after tick t.
func (v *View) changedSince(index uint32, row int, t tick.Tick) bool {
	if v.store.schema.Refs.Has(row) {
		return v.overrides.sinceOf(index, row) > t
	}
	return v.store.past.changedAfter(row, index, t)
}

// settleScores takes the price off the scores of the entities sent with the newest plan.
func (v *View) settleScores() {
	p, cut := &v.plan, int64(0)
	for _, c := range p.ranked[p.from:] {
		cut = max(cut, v.life(c.index).score)
	}
	if p.price == 0 {
		p.price = cut
	}
	p.price += (cut - p.price) / priceShare
	for _, index := range p.went {
		if _, held := v.page(index).place(index); held {
			e := v.life(index)
			e.score = min(max(e.score-p.price, -p.price), p.price)
		}
	}
	p.went = p.went[:0]
}

// before reports whether c is sent before d: by higher score, then by lower index.
func (c candidate) before(d candidate) bool {
	if c.score != d.score {
		return c.score > d.score
	}
	return c.index < d.index
}

func (c candidate) compare(d candidate) int {
	if c.before(d) {
		return -1
	}
	return 1
}

// mostLooks bounds the passes of selectTop. After them it sorts the rest.
const mostLooks = 8

// selectTop moves the first n candidates, by before, to the front in any order. It is Hoare's quickselect with the median of three as
// pivot. It returns how many candidates it looked at. Unlucky pivots must not delay a tick, whatever the order of the candidates:
// after mostLooks passes it sorts the rest.
func selectTop(all []candidate, n int) (looked int) {
	from, to := 0, len(all)
	for to-from > 1 && n > from && n < to {
		if looked += to - from; looked > mostLooks*len(all) {
			slices.SortFunc(all[from:to], candidate.compare)
			return looked
		}
		quarter := (to - from) / 4 // not the ends: exchanged candidates lie there
		pivot := medianOfThree(all[from+quarter], all[(from+to)/2], all[to-1-quarter])
		i, j := from, to-1
		for i <= j {
			for all[i].before(pivot) {
				i++
			}
			for pivot.before(all[j]) {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			to = j + 1
		case n >= i:
			from = i
		default:
			return looked
		}
	}
	return looked
}

// medianOfThree returns the second of three candidates in the order of before.
func medianOfThree(a, b, c candidate) candidate {
	if b.before(a) {
		a, b = b, a
	}
	if c.before(b) {
		b = c
	}
	if b.before(a) {
		return a
	}
	return b
}

// wrote updates the average bits of a record.
func (p *sendPlan) wrote(bits int) {
	if p.average == 0 {
		p.average = firstAverage
	}
	p.average += (bits*averageScale - p.average) / 16
}

// allows returns the entities of a page that the plan allows to be sent now.
func (v *View) allows(g *ackPage) uint64 {
	if !v.plan.active {
		return ^uint64(0)
	}
	return g.chosen
}

// planSent notes that an entity was written.
func (v *View) planSent(index uint32) {
	v.page(index).waited &^= bitOf(index)
	v.plan.went = append(v.plan.went, index)
	v.took(index)
}

// took notes that a chosen entity was written, or cannot be in this tick.
func (v *View) took(index uint32) {
	g := v.page(index)
	if !v.plan.active || g.chosen&bitOf(index) == 0 {
		return
	}
	g.chosen &^= bitOf(index)
	if v.plan.left--; v.plan.left == 0 {
		v.choose()
	}
}

// maxPriority is the largest weight of a components.Priority.
const maxPriority = 255

// WeightOf converts a components.Priority to the unit of SetPriority, 1/[NormalWeight]. It returns OutOfRange with the nearest
// possible weight, and NotFinite with 0.
func WeightOf(weight float32) (uint16, wire.FaultReason) {
	switch w := float64(weight); {
	case w-w != 0:
		return 0, wire.NotFinite
	case w < 0:
		return 1, wire.OutOfRange
	case w > maxPriority:
		return maxPriority * NormalWeight, wire.OutOfRange
	default:
		return uint16(max(math.Round(w*NormalWeight), 1)), wire.NoFault
	}
}

// Priority returns the base priority of an entity as SetPriority set it, or [NormalWeight]. It returns 0 if the entity is not alive.
func (s *Store) Priority(id wire.NetworkID) uint16 {
	if !s.Alive(id) {
		return 0
	}
	return uint16(s.priority(id.Index))
}

// An urged entity ranks higher, by urgedPrices times the price and urgedTicks times its own weight. So it is sent before entities that
// waited for one turn, and after those that waited for several turns. It pays the price as others do, so over time it is sent as often
// as its weight says.
const (
	urgedPrices = 4
	urgedTicks  = 64
)

// urgedEntity is an entity that is sent first under a short budget, since something at the client waits for a record of a tick or a later one.
type urgedEntity struct {
	index uint32
	want  tick.Tick
}

// Urge makes an entity be sent earlier than its priority says, until a record of tick t or a later one was sent. It is for messages
// that wait at the client for that state.
func (v *View) Urge(id wire.NetworkID, t tick.Tick) {
	if !v.Visible(id) || v.page(id.Index).unsent&bitOf(id.Index) == 0 || v.ack(id.Index).went >= t {
		return
	}
	if g := v.page(id.Index); g.urged&bitOf(id.Index) == 0 {
		g.urged |= bitOf(id.Index)
		v.urged = append(v.urged, urgedEntity{id.Index, t})
		return
	}
	v.urged[slices.IndexFunc(v.urged, func(u urgedEntity) bool { return u.index == id.Index })].want = t
}

// settleUrged removes entities that were sent or are no longer visible.
func (v *View) settleUrged() {
	kept := v.urged[:0]
	for _, u := range v.urged {
		if g := v.page(u.index); g.visible&bitOf(u.index) != 0 && v.ack(u.index).went < u.want {
			kept = append(kept, u)
		} else {
			g.urged &^= bitOf(u.index)
		}
	}
	v.urged = kept
}

// urgency returns by how much an index ranks higher than its score.
func (v *View) urgency(index uint32) int64 {
	if v.page(index).urged&bitOf(index) == 0 {
		return 0
	}
	return urgedPrices*v.plan.price + urgedTicks*v.weight(index)
}

// SetWeight sets the relevance of a visible entity to this client. It is multiplied with the entity's priority. A lifetime begins with
// [NormalWeight], which is 1.0. Zero counts as 1, the least.
func (v *View) SetWeight(id wire.NetworkID, weight uint16) {
	v.decide(sightCall{id: id, n: max(weight, 1), do: func(v *View, c sightCall) {
		if v.Visible(c.id) {
			v.life(c.id.Index).weight = c.n
		}
	}})
}

// weightOf returns the relevance of an index to this client.
func (v *View) weightOf(index uint32) int64 { return int64(cmp.Or(v.life(index).weight, NormalWeight)) }

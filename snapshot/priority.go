package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sendPlan chooses among the candidates of a tick that has no room for all.
type sendPlan struct {
	active   bool
	chosen   bitset
	left     int  // chosen and not written yet
	advanced bool // others were chosen since the candidates were last gone through
	ranked   []candidate
	from     int // ranked before it were chosen
	tier     int // how many are chosen at a time
	average  int // bits of a record lately, times averageScale

	scores []int64   // per index: what it has accumulated; memory once a budget is short
	waited bitset    // indexes that were ranked by the newest plan, and have not gone out since
	latest tick.Tick // of the newest plan
	went   []uint32  // indexes that went out with it
	price  int64     // what it takes to go out, on average
	most   int64     // that an index begins with
}

// candidate is an entity that waits to be sent.
type candidate struct {
	score int64
	index uint32
}

const (
	averageScale = 16
	firstAverage = 128 * averageScale
	// priceShare is the part of the newest price in the average.
	priceShare = 8
	// mostScore bounds scores.
	mostScore = 1 << 60
)

// Plan chooses what goes first when the tick's bytes do not suffice for all
// that waits. It is a priority accumulator: every tick that an entity waits
// adds its weight to its score, and those with the highest scores go out.
// Sending it takes off the price, which is about the highest score of those that
// stay behind, and leaves the rest for the next time. So nothing starves, and
// an entity of twice the weight is sent twice as often. Plan is to be called once a tick,
// after Observe and before the packets. bytes < 0 is without limit.
//
// The choice is made for a part of the budget at a time. Within a part the order is that of the packet. Entities that did not fit after
// all are chosen before anything else in the next tick.
func (v *View) Plan(bytes int) {
	v.flushSpawns()
	p := &v.plan
	if len(p.went) > 0 {
		p.settle()
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
	for w := range v.unsent {
		waiting += bits.OnesCount64(v.unsent[w] &^ v.despawnOwed[w])
	}
	if waiting <= fits && !v.short {
		return
	}
	v.rank(waiting <= fits)
	p.active, p.from, p.tier, v.cursor = true, 0, max(min(fits, waiting)/tiers, 1), 0
	p.advance()
}

// tiers is the number of parts that a budget is chosen in.
const tiers = 4

// advance chooses the next part.
func (p *sendPlan) advance() {
	n := min(p.tier, len(p.ranked)-p.from)
	if n == 0 {
		p.active = false
		return
	}
	next := p.ranked[p.from:]
	selectTop(next, n)
	p.chosen.clear()
	for _, c := range next[:n] {
		p.chosen.set(c.index)
	}
	p.from, p.left, p.advanced = p.from+n, n, true
}

// rank lists everything that waits, with its score. fits is whether all of it is likely to go out.
func (v *View) rank(fits bool) {
	v.urged.settle(v)
	p := &v.plan
	if len(p.scores) < len(v.acks) {
		p.scores = grown(p.scores, len(v.acks), cap(v.acks))
		p.waited = p.waited.grownTo(len(v.acks))
	}
	if v.store.tick-p.latest != 1 { // all was sent meanwhile
		p.waited.clear()
		clear(p.scores)
		p.price = 0
	}
	if p.latest, p.most = v.store.tick, p.price; fits {
		p.most = mostScore
	}
	p.ranked = p.ranked[:0]
	for w := range v.unsent {
		waits := v.unsent[w] &^ v.despawnOwed[w]
		waited := p.waited[w]
		p.waited[w] = waits
		for word := waits; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			p.scores[index] = v.score(index, waited>>(index&63)&1 != 0)
			p.ranked = append(p.ranked, candidate{score: p.scores[index] + v.urgency(index), index: index})
		}
	}
}

// score returns the accumulated score of an index that waits. One that did not wait in the tick before begins with the score of the
// ticks since it was last sent, up to the price: it is sent soon, and not before all that weighs more. A new entity begins with the price.
func (v *View) score(index uint32, waited bool) int64 {
	p := &v.plan
	score, weight := p.scores[index], v.weight(index)
	if !waited {
		life, went := v.lifetimes[index].life, v.ack(index).went
		idle := min(v.store.tick-max(went, life-1)-1, 1<<20)
		if score = min(score+weight*int64(max(idle, 0)), p.most); went < life {
			score = max(score, p.price)
		}
	}
	return min(score+weight, mostScore)
}

// weight returns the weight of an index for this client: its priority, times its relevance, times the importance of the changed rows.
func (v *View) weight(index uint32) int64 {
	weight := v.store.priority(index) * v.weightOf(index)
	if v.store.schema.Weighed {
		weight = max(weight*v.importance(index)/NormalWeight, 1)
	}
	return weight
}

// Ranking returns the weight of a visible entity for this client, and the score that it has accumulated while it waited, in multiples of those
// of priority 1 in a tick. Both are 0 for an entity that is not visible, and the score where no budget was short.
func (v *View) Ranking(id wire.NetworkID) (weight, score float64) {
	if !v.Visible(id) {
		return 0, 0
	}
	const unit = NormalWeight * NormalWeight
	if int(id.Index) < len(v.plan.scores) && v.plan.waited.has(id.Index) {
		score = float64(v.plan.scores[id.Index]) / unit
	}
	return float64(v.weight(id.Index)) / unit, score
}

// importance is the highest of the rows of an index that the client is not known
// to have as they are.
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

// changedSince reports whether a row is another for this client than at tick t.
func (v *View) changedSince(index uint32, row int, t tick.Tick) bool {
	if v.store.schema.Refs.Has(row) {
		return v.overrides.sinceOf(index, row) > t
	}
	return v.store.sinceOf(index, row) > t
}

// settle takes the price off the scores of what went out with the newest plan.
func (p *sendPlan) settle() {
	cut := int64(0)
	for _, c := range p.ranked[p.from:] {
		cut = max(cut, p.scores[c.index])
	}
	if p.price == 0 {
		p.price = cut
	}
	p.price += (cut - p.price) / priceShare
	for _, index := range p.went {
		p.scores[index] = min(max(p.scores[index]-p.price, -p.price), p.price)
	}
	p.went = p.went[:0]
}

// before is the order of what goes first; of equals, the lower index.
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

// mostLooks bounds the passes of selectTop before it sorts the rest.
const mostLooks = 8

// selectTop brings the n first of all to the front, in any order (Hoare's
// quickselect, with the median of three as pivot), and returns how many it
// looked at. What waits for a client comes in orders of its own, as everything
// that is new behind the little that was just lost: whatever the order is, a
// tick must not wait for it, so that what unlucky pivots leave is sorted.
func selectTop(all []candidate, n int) (looked int) {
	from, to := 0, len(all)
	for to-from > 1 && n > from && n < to {
		if looked += to - from; looked > mostLooks*len(all) {
			slices.SortFunc(all[from:to], candidate.compare)
			return looked
		}
		quarter := (to - from) / 4 // not the ends: those are where what was exchanged lies
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

// wrote learns how large records are.
func (p *sendPlan) wrote(bits int) {
	if p.average == 0 {
		p.average = firstAverage
	}
	p.average += (bits*averageScale - p.average) / 16
}

// allows reports whether an index may go out now, given the plan.
func (p *sendPlan) allows(w int) uint64 {
	if !p.active {
		return ^uint64(0)
	}
	return p.chosen[w]
}

// sent notes that an entity was written.
func (p *sendPlan) sent(index uint32) {
	p.waited.unset(index)
	p.went = append(p.went, index)
	p.took(index)
}

// took notes that a chosen entity was written or cannot be.
func (p *sendPlan) took(index uint32) {
	if !p.active || !p.chosen.has(index) {
		return
	}
	p.chosen.unset(index)
	if p.left--; p.left == 0 {
		p.advance()
	}
}

// maxPriority is the largest weight of a components.Priority.
const maxPriority = 255

// WeightOf is the form in which SetPriority takes the weight of a
// components.Priority, in steps of 1/[NormalWeight]. OutOfRange goes with the
// nearest weight there is; what is not finite has none.
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

// Priority is the base priority of an entity, as SetPriority set it; [NormalWeight]
// for one of which nothing was said. It is 0 for entities that do not live.
func (s *Store) Priority(id wire.NetworkID) uint16 {
	if !s.Alive(id) {
		return 0
	}
	return uint16(s.priority(id.Index))
}

// An entity that Urge named ranks higher by so many prices of a record and so many ticks of its own weight. It then goes before
// what is sent in its turn, also when it has just been sent, and behind what has waited for several turns. It pays the
// price all the same, so that over time it is sent as often as its weight says.
const (
	urgedPrices = 4
	urgedTicks  = 64
)

// urged is the entities that go first under a short budget, since something else waits for their state.
type urged struct {
	of   bitset
	list []uint32    // their indexes
	want []tick.Tick // by index: the tick of which a record is wanted, or of a later one
}

// Urge has an entity sent earlier than its priority alone would, until a record of tick t or a later one goes out. It is for
// who has sent something that waits at the client for that state.
func (v *View) Urge(id wire.NetworkID, t tick.Tick) {
	if !v.Visible(id) || !v.unsent.has(id.Index) || v.ack(id.Index).went >= t {
		return
	}
	u := &v.urged
	u.of, u.want = u.of.grownTo(len(v.acks)), grown(u.want, len(v.acks), cap(v.acks))
	u.want[id.Index] = t
	if !u.of.has(id.Index) {
		u.of.set(id.Index)
		u.list = append(u.list, id.Index)
	}
}

// settle takes out who was sent, or is not visible any more.
func (u *urged) settle(v *View) {
	kept := u.list[:0]
	for _, index := range u.list {
		if v.visible.has(index) && v.ack(index).went < u.want[index] {
			kept = append(kept, index)
		} else {
			u.of.unset(index)
		}
	}
	u.list = kept
}

// urgency is by how much an entity ranks higher than its score.
func (v *View) urgency(index uint32) int64 {
	if !v.urged.of.has(index) {
		return 0
	}
	return urgedPrices*v.plan.price + urgedTicks*v.weight(index)
}

// SetWeight sets the relevance of a visible entity to this client, multiplied with the entity's priority. [NormalWeight] is
// 1.0, and a lifetime begins with it. Zero counts as 1, the least.
func (v *View) SetWeight(id wire.NetworkID, weight uint16) {
	if v.deferCall(deferredCall{what: orderWeight, id: id, weight: weight}) {
		return
	}
	if !v.Visible(id) {
		return
	}
	v.overrides.weight = grown(v.overrides.weight, int(id.Index)+1, len(v.acks))
	v.overrides.weight[id.Index] = max(weight, 1)
}

func (v *View) weightOf(index uint32) int64 {
	if int(index) >= len(v.overrides.weight) || v.overrides.weight[index] == 0 {
		return NormalWeight
	}
	return int64(v.overrides.weight[index])
}

package replica

import (
	"math"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// pendingPayload is the payload that is being decoded. It takes effect only when all of it is decoded. It is reused for
// each payload.
type pendingPayload struct {
	payload  []byte
	epoch    uint16
	upTo     tick.Tick // U: the newest R that lists may have, or S without lists
	despawns []wire.NetworkID
	block    *tickBlock // block of S; the records of the payload are its last versions
	from     int        // place of the payload's first record in the block
	lanes    int        // length of the block's lanes before the payload
}

// baseline is the state that a record is coded against: the version decoded at T, or rows of it that are still stored.
type baseline struct {
	tick       tick.Tick
	generation uint32     // 0: no baseline
	life       int32      // if version is nil: the life
	version    *version   // nil if the version of T has left the history
	next       versionRef // if version is nil: the version that superseded it; none: use the evicted rows

	previous     *version // the version decoded at T′; nil: there is no T′
	previousTick tick.Tick
}

// Read decodes one snapshot payload, whole or not at all. The packet of the payload may be acknowledged only if the
// error is nil. Errors: [ErrStale], [ErrBaseline], [ErrMalformed], [ErrGuarded], [ErrTooMany].
func (r *Replica) Read(payload []byte) error {
	b := wire.NewBitReader(payload)
	s := tick.Near(uint16(b.Read(16)), r.newest)
	switch {
	case b.Failed() || s <= tick.None:
		return r.malformed()
	case s <= r.newest-r.window:
		r.stats.Stale++
		return ErrStale
	}
	r.pending.begin(payload, r.history.blockOf(s))
	err := r.decode(&b, s)
	if err == nil {
		err = r.admit()
	}
	if err != nil {
		r.pending.drop()
		return err
	}
	r.commit(s)
	return nil
}

// begin makes an empty pending payload of a block's tick.
func (p *pendingPayload) begin(payload []byte, block *tickBlock) {
	p.payload, p.epoch, p.upTo, p.despawns = payload, 0, block.tick, p.despawns[:0]
	p.block, p.from, p.lanes = block, len(block.versions), len(block.lanes)
}

// drop takes the records of the pending payload out of its block.
func (p *pendingPayload) drop() {
	p.block.versions, p.block.lanes = p.block.versions[:p.from], p.block.lanes[:p.lanes]
}

// decode reads everything after the tick into the pending payload.
func (r *Replica) decode(b *wire.BitReader, s tick.Tick) error {
	if b.Bool() {
		epoch := uint16(b.Read(16))
		r.observer.epoch(epoch)
		if epoch == 0 || r.observer == nil && int16(epoch-r.wanted) > 0 {
			return r.malformed() // the server served a resync that was not requested
		}
		r.pending.epoch = epoch
	}
	r.observer.count(b, headerBits)
	if err := r.decodeDespawns(b); err != nil {
		return err
	}
	context := 0
	if b.Bool() {
		context = 1
		if err := r.decodeLists(b, s); err != nil {
			return err
		}
	}
	r.observer.count(b, placeBits)
	if err := r.decodeUnlisted(b, s, context); err != nil {
		return err
	}
	if !b.Padded() {
		return r.malformed()
	}
	return nil
}

func (r *Replica) decodeDespawns(b *wire.BitReader) error {
	var next uint32
	for b.Bool() {
		index, ok := readIndex(b, &next)
		generation, legal := readGeneration(b)
		if !ok || !legal {
			return r.malformed()
		}
		r.observer.despawn(index, generation)
		if index >= r.most && (r.guard == nil || index >= format.MaxEntities) {
			return r.outOfRange(index)
		}
		if r.guard != nil && r.find(index, generation) < 0 {
			continue // an unknown entity takes no memory
		}
		r.pending.despawns = append(r.pending.despawns, wire.NetworkID{Index: index, Generation: generation})
	}
	r.observer.count(b, despawnBits)
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// decodeUnlisted reads the records of entities that are in no list, in order of index.
func (r *Replica) decodeUnlisted(b *wire.BitReader, s tick.Tick, context int) error {
	var next uint32
	for {
		gap, explicit, end := format.ReadGap(r.schema.Codes.Gap, context, b)
		if b.Failed() {
			return r.malformed()
		}
		if end {
			r.observer.count(b, placeBits)
			return nil
		}
		index := next + gap
		next = index + 1
		r.observer.count(b, placeBits)
		if index >= r.most {
			return r.outOfRange(index)
		}
		h, ok := r.readRecordHeader(b, s, explicit)
		if !ok {
			return r.malformed()
		}
		if h.baseline == fullRecord {
			more, err := r.decodeFull(b, index, &h)
			if err != nil {
				return err
			}
			next += more
		} else if err := r.decodeDelta(b, s, index, &h); err != nil {
			return err
		}
	}
}

// recordHeader is the part of an unlisted record in front of its rows.
type recordHeader struct {
	baseline   baselineKind
	generation uint32      // of a record without a baseline
	base       tick.Tick   // T of explicitBaseline
	sameRows   bool        // the entity has the rows of the record of T
	mask       format.Mask // otherwise: its rows
}

// baselineKind tells what a record is coded against.
type baselineKind uint8

const (
	fullRecord       baselineKind = iota // nothing: all rows are whole
	newestBaseline                       // the newest record up to U
	explicitBaseline                     // the record of a tick in the header
)

// readRecordHeader reads the header of an unlisted record. An implicit one is empty: T is the newest record, and the rows are
// the same. It returns false if the header is not legal.
func (r *Replica) readRecordHeader(b *wire.BitReader, s tick.Tick, explicit bool) (h recordHeader, ok bool) {
	h = recordHeader{baseline: newestBaseline, sameRows: true}
	if !explicit {
		return h, true
	}
	switch {
	case !b.Bool():
		h.baseline, h.sameRows = fullRecord, false
		if h.generation, ok = readGeneration(b); !ok {
			return h, false
		}
	case !b.Bool():
		age := b.Var()
		if b.Failed() || age+1 >= uint64(s) {
			return h, false
		}
		h.baseline, h.base = explicitBaseline, s-tick.Tick(age)-1
		h.sameRows = b.Bool()
	default:
		if h.sameRows = b.Bool(); h.sameRows {
			return h, false // the record could have been implicit
		}
	}
	if !h.sameRows {
		if h.mask, ok = r.schema.ReadMask(b, r.unknown); !ok {
			return h, false
		}
	}
	return h, !b.Failed()
}

// decodeFull reads the rows of a record without a baseline, and the run of such records after it. It returns the number
// of records in the run.
func (r *Replica) decodeFull(b *wire.BitReader, index uint32, h *recordHeader) (more uint32, err error) {
	r.observer.full(b, index, h.generation)
	layout := r.layouts.of(h.mask)
	lanes := r.addRecord(index, h.generation, h.mask, tick.None, layout.lanes)
	if !layout.floats {
		return 0, r.decodeWhole(b, h.mask, lanes, h.mask.Minus(r.schema.Tags))
	}
	if !wire.ReadFloats(b, lanes) {
		return 0, r.malformed()
	}
	r.observer.floats(layout, lanes)
	if b.Bool() {
		return r.decodeRun(b, index, h, layout.lanes)
	}
	r.observer.count(b, placeBits)
	return 0, nil
}

// decodeRun reads records of the next entities, with the same generation and the same rows. All rows are exact floats.
func (r *Replica) decodeRun(b *wire.BitReader, index uint32, h *recordHeader, width int) (more uint32, err error) {
	p, n := &r.pending, 0
	if b.Align() {
		n = int(b.Read(8))
	}
	if n == 0 {
		return 0, r.malformed()
	}
	if last := index + uint32(n); last >= r.most {
		return 0, r.outOfRange(last)
	}
	r.observer.count(b, placeBits)
	rest := p.payload[len(p.payload)-b.Remaining()/8:]
	if len(rest) < 4*n*width {
		return 0, r.malformed()
	}
	added, lanes := r.addRecords(n, h.mask, tick.None, width)
	for i := range added {
		added[i].index, added[i].generation = index+1+uint32(i), h.generation
	}
	if !quantize.CopyFloats(lanes, rest) {
		return 0, r.malformed()
	}
	b.Skip(4 * n * width)
	for i := range n {
		r.observer.inRun(index+1+uint32(i), h.generation)
		r.observer.floats(r.layouts.of(h.mask), lanes[i*width:])
	}
	return uint32(n), nil
}

// decodeDelta reads the rows of an unlisted record that is coded against an earlier record.
func (r *Replica) decodeDelta(b *wire.BitReader, s tick.Tick, index uint32, h *recordHeader) error {
	var base baseline
	if h.baseline == newestBaseline {
		base = r.newestAt(index, r.pending.upTo)
	} else {
		base = r.baseline(index, h.base)
	}
	mask, baseMask := h.mask, h.mask // without a version of T the server sends records with the same rows only
	switch {
	case base.generation == 0, h.sameRows && base.version == nil:
		return r.noBaseline()
	case base.version != nil:
		baseMask = base.version.mask
		if h.sameRows {
			mask = baseMask
		}
	}
	if !r.findPrevious(&base, s) {
		return r.noBaseline()
	}
	return r.decodeRows(b, s, index, mask, baseMask, &base)
}

// decodeListed reads records of entities of a list, from the i-th on and before end, and returns their number. T is R.
// T′ is N, if the list has an N with a record of the same life and rows. In a list without N, T′ is the baseline of the
// record of R.
func (r *Replica) decodeListed(b *wire.BitReader, s tick.Tick, l *readList, i, end int) (n int, err error) {
	if n = min(r.batch.ready(r, s, l, i), end-i); n > 0 {
		return n, r.batch.decode(r, b, l, i, n)
	}
	v := l.records.at(i)
	base := baseline{tick: l.ref, generation: v.generation, version: v, previousTick: l.near}
	if l.near != tick.None {
		base.previous = l.nearOf(v)
	} else if !r.findPrevious(&base, s) {
		return 1, r.noBaseline()
	}
	return 1, r.decodeRows(b, s, v.index, v.mask, v.mask, &base)
}

// findPrevious finds T′: the version that T's own record was coded against, if it can be a baseline (rule 3). It
// returns false if the server might use another version than this end.
func (r *Replica) findPrevious(base *baseline, s tick.Tick) bool {
	v := base.version
	if v == nil || v.baseAge == 0 || s-v.base(base.tick) >= r.window {
		return true
	}
	ref := v.older(base.tick)
	previous := r.history.at(ref)
	for previous != nil && ref.tick > v.base(base.tick) {
		ref = previous.older(ref.tick)
		previous = r.history.at(ref)
	}
	if previous == nil || ref.tick != v.base(base.tick) {
		return false
	}
	if previous.mask == v.mask {
		base.previous, base.previousTick = previous, ref.tick
	}
	return true
}

// baseline finds the record of an index at T. At most one generation of an index had a record at any tick, so index and
// T are enough. Without a version of T, it returns the lowest generation whose evicted rows include T.
func (r *Replica) baseline(index uint32, t tick.Tick) baseline {
	evicted := baseline{tick: t}
	for n := r.head(index); n >= 0; n = r.lives[n].lower {
		var next versionRef
		ref := r.lives[n].newest()
		for ref.tick >= t {
			v := r.history.at(ref)
			if v == nil {
				break
			}
			if ref.tick == t {
				return baseline{tick: t, generation: v.generation, version: v}
			}
			next, ref = ref, v.older(ref.tick)
		}
		switch {
		case r.evicted[n].tick >= t:
			evicted.life, evicted.generation, evicted.next = n, r.lives[n].generation, versionRef{}
		case next.tick != tick.None && ref.tick >= t: // it was superseded and has left the history
			evicted.life, evicted.generation, evicted.next = n, r.lives[n].generation, next
		}
	}
	return evicted
}

// newestAt finds the newest record of an index up to a tick, in the history or evicted. A record from before Lose does
// not count, since a newer one may have been dropped.
func (r *Replica) newestAt(index uint32, upTo tick.Tick) baseline {
	for n := r.head(index); n >= 0; n = r.lives[n].lower {
		ref := r.lives[n].newest()
		for v := r.history.at(ref); v != nil; v = r.history.at(ref) {
			if ref.tick <= upTo && ref.tick > r.lostAt {
				return baseline{tick: ref.tick, generation: v.generation, version: v}
			}
			ref = v.older(ref.tick)
		}
		if t := r.evicted[n].tick; t != tick.None && t > r.lostAt && t <= upTo {
			return baseline{tick: t, generation: r.lives[n].generation, life: n}
		}
	}
	return baseline{}
}

// baseRow returns a row as of T.
func (r *Replica) baseRow(base *baseline, row int) ([]uint32, bool) {
	t, v := base.tick, base.version
	if v == nil {
		t, v = base.next.tick, r.history.at(base.next)
	}
	switch {
	case v == nil:
		return r.evictedRow(base.life, row, base.tick)
	case !v.mask.Has(row):
		return nil, false
	}
	return r.history.row(t, v, row), true
}

// baseRows is a row at T and, if there is a T′, at T′.
type baseRows struct {
	row            int
	base, previous []uint32
}

// decodeRows reads the rows of a record. First come the rows that the baseline has: which of them changed, and their
// deltas. Then come the other rows, whole.
func (r *Replica) decodeRows(b *wire.BitReader, s tick.Tick, index uint32, mask, baseMask format.Mask, base *baseline) error {
	r.observer.against(b, index, base.tick)
	layout, whole := r.layouts.of(mask), mask.Minus(baseMask).Minus(r.schema.Tags)
	lanes := r.addRecord(index, base.generation, mask, base.tick, layout.lanes)
	v := quantize.Baselines{Age: int64(s - base.tick)}
	if base.previous != nil {
		v.Span = int64(base.tick - base.previousTick)
	}
	for rows := mask.Intersect(baseMask).Minus(r.schema.Tags); !rows.IsZero(); {
		var group [format.SymbolRows]baseRows
		n, moved := 0, uint(0)
		for ; !rows.IsZero() && n < format.SymbolRows; n, rows = n+1, rows.Rest() {
			g := &group[n]
			if g.row = rows.Lowest(); r.schema.Whole.Has(g.row) {
				continue
			}
			var ok bool
			if g.base, ok = r.baseRow(base, g.row); !ok {
				return r.noBaseline()
			}
			if base.previous != nil {
				g.previous = r.history.row(base.previousTick, base.previous, g.row)
				if !slices.Equal(g.base, g.previous) {
					moved |= 1 << n
				}
			}
		}
		changed := r.schema.Codes.Which[n-1].Read(b, delta.WhichContext(n, moved, base.previous != nil, v.Age, v.Span))
		r.observer.count(b, changedBits)
		for i := range n {
			g := &group[i]
			to := r.layouts.of(mask).row(lanes, g.row)
			switch isWhole := r.schema.Whole.Has(g.row); {
			case changed>>i&1 != 0 && isWhole:
				whole = whole.With(g.row)
			case changed>>i&1 != 0:
				v.Base, v.Before = g.base, g.previous
				miss := v.Miss
				if !r.schema.Codes.Deltas[g.row].Read(b, to, &v) {
					return r.malformed()
				}
				r.observer.delta(b, g.row, to, &v, miss)
			case isWhole:
				from, ok := r.baseRow(base, g.row)
				if !ok {
					return r.noBaseline()
				}
				copy(to, from)
				r.observer.unchanged(g.row, base.tick)
			default:
				copy(to, g.base)
				r.observer.unchanged(g.row, base.tick)
			}
		}
	}
	return r.decodeWhole(b, mask, lanes, whole)
}

// decodeWhole reads the rows of a record that are sent whole.
func (r *Replica) decodeWhole(b *wire.BitReader, mask format.Mask, lanes []uint32, whole format.Mask) error {
	for ; !whole.IsZero(); whole = whole.Rest() {
		row := whole.Lowest()
		to := r.layouts.of(mask).row(lanes, row)
		if !r.schema.Plan(row).ReadRow(b, to) {
			return r.malformed()
		}
		r.observer.whole(b, row, to)
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// addRecord adds a record of an entity to the pending payload, and returns its lanes. Their content is undefined.
func (r *Replica) addRecord(index, generation uint32, mask format.Mask, base tick.Tick, width int) []uint32 {
	added, lanes := r.addRecords(1, mask, base, width)
	added[0].index, added[0].generation = index, generation
	return lanes
}

// addRecords adds records of n entities with the same rows. It returns their versions, without index and generation,
// and their lanes, one after the other. The content of the lanes is undefined.
func (r *Replica) addRecords(n int, mask format.Mask, base tick.Tick, width int) ([]version, []uint32) {
	b, m := r.pending.block, &r.history.memory
	from, first, age := len(b.versions), len(b.lanes), uint32(0)
	if base != tick.None {
		age = uint32(min(b.tick-base, math.MaxUint32))
	}
	b.versions, b.lanes = m.versions.grow(b.versions, n)[:from+n], m.lanes.grow(b.lanes, n*width)[:first+n*width]
	added, lanes := b.versions[from:], b.lanes[first:]
	for i := range added {
		v := &added[i] // set each field: copying a whole version costs several times as much
		v.mask, v.first, v.baseAge = mask, int32(first), age
		first += width
	}
	return added, lanes
}

// readList is a list of a payload that is being decoded.
type readList struct {
	ref, near tick.Tick // R and N; tick.None: no N
	records   versionList
	nears     versionList // versions at N
	at        int         // position in records: start of the next page
	nearAt    int         // position in nears: first version that may be of the next entity
}

// decodeLists reads the lists: the records of entities that had records of earlier ticks.
func (r *Replica) decodeLists(b *wire.BitReader, s tick.Tick) error {
	age := b.Var()
	if b.Failed() || age+1 >= uint64(s) {
		return r.malformed()
	}
	r.pending.upTo = s - tick.Tick(age) - 1
	for next := uint32(0); b.Bool(); {
		l, err := r.decodeListHead(b, s, &next)
		if err != nil {
			return err
		}
		if err := r.decodePages(b, s, &l, &next); err != nil {
			return err
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// decodeListHead reads the ticks that a list refers to, and the number of its first page.
func (r *Replica) decodeListHead(b *wire.BitReader, s tick.Tick, next *uint32) (l readList, err error) {
	back, near, skip := uint64(0), uint64(1), uint64(0)
	if !b.Bool() {
		if back, near, skip = b.Var(), b.Var(), b.Var(); back == 0 && near == 1 && skip == 0 {
			return l, r.malformed() // these values have a shorter code
		}
	}
	if b.Failed() || back >= uint64(r.pending.upTo) || near > format.MaxNear || skip >= format.MaxPages {
		return l, r.malformed()
	}
	l.ref = r.pending.upTo - tick.Tick(back)
	if near > 0 {
		if l.near = l.ref - tick.Tick(near); l.near <= tick.None || s-l.near >= r.window {
			return l, r.malformed()
		}
	}
	// A tick from before Lose may have had records that were dropped.
	if l.ref <= r.lostAt || near > 0 && l.near <= r.lostAt {
		return l, r.noBaseline()
	}
	var ok bool
	if l.records, ok = r.history.list(l.ref); !ok {
		return l, r.noBaseline()
	}
	if near > 0 {
		if l.nears, ok = r.history.list(l.near); !ok {
			return l, r.noBaseline()
		}
	}
	*next += uint32(skip)
	l.at = l.records.from(*next * format.PageEntities)
	if *next >= format.MaxPages || l.at == l.records.len() || l.records.at(l.at).index >= (*next+1)*format.PageEntities {
		return l, r.malformed()
	}
	l.nearAt = l.nears.from(*next * format.PageEntities)
	r.batch.from, r.batch.to = 0, 0 // the batch of the last list ends
	r.observer.list(b, &l)
	return l, nil
}

// from returns the position of the first version with at least an index.
func (l *versionList) from(index uint32) int {
	low, high := 0, l.len()
	for low < high {
		if middle := (low + high) / 2; l.at(middle).index < index {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// nearOf returns the version at N of the same entity as v, a version at R, if it can be T′: it has the same generation
// and the same rows. Calls must be in ascending order of index.
func (l *readList) nearOf(v *version) *version {
	for ; l.nearAt < l.nears.len(); l.nearAt++ {
		switch w := l.nears.at(l.nearAt); {
		case w.index > v.index:
			return nil
		case w.index == v.index && w.generation == v.generation && w.mask == v.mask:
			return w
		case w.index == v.index:
			return nil
		}
	}
	return nil
}

// decodePages reads the pages of a list. It sets next to the page after the last one.
func (r *Replica) decodePages(b *wire.BitReader, s tick.Tick, l *readList, next *uint32) error {
	for first := true; ; first = false {
		all := b.Bool()
		some := !all && b.Bool()
		end := !all && !some && !b.Bool()
		r.observer.count(b, placeBits)
		if end {
			if first || b.Failed() {
				return r.malformed()
			}
			return nil
		}
		if l.at == l.records.len() || first && !all && !some {
			return r.malformed()
		}
		from, page := l.at, l.records.at(l.at).index/format.PageEntities
		if last := l.at + format.PageEntities - 1; last < l.records.len() && l.records.at(last).index/format.PageEntities == page {
			l.at = last // most pages are full
		}
		for l.at < l.records.len() && l.records.at(l.at).index/format.PageEntities == page {
			l.at++
		}
		*next = page + 1
		var err error
		switch {
		case all:
			for i, n := from, 0; i < l.at && err == nil; i += n {
				n, err = r.decodeListed(b, s, l, i, l.at)
			}
		case some:
			err = r.decodeSome(b, s, l, from)
		}
		if err != nil {
			return err
		}
	}
}

// decodeSome reads the records of some entities of a page, from position from to l.at. Each symbol has one bit for each
// of the next four entities, set if there is a record.
func (r *Replica) decodeSome(b *wire.BitReader, s tick.Tick, l *readList, from int) error {
	context, n := format.AfterAll, 0
	for i := from; i < l.at; i += format.NibbleSize {
		symbol := r.schema.Codes.Nibble.Read(b, context)
		r.observer.count(b, placeBits)
		if symbol == format.NibbleEnd {
			break
		}
		if context = format.AfterNibble(symbol); i+bits.Len(uint(symbol)) > l.at {
			return r.malformed()
		}
		for m, at := uint(symbol), i; m != 0; {
			skip := bits.TrailingZeros(m)
			at, m = at+skip, m>>skip
			more, err := r.decodeListed(b, s, l, at, at+bits.TrailingZeros(^m))
			if err != nil {
				return err
			}
			at, m, n = at+more, m>>more, n+more
		}
	}
	if b.Failed() || context == format.AfterNone || n == 0 || n == l.at-from {
		return r.malformed() // a page without or with all records has another code, and empty symbols at the end are not sent
	}
	return nil
}

// readIndex reads the gap to an index. It sets next to the index after it.
func readIndex(b *wire.BitReader, next *uint32) (index uint32, ok bool) {
	gap := b.Var()
	index = *next + uint32(gap)
	*next = index + 1
	return index, !b.Failed() && gap <= 1<<32-1
}

// readGeneration reads a generation, which is never zero.
func readGeneration(b *wire.BitReader) (generation uint32, ok bool) {
	g := b.Var()
	return uint32(g), !b.Failed() && g != 0 && g <= 1<<32-1
}

func (r *Replica) malformed() error {
	r.stats.Malformed++
	return ErrMalformed
}

// noBaseline requests a resync, unless a requested one already covers this packet.
func (r *Replica) noBaseline() error {
	r.stats.NoBaseline++
	if int16(r.pending.epoch-r.wanted) >= 0 {
		r.ask()
	}
	return ErrBaseline
}

// outOfRange returns the error for an index that this end does not accept.
func (r *Replica) outOfRange(index uint32) error {
	if index >= format.MaxEntities {
		return r.malformed()
	}
	if r.guard != nil { // the guard would refuse an entity that cannot exist
		r.stats.Guarded++
		return ErrGuarded
	}
	r.stats.TooMany++
	return ErrTooMany
}

package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The account of what the writers write, for tools. A record counts when it is noted as sent, so nothing is taken back if a packet is
// full. What is no record, header, despawn or padding tells which entities have records. A delta is split into rows and fields once a
// tick, and each of its copies adds that split.

// Count makes the writers of the store count the bits of all payloads, for TakeBits, or ends that. Call it between two ticks.
func (s *Store) Count(on bool) {
	s.counts = on
	if !on {
		s.cache.account = nil
	}
}

// Counts reports whether Count is on.
func (s *Store) Counts() bool { return s.counts }

// TakeBits adds to counters what the writers have counted since the last call.
func (s *Store) TakeBits(to *format.Bits) { s.cache.account.take(to) }

// PayloadBits is the account of one payload.
type PayloadBits struct {
	Sequence uint64       // of its packet
	Bits     *format.Bits // without Entities
}

// maxTraced is the maximum number of payloads that wait for TakeTraced.
const maxTraced = 256

// Trace makes the writers keep the account of each payload to a client, for TakeTraced, while Count is on; 0: of none.
func (s *Store) Trace(client wire.ClientID) { s.traced = client }

// TakeTraced returns the accounts of the payloads that were written since the last call, the newest 256 at most.
func (s *Store) TakeTraced() []PayloadBits { return s.cache.account.takeTraced() }

// bitAccount is the account of the payloads that one EncodeCache writes.
type bitAccount struct {
	all      *format.Bits // since the last TakeBits
	to       *format.Bits // all, or the account of one payload
	entities []uint64     // by index: bits of records
	records  uint64       // bits of records in the present payload
	traced   []PayloadBits

	tick   tick.Tick
	first  []int32 // by index: 1 + place of its newest split; 0: none
	splits []bitSplit
	parts  []bitPart
	coded  delta.BitBuffer // scratch
}

// bitSplit is the bits of one delta.
type bitSplit struct {
	cachedDelta        // t, previous, mask and index; bits is the sum
	changed     uint64 // which rows differ from T
	from, to    int    // the parts of its rows
	older       int32  // 1 + place of the split of the same index made before it; 0: none
}

// bitPart is bits of one row of a delta. If field is rowTotal they are all of its bits.
type bitPart struct {
	row, field int16
	bits       uint32
}

// Values of bitPart.field that are no field.
const (
	whichFields = -1 // which fields of the row differ
	rowTotal    = -2
)

// accountOf returns the account of a cache for a payload of a view, nil if nothing is counted.
func (d *EncodeCache) accountOf(v *View, seq uint64) *bitAccount {
	if !d.store.counts || v.recorder {
		return nil
	}
	a := d.account
	if a == nil {
		a = &bitAccount{all: format.NewBits(d.store.schema)}
		d.account = a
	}
	if a.tick != d.store.tick || len(a.first) < len(d.store.gens) {
		a.tick = d.store.tick
		a.first = grown(a.first, len(d.store.gens), cap(d.store.gens))
		a.entities = grown(a.entities, len(d.store.gens), cap(d.store.gens))
		clear(a.first)
		a.splits, a.parts = a.splits[:0], a.parts[:0]
	}
	a.to, a.records = a.all, 0
	if v.client != 0 && v.client == d.store.traced {
		a.to = format.NewBits(d.store.schema)
		if len(a.traced) == maxTraced {
			a.traced = slices.Delete(a.traced, 0, 1)
		}
		a.traced = append(a.traced, PayloadBits{seq, a.to})
	}
	return a
}

// endPayload counts the rest of a payload of size bytes: head bits before the despawns, and those of despawns. written is the bits
// without padding.
func (a *bitAccount) endPayload(head, despawns, written, size int) {
	a.to.Header += uint64(head)
	a.to.Despawns += uint64(despawns)
	a.to.List += uint64(written-head-despawns) - a.records
	a.to.Padding += uint64(8*size - written)
	if a.to != a.all {
		a.all.Add(a.to)
	}
}

// take adds the account to counters and empties it.
func (a *bitAccount) take(to *format.Bits) {
	if a == nil {
		return
	}
	to.Add(a.all)
	a.all.Reset()
	for index, n := range a.entities {
		if n > 0 && to.Entities != nil {
			to.Entities[uint32(index)] += n
		}
		a.entities[index] = 0
	}
}

// takeTraced returns the accounts of payloads and forgets them.
func (a *bitAccount) takeTraced() (all []PayloadBits) {
	if a != nil {
		all, a.traced = a.traced, nil
	}
	return all
}

// addEntity adds bits of the record of an index.
func (a *bitAccount) addEntity(index uint32, n uint64) {
	a.entities[index] += n
	a.records += n
}

// record counts a record that is in the packet.
func (a *bitAccount) record(p *packetWriter, r *record) {
	a.to.Heads += uint64(r.head)
	a.addEntity(r.index, uint64(r.head))
	if r.base != tick.None {
		whole := r.whole.Intersect(p.v.store.schema.Whole)
		a.delta(p.v.store, &p.cache.deltas.entries[r.delta], whole)
	}
	for m := r.whole; !m.IsZero(); m = m.Rest() {
		a.wholeRow(p, r, m.Lowest())
	}
}

// wholeRow counts a row that was sent whole, as writeRows writes it.
func (a *bitAccount) wholeRow(p *packetWriter, r *record, row int) {
	v, s := p.v, p.v.store
	plan, lanes, c, sum := s.schema.Plan(row), s.rows.row(r.index, row), &a.to.Components[row], uint64(0)
	if s.schema.Refs.Has(row) {
		v.lanes = append(v.lanes[:0], lanes...)
		v.clearUnseen(plan, v.lanes, p.s)
		lanes = v.lanes
	}
	plan.EachField(lanes, func(field, n int) {
		c.Fields[field].Bits += uint64(n)
		sum += uint64(n)
	})
	if r.base == tick.None {
		c.Spawn += sum
		c.Rows[format.SpawnRows]++
	} else {
		c.Whole += sum
		c.Rows[format.WholeRows]++
	}
	a.addEntity(r.index, sum)
}

// text counts records of a text that are in the packet (textSent).
func (a *bitAccount) text(p *packetWriter, t *pageText, of uint64) {
	s := p.v.store
	for ; of != 0; of &= of - 1 {
		d := cachedDelta{index: firstOf(t.page, of), t: t.ref}
		d.mask = t.maskOf(p.v, d.index)
		if d.previous = s.previousOf(t.ref, t.span); t.nearOf&(of&-of) != 0 {
			d.previous = t.near
		}
		a.delta(s, &d, Mask{})
	}
}

// delta counts a delta. whole is as in deltaCache.encode.
func (a *bitAccount) delta(s *Store, d *cachedDelta, whole Mask) {
	split := a.splitOf(s, d, whole)
	a.to.Changed += split.changed
	a.addEntity(d.index, uint64(split.bits))
	for _, part := range a.parts[split.from:split.to] {
		switch c, n := &a.to.Components[part.row], uint64(part.bits); part.field {
		case rowTotal:
			c.Delta += n
			c.Rows[format.DeltaRows]++
		case whichFields:
			c.Changed += n
		default:
			c.Fields[part.field].Bits += n
		}
	}
}

// splitOf returns the split of a delta, and makes it if needed.
func (a *bitAccount) splitOf(s *Store, d *cachedDelta, whole Mask) *bitSplit {
	own := d.mask.Overlaps(s.schema.Whole) // the delta is one client's
	for n := a.first[d.index]; n > 0 && !own; n = a.splits[n-1].older {
		if e := &a.splits[n-1]; e.t == d.t && e.previous == d.previous && e.mask == d.mask {
			return e
		}
	}
	a.splits = append(a.splits, bitSplit{
		cachedDelta: cachedDelta{t: d.t, previous: d.previous, mask: d.mask, index: d.index}, older: a.first[d.index], from: len(a.parts),
	})
	a.first[d.index] = int32(len(a.splits))
	split := &a.splits[len(a.splits)-1]
	a.split(s, split, whole)
	split.to = len(a.parts)
	return split
}

// split codes a delta again, as deltaCache.encode does, and notes the bits of each part.
func (a *bitAccount) split(s *Store, split *bitSplit, whole Mask) {
	var part [format.SymbolRows]rowVersions
	e := &split.cachedDelta
	v := quantize.Baselines{Age: int64(s.tick - e.t), Span: int64(e.t - e.previous)}
	for rows := e.mask.Minus(s.schema.Tags); !rows.IsZero(); {
		n, changed, moved, ok := s.nextRows(&part, &rows, e, whole)
		if !ok {
			return
		}
		which := s.schema.Codes.Which[n-1].Length(delta.WhichContext(n, moved, e.previous != tick.None, v.Age, v.Span), int(changed))
		split.changed += uint64(which)
		e.bits += uint32(which)
		for ; changed != 0; changed &= changed - 1 {
			r := &part[bits.TrailingZeros(changed)]
			if d := s.schema.Codes.Deltas[r.row]; d != nil && !s.schema.Whole.Has(r.row) {
				v.Base, v.Before = r.base, r.previous
				e.bits += a.splitRow(d, r, &v)
			}
		}
	}
}

// splitRow notes the parts of a row of a delta, and returns its bits.
func (a *bitAccount) splitRow(d *delta.Delta, r *rowVersions, v *quantize.Baselines) uint32 {
	d.EachField(r.now, v, func(field, n int) {
		if field < 0 {
			field = whichFields
		}
		a.parts = append(a.parts, bitPart{int16(r.row), int16(field), uint32(n)})
	})
	a.coded.Reset()
	d.Code(&a.coded, r.now, v) // v.Miss goes on
	n := uint32(a.coded.Bits())
	a.parts = append(a.parts, bitPart{int16(r.row), rowTotal, n})
	return n
}

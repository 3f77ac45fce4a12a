package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// SentBaselines knows at the server what the records of the newest payloads are coded against. It implements replica.Baselines, so
// that the server can decode and print its own payloads. It is valid for payloads of the store's tick, until the next acknowledgement,
// change of sight or commit.
type SentBaselines struct{ v *View }

// Baselines returns the baselines of the payloads that were written since the last acknowledgement.
func (v *View) Baselines() SentBaselines { return SentBaselines{v} }

// RecordAt implements replica.Baselines.
func (b SentBaselines) RecordAt(index uint32, t tick.Tick) (rows format.Mask, base tick.Tick, ok bool) {
	v := b.v
	if int(index) >= len(v.acks) || t == tick.None {
		return Mask{}, tick.None, false
	}
	a, mask := v.ack(index), v.maskOf(index)
	prior := tick.None
	if a.span > 0 {
		prior = a.base - tick.Tick(a.span)
	}
	g, bit := &v.pages[index/format.PageEntities], uint64(1)<<(index%format.PageEntities)
	switch {
	case t == a.base:
		return v.shown(index, mask), prior, true
	case t == prior:
		return v.shown(index, mask), tick.None, true
	case t == g.ref && g.refOf&bit != 0, t == g.near && g.nearOf&bit != 0:
		return mask, tick.None, true
	}
	return Mask{}, tick.None, false
}

// NewestAt implements replica.Baselines. It returns T of an implicit record.
func (b SentBaselines) NewestAt(index uint32, _ tick.Tick) (t tick.Tick, ok bool) {
	if int(index) >= len(b.v.acks) {
		return tick.None, false
	}
	t = b.v.ack(index).base
	return t, t != tick.None
}

// BaseAt implements replica.Baselines. The slice is the store's own.
func (b SentBaselines) BaseAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	s := b.v.store
	if int(index) >= len(b.v.acks) {
		return nil, false
	}
	if s.rows.masks[index].Has(row) && s.sinceOf(index, row) <= t {
		return s.rows.row(index, row), true
	}
	lanes := s.past.rowAt(row, index, t)
	return lanes, lanes != nil
}

// ListAt implements replica.Baselines. It returns the entities with a record of R, of the pages whose R is t.
func (b SentBaselines) ListAt(t tick.Tick) (list []uint32, ok bool) {
	for w := range b.v.pages {
		g := &b.v.pages[w]
		if g.ref != t || t == tick.None {
			continue
		}
		for of := g.refOf; of != 0; of &= of - 1 {
			list = append(list, uint32(w*format.PageEntities+bits.TrailingZeros64(of)))
		}
	}
	return list, len(list) > 0
}

// Window implements replica.Baselines.
func (b SentBaselines) Window() tick.Tick { return b.v.store.cfg.Window }

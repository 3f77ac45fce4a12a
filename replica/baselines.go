package replica

import (
	"iter"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// Load forgets everything and takes the baselines of a payload that a server wrote at its present tick s, so that AddBits and
// AppendDump can read it at the server. View.Baselines yields them.
func (r *Replica) Load(s tick.Tick, baselines iter.Seq[format.Baseline]) {
	h := &r.history
	for i, b := range h.blocks {
		if b != h.empty {
			h.memory.leave(b)
			h.free, h.blocks[i] = append(h.free, b), h.empty
		}
	}
	r.newest, h.horizon = s, max(s-h.keep, tick.None)
	r.lives, r.evicted, r.free, r.tombstones, r.living = r.lives[:0], r.evicted[:0], r.free[:0], r.tombstones[:0], 0
	for i := range r.heads {
		r.heads[i] = -1
	}
	for base := range baselines {
		r.add(&base)
	}
}

// add adds a version, as if it was decoded.
func (r *Replica) add(base *format.Baseline) {
	t, h := base.Tick, &r.history
	if n := r.head(base.ID.Index); t <= h.horizon && n >= 0 && r.evicted[n].tick > t {
		return // of the versions that left the history, a client has the newest
	}
	b := h.blockOf(t)
	r.pending.begin(nil, b)
	copy(r.addRecord(base.ID.Index, base.ID.Generation, base.Rows, base.Base, r.layouts.of(base.Rows).lanes), base.Lanes)
	if t <= h.horizon { // it left the history long ago
		r.ensure(base.ID.Index, base.ID.Generation)
		v := &b.versions[r.pending.from]
		v.setOlder(t, versionRef{})
		r.evict(t, v, b.lanes[v.first:])
		r.pending.drop()
		return
	}
	h.enter(b)
	r.linkAndApply(b, r.pending.from, t)
}

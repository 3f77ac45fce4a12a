package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
)

// The snapshot of a plain client (Config.Plain) can be read without any other one: a record has the rows that changed since the newest
// record that the client acknowledged, whole. A client that applies only the newest record of an entity has its state. There are no
// lists, deltas, runs or resyncs.
//
//	tick      16 bits, the low bits of S
//	despawns  as in other snapshots
//	records   for each: Var (gap + 1); 1 bit "head as that of the record before"; if not, the head;
//	          then the rows that the head tells are in the record, whole
//	head      Var generation; for each row that the other end has: 1 bit present; if present, 1 bit in the record
//	end       Var 0

// preparePlain decides which rows a record for a plain client has: all of them if the client has acknowledged no record of this
// lifetime, or if the entity got other rows since.
func (p *packetWriter) preparePlain(index uint32, r *record) {
	mask, base := p.v.maskOf(index), p.v.ack(index).base
	*r = record{index: index, mask: mask, whole: mask}
	if base != tick.None && !p.v.otherRows(index, base) {
		r.base, r.whole = base, p.changedRows(index, base, mask)
	}
	r.whole = r.whole.Minus(p.v.store.schema.Tags)
}

// writePlain writes a record for a plain client, with its gap. A gap counts modulo MaxEntities. The head of the last record is in
// packetWriter.run.
func (p *packetWriter) writePlain(r *record) {
	p.w.Var(uint64((r.index-p.last)%MaxEntities) + 1)
	p.last = r.index + 1
	head := openRun{generation: p.v.lifetimes[r.index].generation, mask: r.mask, sent: r.whole}
	if p.w.Bool(head == p.run); head != p.run {
		p.w.Var(uint64(head.generation))
		for rows := AllRows().Below(p.v.store.schema.Rows()).Minus(p.v.unknown); !rows.IsZero(); rows = rows.Rest() {
			row := rows.Lowest()
			if p.w.Bool(head.mask.Has(row)); head.mask.Has(row) {
				p.w.Bool(head.sent.Has(row))
			}
		}
		p.run = head
	}
	p.writeRows(r)
}

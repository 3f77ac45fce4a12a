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
//	records   for each: 1 bit "the next index, and the head of the record before"; if not, Var (gap + 1) and 1 bit "the head of the
//	          record before"; if not, the head. Then Var generation if it is new, and the rows that the head tells, whole
//	head      1 bit new: the client has acknowledged no record of this lifetime; for each row that the other end has: 1 bit present;
//	          if present, 1 bit in the record
//	end       0, Var 0

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
	gap := (r.index - p.last) % MaxEntities
	p.last = r.index + 1
	head := openRun{any: true, full: r.base == tick.None, mask: r.mask, sent: r.whole}
	again := head == p.run
	if p.w.Bool(gap == 0 && again); gap != 0 || !again {
		p.w.Var(uint64(gap) + 1)
		if p.w.Bool(again); !again {
			p.writePlainHead(&head)
			p.run = head
		}
	}
	if head.full {
		p.w.Var(uint64(p.v.life(r.index).generation))
	}
	p.writeRows(r)
}

// writePlainHead writes which rows the following records have.
func (p *packetWriter) writePlainHead(head *openRun) {
	p.w.Bool(head.full)
	for rows := AllRows().Below(p.v.store.schema.Rows()).Minus(p.v.unknown); !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		if p.w.Bool(head.mask.Has(row)); head.mask.Has(row) {
			p.w.Bool(head.sent.Has(row))
		}
	}
}

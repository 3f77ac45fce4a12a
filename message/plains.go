package message

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Plain is where in a packet's batches a message lies that says nothing but its type and stage: one on channel 0 of
// Unreliable.
type Plain struct {
	Start uint32 // of the payload
	Size  uint16
	Type  wire.MessageType
	Stage tick.Stage // one that exists
}

// NoSize stands in Sizes for a type whose payloads have to be looked at.
const NoSize = 1 << 16

// Sizes says of each type how long its payloads are, where all payloads of that length are legal, and else NoSize.
type Sizes [1 << 8]uint32

// AlwaysLegal returns how long the payloads of the type are if every one of that length is legal, and else NoSize.
func (c *CodecOf[T]) AlwaysLegal() uint32 {
	if c.way != byCopy || len(c.exact.floats) > 0 {
		return NoSize
	}
	return uint32(c.size)
}

// PushPlains is PushPlain for all messages of a packet, which are in its batches where list says. Where they are most of the
// packet the batches are copied as a whole.
func (in *Inbound) PushPlains(batches []byte, list []Plain) {
	s, payloads := in.from.source, 0
	for i := range list {
		payloads += int(list[i].Size)
	}
	if s.messages+len(list) <= in.limits.PerSender && s.bytes+payloads <= in.limits.SenderBytes && 2*payloads >= len(batches) {
		if kept, ok := in.keep(batches); ok {
			s.messages += len(list)
			s.bytes += payloads
			in.pushKept(kept, list)
			return
		}
	}
	for _, p := range list {
		_ = in.pushPlain(p.Type, p.Stage, batches[p.Start:p.Start+uint32(p.Size)]) // What it refuses it counts.
	}
}

// pushKept queues messages of batches that keep has copied, for which the quota suffices.
func (in *Inbound) pushKept(kept []byte, list []Plain) {
	f := in.cur
	in.enterOrigin()
	place := uint64(in.fromAt)<<32 + uint64(len(f.bytes)-len(kept))
	limit, queued := in.limits.PerStage, uint64(0)
	for i := range list {
		p := &list[i]
		q := &f.stages[p.Stage]
		n := len(q.items)
		if n == cap(q.items) || q.live >= limit {
			_ = in.put(newItem(p.Type, 0, 0), p.Stage, kept[p.Start:p.Start+uint32(p.Size)]) // What it refuses it counts.
			continue
		}
		q.items = q.items[:n+1]
		q.items[n] = item{place: place + uint64(p.Start), what: uint64(p.Type)<<48 | uint64(p.Size)<<32}
		q.live++
		queued++
	}
	in.stats.Queued += queued
}

// enterOrigin gives the packet that messages are pushed from a place in the frame.
func (in *Inbound) enterOrigin() {
	if in.fromAt < 0 {
		in.fromAt = len(in.cur.origins)
		in.cur.origins = append(in.cur.origins, in.from)
	}
}

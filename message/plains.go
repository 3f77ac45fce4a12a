package message

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Plain is the place in a packet's batches of messages that have only a type and a stage: several on channel 0 of
// Unreliable, one after the other, of one type and size.
type Plain struct {
	At    uint32           // the first one's header
	Count uint16           // 1 and more
	Size  uint16           // of each payload
	Type  wire.MessageType // of each
}

// step is the distance from one message to the next.
func (p *Plain) step() int { return wire.MessageHeaderSize + int(p.Size) }

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

// PushPlains is PushPlain for all messages of a packet, which are in its batches where list says, in stages that exist. Where they
// are most of the packet the batches are copied as a whole.
func (in *Inbound) PushPlains(batches []byte, list []Plain) {
	s, messages, payloads := in.from.source, 0, 0
	for i := range list {
		messages += int(list[i].Count)
		payloads += int(list[i].Count) * int(list[i].Size)
	}
	if s.messages+messages <= in.limits.PerSender && s.bytes+payloads <= in.limits.SenderBytes && 2*payloads >= len(batches) {
		if kept, ok := in.keep(batches); ok {
			s.messages += messages
			s.bytes += payloads
			in.enterOrigin()
			for i := range list {
				in.pushKept(kept, &list[i])
			}
			return
		}
	}
	for i := range list {
		p := &list[i]
		at := int(p.At)
		for range p.Count {
			payload := batches[at+wire.MessageHeaderSize : at+p.step()]
			_ = in.pushPlain(p.Type, tick.Stage(batches[at+stageAt]), payload) // It counts refusals.
			at += p.step()
		}
	}
}

// stageAt is the offset of the stage in a message's header.
const stageAt = 1

// pushKept queues messages of batches that keep has copied, for which the quota suffices.
func (in *Inbound) pushKept(kept []byte, p *Plain) {
	at, step, left := int(p.At), p.step(), int(p.Count)
	first := len(in.cur.bytes) - len(kept) + wire.MessageHeaderSize // where the payload of a message at 0 is
	for {
		it := newItem(p.Type, 0, 0).at(first+at, int(p.Size), in.fromAt)
		n := in.cur.append(kept[at:], step, left, it, in.limits.PerStage)
		in.stats.Queued += uint64(n)
		if left -= n; left == 0 {
			return
		}
		at += n * step
		_ = in.put(newItem(p.Type, 0, 0), tick.Stage(kept[at+stageAt]), kept[at+wire.MessageHeaderSize:at+step]) // It counts refusals.
		at += step
		if left--; left == 0 {
			return
		}
	}
}

// append puts messages of a row into the queues of their stages, of which the first is it, and returns how many: all, or those before one
// whose queue has no room. It is not inlined since in the midst of its caller its numbers lie on the stack.
//
//go:noinline
func (f *Frame) append(row []byte, step, count int, it item, limit int) int {
	for i := range count {
		q := &f.stages[row[stageAt]]
		n := len(q.items)
		if n == cap(q.items) || q.live >= limit {
			return i
		}
		q.items = q.items[:n+1]
		q.items[n] = it
		q.live++
		it.place += uint64(step)
		row = row[step:]
	}
	return count
}

// enterOrigin gives the packet that messages are pushed from a place in the frame: that of the packet before where nothing is
// different, so that their messages are handled in one go.
func (in *Inbound) enterOrigin() {
	if in.fromAt >= 0 {
		return
	}
	f := in.cur
	if n := len(f.origins); n > 0 && f.origins[n-1] == in.from {
		in.fromAt = n - 1
		return
	}
	in.fromAt = len(f.origins)
	f.origins = append(f.origins, in.from)
}

package collections

import (
	"cmp"
	"maps"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// recordLimit is the size of a body in a recording, unless a single element is larger.
const recordLimit = 1 << 14

// recording records the collections of a server (record.Collections), encoded as for a client that sees everything, and
// shows recorded ones in a playback. The data of a tick has for each body: varint index and generation of the entity,
// varint length, and the body of a message (op.go). It implements link.
type recording struct {
	end    *end
	on     bool // Write was called.
	reader *reader
	bodies []byte // Since the last Write.

	mirror  *mirror                          // The collections that were read, by recorded entities.
	changed map[contentKey]bool              // Since the last Apply.
	shown   map[contentKey]netcode.NetworkID // Collections that were shown, with their entities in the playback.
	row     []uint32
}

func newRecording(e *end) *recording {
	t := &recording{end: e, reader: newReader(), mirror: newMirror(e.all.defs), changed: map[contentKey]bool{}, shown: map[contentKey]netcode.NetworkID{}}
	t.mirror.Tell = func(d *definition, c *change) { t.changed[contentKey{d.Number(), c.ID}] = true }
	return t
}

// record returns the part of recordings. Its name is the kind of the entries that two builds must have alike.
func (t *recording) record() *extend.ServerRecord {
	return &extend.ServerRecord{Name: "collection", Write: t.write, Read: t.read, Apply: t.apply, Stop: func() { t.on, t.bodies = false, nil }}
}

// follow takes in the changes of a frame, before the journals are emptied.
func (t *recording) follow() {
	if !t.on {
		return
	}
	for _, c := range t.end.dirty {
		t.reader.Follow(c, t)
	}
	t.reader.Fill(t)
}

// write implements extend.ServerRecord.
func (t *recording) write(dst []byte, whole bool) []byte {
	if t.on = true; whole {
		t.bodies, t.reader = t.bodies[:0], newReader()
		all := slices.Collect(maps.Values(t.end.origin.contents))
		slices.SortFunc(all, func(a, b *content) int {
			return cmp.Or(cmp.Compare(a.id.Index, b.id.Index), cmp.Compare(a.def.number, b.def.number))
		})
		for _, c := range all {
			t.reader.Meet(c, t)
		}
		t.reader.Fill(t)
	}
	dst = append(dst, t.bodies...)
	t.bodies = t.bodies[:0]
	return dst
}

// read implements extend.ServerRecord.
func (t *recording) read(bodies []byte, whole bool) bool {
	if whole {
		t.mirror.Reset()
		t.mirror.TellGone()
	}
	for len(bodies) > 0 {
		var head [3]uint64
		for i := range head {
			v, n, err := wire.ReadVarint(bodies)
			if err != nil || v > 1<<32-1 {
				return false
			}
			head[i], bodies = v, bodies[n:]
		}
		id := netcode.NetworkID{Index: uint32(head[0]), Generation: uint32(head[1])}
		if id.Generation == 0 || id.Index >= snapshot.MaxEntities || head[2] > uint64(len(bodies)) {
			return false
		}
		t.mirror.Keep(id.Index, id) // removes the collections of an earlier entity at the index
		if t.mirror.Apply(id, bodies[:head[2]]) != nil {
			return false
		}
		bodies = bodies[head[2]:]
	}
	return true
}

// apply implements extend.ServerRecord.
func (t *recording) apply(as func(recorded netcode.NetworkID) netcode.NetworkID) {
	for at, id := range t.shown { // the entity may be gone, or another one
		if as(at.id) != id {
			delete(t.shown, at)
			t.changed[at] = true
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(t.changed), func(a, b contentKey) int {
		return cmp.Or(cmp.Compare(a.id.Index, b.id.Index), cmp.Compare(a.number, b.number))
	}) {
		id := as(at.id)
		if id.IsZero() {
			if h := t.mirror.entries[entryKey{at.number, at.id.Index}]; h != nil && h.id == at.id {
				t.mirror.Keep(at.id.Index, netcode.NetworkID{}) // another entity at the index keeps its own
			}
			continue
		}
		c, fresh := t.end.origin.Make(at.number, id)
		if fresh {
			t.end.server.Store().Attend(id)
		}
		t.shown[at] = id
		t.show(c, t.mirror.Find(at.number, at.id), as)
	}
	t.mirror.gone = t.mirror.gone[:0]
	clear(t.changed)
}

// show makes a content equal to recorded elements, by operations on those that differ.
func (t *recording) show(c *content, rows *rowList, as func(netcode.NetworkID) netcode.NetworkID) {
	width, keys, old, count := c.rows.width, c.def.keys, c.rows.Len(), rows.Len()
	t.row = t.row[:0]
	if count > 0 {
		t.row = append(t.row, rows.lanes...)
	}
	now := &rowList{width: width, lanes: t.row}
	for i := range count {
		row := now.At(i)
		for _, lane := range c.def.plan.Refs() {
			id := as(netcode.NetworkID{Index: row[lane], Generation: row[lane+1]})
			row[lane], row[lane+1] = id.Index, id.Generation
		}
	}
	from := 0
	for from < min(old, count) && slices.Equal(c.rows.At(from), now.At(from)) {
		from++
	}
	behind := 0
	for behind < min(old, count)-from && slices.Equal(c.rows.At(old-1-behind), now.At(count-1-behind)) {
		behind++
	}
	replaced := old == count // the keys are equal: replace elements
	for i := from; i < count-behind && replaced; i++ {
		replaced = slices.Equal(c.rows.At(i)[:keys], now.At(i)[:keys])
	}
	if replaced {
		for i := from; i < count-behind; i++ {
			_ = c.Set(i, now.At(i))
		}
		return
	}
	for range old - behind - from {
		_ = c.Remove(from)
	}
	for i := from; i < count-behind; i++ {
		_ = c.Insert(i, now.At(i)) // fits: the mirror has the same bound
	}
}

// Life implements link.
func (t *recording) Life(netcode.NetworkID) (tick.Tick, bool) { return 1, true }

// Held implements link.
func (t *recording) Held(netcode.NetworkID) bool { return true }

// Names implements link.
func (t *recording) Names(netcode.NetworkID) bool { return true }

// Sights implements link.
func (t *recording) Sights() uint64 { return 0 }

// Room implements link.
func (t *recording) Room() bool { return true }

// Limit implements link.
func (t *recording) Limit() int { return recordLimit }

// Push implements link.
func (t *recording) Push(id netcode.NetworkID, body []byte) error {
	for _, v := range [...]uint64{uint64(id.Index), uint64(id.Generation), uint64(len(body))} {
		t.bodies = wire.AppendVarint(t.bodies, v)
	}
	t.bodies = append(t.bodies, body...)
	return nil
}

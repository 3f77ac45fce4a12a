package nettest_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arche-netcode/netcode/collections"
)

// gameThings are the contents of an entity's collections, in plain Go.
type gameThings struct {
	list  []uint32
	set   map[uint16]bool
	table map[uint8]int32
}

// changeThings changes the collections of an entity at the server. A full one refuses, and stays as it is.
func (g *match) changeThings(e *gameEntity) {
	if e.id.IsZero() {
		return
	}
	if e.set == nil {
		e.set, e.table = map[uint16]bool{}, map[uint8]int32{}
	}
	s, r := g.net.Server.Server, g.r
	list, n := g.protocol.list.Of(s, e.id), len(e.list)
	switch what, v := r.IntN(8), r.Uint32(); {
	case what < 4:
		if at := r.IntN(n + 1); list.Insert(at, v) == nil {
			e.list = slices.Insert(e.list, at, v)
		}
	case what == 4 && n > 0:
		if at := r.IntN(n); list.Remove(at) == nil {
			e.list = slices.Delete(e.list, at, at+1)
		}
	case what == 5 && n > 0:
		if at := r.IntN(n); list.Set(at, v) == nil {
			e.list[at] = v
		}
	case what == 6 && r.IntN(5) == 0:
		if list.Clear() == nil {
			e.list = nil
		}
	default:
		for k := range uint32(15) {
			if list.Append(v+k) == nil {
				e.list = append(e.list, v+k)
			}
		}
	}
	set, mark := g.protocol.set.Of(s, e.id), uint16(r.IntN(20))
	if r.IntN(2) == 0 {
		if set.Add(mark) == nil {
			e.set[mark] = true
		}
	} else if set.Remove(mark) == nil {
		delete(e.set, mark)
	}
	table, key := g.protocol.table.Of(s, e.id), uint8(r.IntN(20))
	if v := r.Int32(); r.IntN(3) > 0 {
		if table.Set(key, v) == nil {
			e.table[key] = v
		}
	} else if table.Remove(key) == nil {
		delete(e.table, key)
	}
}

// hearThings keeps the lists of a client as it is told of them.
func (p *gamePlayer) hearThings() {
	list := p.g.protocol.list
	list.OnChange(p.c.Client, func(change collections.ListChange[uint32]) {
		was, known := p.lists[change.Entity]
		told := fmt.Sprintf("client %d is told %+v of its list", p.i, change)
		switch change.What {
		case collections.ChangeWhole:
			was = nil
			for _, v := range list.Of(p.c.Client, change.Entity).All() {
				was = append(was, v)
			}
		case collections.ChangeInserted:
			p.g.hold(change.Index <= len(was), told, len(was))
			was = slices.Insert(was, change.Index, change.Value)
		case collections.ChangeSet:
			p.g.hold(change.Index < len(was) && was[change.Index] == change.Old, told, was)
			was[change.Index] = change.Value
		case collections.ChangeRemoved:
			p.g.hold(change.Index < len(was) && was[change.Index] == change.Value, told, was)
			was = slices.Delete(was, change.Index, change.Index+1)
		case collections.ChangeCleared:
			was = nil
		case collections.ChangeGone:
			p.g.hold(known, told, "which never came")
			delete(p.lists, change.Entity)
			return
		}
		p.lists[change.Entity] = was
	})
}

// thingsDiffer tells what of a visible entity's collections a client has otherwise, or was told otherwise.
func (p *gamePlayer) thingsDiffer(e *gameEntity) string {
	list, set, table := []uint32(nil), map[uint16]bool{}, map[uint8]int32{}
	for _, v := range p.g.protocol.list.Of(p.c.Client, e.id).All() {
		list = append(list, v)
	}
	for v := range p.g.protocol.set.Of(p.c.Client, e.id).All() {
		set[v] = true
	}
	for k, v := range p.g.protocol.table.Of(p.c.Client, e.id).All() {
		table[k] = v
	}
	switch {
	case !slices.Equal(list, e.list):
		return fmt.Sprintf("its list is %v and not %v", list, e.list)
	case !slices.Equal(p.lists[e.id], e.list):
		return fmt.Sprintf("its list was told to be %v and not %v", p.lists[e.id], e.list)
	case !maps.Equal(set, e.set):
		return fmt.Sprintf("its set is %v and not %v", set, e.set)
	case !maps.Equal(table, e.table):
		return fmt.Sprintf("its table is %v and not %v", table, e.table)
	}
	return ""
}

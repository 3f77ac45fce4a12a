package worldless

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// pace limits how often Put is published, as a capture limits written components: by Once, Every and components.Rate. A component
// that is not due waits, and its newest value is published in its next turn.
type pace struct {
	every  []uint16 // By network index: components.Rate, 0 for each tick.
	late   []latePut
	at     map[lateKey]int // Where in late; looked up only.
	anew   []lateKey       // Removed in this tick and put again.
	last   tick.Tick       // Of the last Publish.
	before tick.Tick       // Of the Publish before that.
}

// latePut is a component that waits for its turn.
type latePut struct {
	id    wire.NetworkID
	row   int
	lanes []uint32
	gone  bool // Taken back, or put meanwhile.
}

type lateKey struct {
	id  wire.NetworkID
	row int
}

// rate sets how often the components of an entity are published.
func (p *pace) rate(index uint32, every uint16) {
	if every == 0 && int(index) >= len(p.every) {
		return
	}
	for int(index) >= len(p.every) {
		p.every = append(p.every, 0)
	}
	p.every[index] = every
}

// options returns the least number of ticks between two values of a component, and whether only the first is published.
func (p *pace) options(o snapshot.RowOptions, index uint32) (every tick.Tick, once bool) {
	every = max(1, tick.Tick(o.Every))
	if int(index) < len(p.every) {
		every = max(every, tick.Tick(p.every[index]))
	}
	return every, o.Once
}

// wait stores a component for its turn, in place of an older value.
func (p *pace) wait(id wire.NetworkID, row int, lanes []uint32) {
	i, ok := p.at[lateKey{id, row}]
	if !ok {
		if p.at == nil {
			p.at = map[lateKey]int{}
		}
		if i = len(p.late); i < cap(p.late) {
			p.late = p.late[:i+1] // With the memory of one that had its turn.
		} else {
			p.late = append(p.late, latePut{})
		}
		p.at[lateKey{id, row}] = i
	}
	l := &p.late[i]
	l.id, l.row, l.gone, l.lanes = id, row, false, append(l.lanes[:0], lanes...)
}

// drop forgets the waiting value of a component.
func (p *pace) drop(id wire.NetworkID, row int) {
	if i, ok := p.at[lateKey{id, row}]; ok {
		p.late[i].gone = true
	}
}

// putNow brings a component into the store, or makes it wait: a component that the entity had before this tick is published at its
// rate.
func (e *Entities) putNow(id wire.NetworkID, row int, lanes []uint32) {
	p, now := &e.pace, e.store.Tick()
	every, once := p.options(e.store.Schema().Options(row), id.Index)
	if every > 1 || once {
		switch had := e.hadRow(id, row, now-1); {
		case IsControl(e.store.Schema().Plan(row).Type()) || !had:
		case once:
			return
		case !e.store.Turn(id, every, p.before, now):
			p.wait(id, row, lanes)
			return
		}
		p.drop(id, row)
	}
	e.store.Set(id, row, lanes)
}

// hadRow reports whether an entity has a component, and had it in an earlier tick too. For an evicted tick it assumes so. There is no
// tick before the first.
func (e *Entities) hadRow(id wire.NetworkID, row int, before tick.Tick) bool {
	if before <= tick.None {
		return false
	}
	if mask, err := e.store.MaskAt(id, before); err != snapshot.ErrEvicted && (err != nil || !mask.Has(row)) {
		return false
	}
	p, key := &e.pace, lateKey{id, row}
	if !e.store.Mask(id).Has(row) {
		p.anew = append(p.anew, key)
		return false
	}
	return !slices.Contains(p.anew, key)
}

// putLate publishes the components whose turn has come.
func (e *Entities) putLate() {
	p, now := &e.pace, e.store.Tick()
	still := 0
	for i := range p.late {
		l := &p.late[i]
		gone := l.gone || !e.store.Mask(l.id).Has(l.row)
		if every, _ := p.options(e.store.Schema().Options(l.row), l.id.Index); !gone && !e.store.Turn(l.id, every, p.last, now) {
			p.at[lateKey{l.id, l.row}] = still
			p.late[still], p.late[i] = p.late[i], p.late[still]
			still++
			continue
		}
		if !gone {
			e.store.Set(l.id, l.row, l.lanes)
		}
		delete(p.at, lateKey{l.id, l.row})
	}
	p.late, p.anew = p.late[:still], p.anew[:0]
	p.next(now)
}

// next notes that a capture is over.
func (p *pace) next(now tick.Tick) { p.before, p.last = p.last, now }

package netcode

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// putPace holds Put to what capture holds written components to: Once, Every and components.Rate. What is not due yet waits,
// and the newest value travels at the next turn.
type putPace struct {
	every  []uint16 // by network index: components.Rate, 0 for each tick
	late   []latePut
	at     map[lateKey]int // Where in late; looked up only.
	anew   []lateKey       // what was taken away in this tick and put again
	last   tick.Tick       // of the last Publish
	before tick.Tick       // of the one before
}

// latePut is a component that waits for its turn.
type latePut struct {
	id    NetworkID
	row   int
	lanes []uint32
	gone  bool // taken back, or put meanwhile
}

type lateKey struct {
	id  NetworkID
	row int
}

// rate says how often the components of an entity travel.
func (p *putPace) rate(index uint32, every uint16) {
	if every == 0 && int(index) >= len(p.every) {
		return
	}
	for int(index) >= len(p.every) {
		p.every = append(p.every, 0)
	}
	p.every[index] = every
}

// of is every how many ticks a component travels at most, and whether only when it is added.
func (p *putPace) of(o snapshot.RowOptions, index uint32) (every tick.Tick, once bool) {
	every = max(1, tick.Tick(o.Every))
	if int(index) < len(p.every) {
		every = max(every, tick.Tick(p.every[index]))
	}
	return every, o.Once
}

// wait keeps a component for its turn, in place of an older value.
func (p *putPace) wait(id NetworkID, row int, lanes []uint32) {
	i, ok := p.at[lateKey{id, row}]
	if !ok {
		if p.at == nil {
			p.at = map[lateKey]int{}
		}
		if i = len(p.late); i < cap(p.late) {
			p.late = p.late[:i+1] // with the memory of one that had its turn
		} else {
			p.late = append(p.late, latePut{})
		}
		p.at[lateKey{id, row}] = i
	}
	l := &p.late[i]
	l.id, l.row, l.gone, l.lanes = id, row, false, append(l.lanes[:0], lanes...)
}

// drop takes back what waits of a component.
func (p *putPace) drop(id NetworkID, row int) {
	if i, ok := p.at[lateKey{id, row}]; ok {
		p.late[i].gone = true
	}
}

// putNow brings a component into the store, or has it wait: one that the entity had before this tick travels as seldom as was
// asked for.
func (s *Server) putNow(id NetworkID, row int, lanes []uint32) {
	p, now := &s.explicit.pace, s.store.Tick()
	every, once := p.of(s.protocol.schema.Options(row), id.Index)
	if every > 1 || once {
		switch had := s.hadRow(id, row, now-1); {
		case isControl(s.protocol.schema.Plan(row).Type()) || !had:
		case once:
			return
		case !s.store.Turn(id, every, p.before, now):
			p.wait(id, row, lanes)
			return
		}
		p.drop(id, row)
	}
	s.store.Set(id, row, lanes)
}

// hadRow reports whether an entity has a component, and had it in an earlier tick too. Of a tick that is forgotten it is
// taken to be so, but that there is none before the first.
func (s *Server) hadRow(id NetworkID, row int, before tick.Tick) bool {
	if before <= tick.None {
		return false
	}
	if mask, err := s.store.MaskAt(id, before); err != snapshot.ErrEvicted && (err != nil || !mask.Has(row)) {
		return false
	}
	p, key := &s.explicit.pace, lateKey{id, row}
	if !s.store.Mask(id).Has(row) {
		p.anew = append(p.anew, key)
		return false
	}
	return !slices.Contains(p.anew, key)
}

// putLate brings what waited for its turn into the store.
func (s *Server) putLate() {
	p, now := &s.explicit.pace, s.store.Tick()
	still := 0
	for i := range p.late {
		l := &p.late[i]
		gone := l.gone || !s.store.Mask(l.id).Has(l.row)
		if every, _ := p.of(s.protocol.schema.Options(l.row), l.id.Index); !gone && !s.store.Turn(l.id, every, p.last, now) {
			p.at[lateKey{l.id, l.row}] = still
			p.late[still], p.late[i] = p.late[i], p.late[still]
			still++
			continue
		}
		if !gone {
			s.store.Set(l.id, l.row, l.lanes)
		}
		delete(p.at, lateKey{l.id, l.row})
	}
	p.late, p.anew = p.late[:still], p.anew[:0]
	p.goOn(now)
}

// goOn notes that what was said before a capture is in the store.
func (p *putPace) goOn(now tick.Tick) { p.before, p.last = p.last, now }

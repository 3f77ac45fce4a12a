package snapshot

import (
	"sync"
	"sync/atomic"
)

// alike is what the packets of several clients carried, one record behind the
// other, once for all of them. Nothing of it changes while anybody holds it.
type alike struct {
	entries []sentEntry // usual records of a list, all of one span
	words   []wordOf    // which entities that are, in their order
	holders atomic.Int32
	bytes   int // of memory that the pool has counted
}

// Bytes of a sentEntry and of a wordOf.
const (
	sentEntrySize = 16
	wordOfSize    = 16
)

// entryPool is the memory of the entries that packets share. All desks of a store take from it and all views give back to
// it, in any order. So it grows with the most that were in use at once, and not with the number of clients that have left.
// It is safe for several goroutines, as desks are.
type entryPool struct {
	mutex sync.Mutex
	spare []*alike
	made  int
	bytes int
	room  int // capacity of the next new one: twice the most entries that any has had
}

// leastRoom is that of the first ones.
const leastRoom = 64

// take returns an empty one with a single holder. Where none is spare it makes as many more as there are, so that the pool is
// seldom empty.
func (p *entryPool) take() *alike {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.spare) == 0 {
		for range 1 + p.made {
			n := max(p.room, leastRoom)
			a := &alike{entries: make([]sentEntry, 0, n), words: make([]wordOf, 0, n)}
			p.spare = append(p.spare, a)
			p.made++
			p.count(a)
		}
	}
	last := len(p.spare) - 1
	a := p.spare[last]
	p.spare = p.spare[:last]
	a.entries, a.words = a.entries[:0], a.words[:0]
	a.holders.Store(1)
	return a
}

// release takes one holder away. With the last one the memory is spare.
func (p *entryPool) release(a *alike) {
	if a == nil || a.holders.Add(-1) != 0 {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.spare = append(p.spare, a)
	p.count(a)
}

// count brings the number of bytes up to date.
func (p *entryPool) count(a *alike) {
	p.room = max(p.room, 2*len(a.entries))
	bytes := cap(a.entries)*sentEntrySize + cap(a.words)*wordOfSize
	p.bytes += bytes - a.bytes
	a.bytes = bytes
}

// SharedBytes is the memory of the records that sent packets of several clients share, the spare memory included.
func (s *Store) SharedBytes() int { return s.shared.bytes }

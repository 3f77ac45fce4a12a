package netcode

import (
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/parallel"
	"github.com/arche-netcode/netcode/snapshot"
)

// Executor lets a server use more than one processor: it runs parts of the work of Send at the same time. The
// server starts no goroutine itself. The packets are the same, byte by byte, with any Executor and without one, as long as
// Drain takes them.
//
// One that keeps its goroutines is best, since Do is called several times in a tick. The guide's page docs/guide/profiling.md has one.
type Executor interface {
	// Parts is into how many parts work is cut, 1 to 64: the processors there are for it. It does not change.
	Parts() int
	// Do calls part once with each of 0 to n-1, n being at most Parts, in any order and in any goroutines, and returns when all
	// calls have returned. The calls share nothing that is not safe to share, and do not panic: a panic in one of them is kept
	// and goes on in the server's own goroutine.
	Do(n int, part func(part int))
}

// sendWorkers has the workers that fill the packets of a tick.
type sendWorkers struct {
	filling []*Session // The clients of this tick.
	cache   *snapshot.EncodeCache
	workers []worker       // One for each part; none without an Executor.
	parts   int            // The number of parts of filling.
	send    func(part int) // Made once, so that a tick allocates nothing.
	runner  parallel.Runner
}

// worker has the memory of one part.
type worker struct {
	cache    *snapshot.EncodeCache
	out      outbox.Buffer
	counters link.Counters
}

// setUpWorkers makes the workers for an Executor.
func (s *Server) setUpWorkers() {
	w := &s.workers
	w.cache = s.store.EncodeCache()
	if s.config.Executor == nil {
		return
	}
	w.workers = make([]worker, min(max(s.config.Executor.Parts(), 1), parallel.MaxParts))
	for i := range w.workers {
		w.workers[i].cache = s.store.NewEncodeCache()
	}
	w.send = s.sendPart
	w.runner.Use(s.config.Executor.Do)
}

// sendInParts runs writePackets for all clients, several at a time. Each part has consecutive clients. The datagrams of
// all parts, one part after the other, are thus in the same order as without parts.
func (s *Server) sendInParts() {
	w := &s.workers
	for i := range w.parts { // Each part gets an equal share of the room.
		w.workers[i].out.Limit(s.out.Free() / w.parts)
	}
	w.runner.Do(w.parts, w.send)
	for i := range w.parts {
		h := &w.workers[i]
		s.out.Append(&h.out)
		s.counters.Add(h.counters)
		h.counters = link.Counters{}
	}
}

// sendPart sends to the clients of a part.
func (s *Server) sendPart(part int) {
	w := &s.workers
	h, n := &w.workers[part], len(w.filling)
	mine := w.filling[part*n/w.parts : (part+1)*n/w.parts]
	defer func() {
		for _, c := range mine {
			c.link.Out, c.link.Counters = &s.out, &s.counters
		}
	}()
	for _, c := range mine {
		c.link.Out, c.link.Counters = &h.out, &h.counters
		s.writePackets(c, h.cache)
	}
}

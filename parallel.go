package netcode

import (
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/parallel"
	"github.com/arche-netcode/netcode/snapshot"
)

// Executor lets a server use more than one processor: it runs parts of the work of Send at the same time. The
// server starts no goroutine itself. What is sent is the same, byte by byte, with any Executor and without one, as long as
// somebody drains it.
//
// One that keeps its goroutines is best, since Do is called several times in a tick:
//
//	type pool struct {
//		jobs chan job
//		done sync.WaitGroup
//	}
//
//	type job struct {
//		part func(int)
//		i    int
//	}
//
//	func newPool(goroutines int) *pool {
//		p := &pool{jobs: make(chan job)}
//		for range goroutines {
//			go func() {
//				for j := range p.jobs {
//					j.part(j.i)
//					p.done.Done()
//				}
//			}()
//		}
//		return p
//	}
//
//	func (p *pool) Parts() int { return runtime.GOMAXPROCS(0) }
//
//	func (p *pool) Do(n int, part func(int)) {
//		p.done.Add(n - 1)
//		for i := 1; i < n; i++ {
//			p.jobs <- job{part, i}
//		}
//		part(0)
//		p.done.Wait()
//	}
type Executor interface {
	// Parts is into how many parts work is cut, 1 to 64: the processors there are for it. It does not change.
	Parts() int
	// Do calls part once with each of 0 to n-1, n being at most Parts, in any order and in any goroutines, and returns when all
	// calls have returned. The calls share nothing that is not safe to share, and do not panic: a panic in one of them is kept
	// and goes on in the server's own goroutine.
	Do(n int, part func(part int))
}

// crew is the workers that fill the packets of a tick.
type crew struct {
	filling []*Session       // The clients of this tick,
	views   []*snapshot.View // and their views.
	workers []worker         // One for each part; none without an Executor.
	parts   int              // In which filling is cut.
	fill    func(part int)   // Both made once, so that a tick allocates nothing.
	job     func(n int, part func(part int))

	runner parallel.Runner
}

// worker is the memory of one part.
type worker struct {
	desk  *snapshot.EncodeCache
	out   outbox.Buffer
	stats Stats // Only what filling counts.
}

// setUpCrew makes what an Executor needs.
func (s *Server) setUpCrew() {
	w := &s.crew
	if s.config.Executor == nil {
		return
	}
	w.workers = make([]worker, min(max(s.config.Executor.Parts(), 1), parallel.MaxParts))
	for i := range w.workers {
		w.workers[i].desk = s.store.NewEncodeCache()
	}
	w.fill = s.fillPart
	w.job = w.runner.Do
	w.runner.Use(s.config.Executor.Do)
}

// serveAll sends every client what this frame owes it.
func (s *Server) serveAll() {
	w := &s.crew
	before := len(w.filling)
	w.filling = w.filling[:0]
	for _, c := range s.sessions {
		if s.serve(c) {
			w.filling = append(w.filling, c)
		}
	}
	if now := len(w.filling); now < before {
		clear(w.filling[now:before])
	}
	if w.parts = min(len(w.workers), len(w.filling)); w.parts > 1 {
		s.deliverInParts()
	} else {
		for _, c := range w.filling {
			s.deliver(c, s.store.EncodeCache())
		}
	}
	for _, c := range w.filling {
		s.reportOversize(c)
	}
}

// deliverInParts is deliver for all clients, several at a time. Each part has clients that follow one another, so that the
// datagrams of all parts, one after the other, are in the order in which they would be without.
func (s *Server) deliverInParts() {
	w := &s.crew
	w.views = w.views[:0]
	for _, c := range w.filling {
		w.views = append(w.views, c.view)
	}
	s.store.Prepare(w.views, w.parts, w.job)
	clear(w.views)
	for i := range w.parts { // of what there is room for, each has its share
		w.workers[i].out.Limit(s.out.Free() / w.parts)
	}
	w.runner.Do(w.parts, w.fill)
	for i := range w.parts {
		h := &w.workers[i]
		s.out.Append(&h.out)
		s.stats.BudgetSpent += h.stats.BudgetSpent
		s.stats.SentRingFull += h.stats.SentRingFull
		s.stats.OutputFull += h.stats.OutputFull
		h.stats = Stats{}
	}
}

// fillPart delivers to the clients of a part.
func (s *Server) fillPart(part int) {
	w := &s.crew
	h, n := &w.workers[part], len(w.filling)
	mine := w.filling[part*n/w.parts : (part+1)*n/w.parts]
	defer func() {
		for _, c := range mine {
			c.out, c.stats = &s.out, &s.stats
		}
	}()
	for _, c := range mine {
		c.out, c.stats = &h.out, &h.stats
		s.deliver(c, h.desk)
	}
}

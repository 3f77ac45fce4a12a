package netecs

import "github.com/mlange-42/arche/ecs"

// reports collects problems while the world is locked, since whoever is told
// may want to change the world, and hands them on afterwards.
type reports struct {
	report   func(Problem)
	problems []Problem
	strange  []uint32 // by entity number: 1 + generation of the entity that noteStrange reported last
}

// note queues a problem.
func (r *reports) note(p Problem) {
	if r.report != nil {
		r.problems = append(r.problems, p)
	}
}

// noteStrange queues a problem of an entity that is nobody's here, once per entity.
func (r *reports) noteStrange(kind ProblemKind, e ecs.Entity) {
	r.strange = extended(r.strange, int(e.ID()))
	if told := &r.strange[e.ID()]; *told != e.Generation()+1 {
		*told = e.Generation() + 1
		r.note(Problem{Kind: kind, Local: e})
	}
}

// flush hands the queue on. The world must not be locked by this package.
func (r *reports) flush() {
	for i := 0; i < len(r.problems); i++ {
		r.report(r.problems[i])
	}
	r.problems = r.problems[:0]
}

func (r *reports) forget() { clear(r.strange) }

package parallel

import "sync/atomic"

// MaxParts is the maximum number of parts of a job.
const MaxParts = 64

// Runner runs the parts of a job concurrently.
type Runner struct {
	do     func(n int, part func(part int)) // Executor.Do.
	job    func(part int)                   // The current job.
	run    func(part int)                   // Calls job; stored once, so that a tick allocates nothing.
	states [MaxParts]atomic.Int32
	panics [MaxParts]any
}

// States of a part.
const (
	partWaits int32 = iota
	partRuns
	partEnded
)

// Use sets the function that runs parts concurrently: Do of an Executor.
func (r *Runner) Use(do func(n int, part func(part int))) { r.do, r.run = do, r.runPart }

// Do runs a job in n parts. It runs parts that the executor left out itself, and panics again with the panic of a part.
func (r *Runner) Do(n int, job func(part int)) {
	r.job = job
	for i := range n {
		r.states[i].Store(partWaits)
		r.panics[i] = nil
	}
	r.do(n, r.run)
	for i := range n {
		r.runPart(i)
		if r.states[i].Load() != partEnded {
			panic("netcode: Executor.Do has returned before the calls that it made")
		}
	}
	r.job = nil
	for i := range n {
		if r.panics[i] != nil {
			panic(r.panics[i])
		}
	}
}

// runPart runs a part if it did not run yet. It stores a panic, because the caller cannot recover from a panic in another
// goroutine.
func (r *Runner) runPart(part int) {
	if !r.states[part].CompareAndSwap(partWaits, partRuns) {
		return
	}
	defer func() {
		r.panics[part] = recover()
		r.states[part].Store(partEnded)
	}()
	r.job(part)
}

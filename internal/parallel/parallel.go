package parallel

import "sync/atomic"

// MaxParts bounds the parts of a job.
const MaxParts = 64

// Runner has a function run the parts of a job at the same time.
type Runner struct {
	do     func(n int, part func(part int)) // Executor.Do.
	job    func(part int)                   // The current job,
	run    func(part int)                   // called through here. Made once, so that a tick allocates nothing.
	states [MaxParts]atomic.Int32
	panics [MaxParts]any
}

// States of a part.
const (
	partWaits int32 = iota
	partRuns
	partEnded
)

// Use sets the function that runs parts: Do of an Executor.
func (r *Runner) Use(do func(n int, part func(part int))) { r.do, r.run = do, r.runPart }

// Do runs a job in n parts. A part that the function left undone is done here. A panic of a part goes on here.
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

// runPart does a part, once. A panic is kept: in a goroutine that is not the caller's nobody could recover from it.
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

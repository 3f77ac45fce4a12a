package main

import "sync"

// pool is the Executor of the documentation: goroutines that stay.
type pool struct {
	jobs  chan job
	done  sync.WaitGroup
	parts int
}

type job struct {
	part func(int)
	i    int
}

func newPool(parts int) *pool {
	p := &pool{jobs: make(chan job), parts: parts}
	for range parts - 1 {
		go func() {
			for j := range p.jobs {
				j.part(j.i)
				p.done.Done()
			}
		}()
	}
	return p
}

func (p *pool) Parts() int { return p.parts }

func (p *pool) Do(n int, part func(int)) {
	p.done.Add(n - 1)
	for i := 1; i < n; i++ {
		p.jobs <- job{part, i}
	}
	part(0)
	p.done.Wait()
}

func (p *pool) stop() {
	if p != nil {
		close(p.jobs)
	}
}

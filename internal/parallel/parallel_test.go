package parallel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// inline is an Executor that lets its own goroutine do what it is told to.
type inline struct{ calls []int }

func (e *inline) Parts() int { return 4 }

func (e *inline) Do(n int, part func(int)) {
	for _, i := range e.calls {
		if i < n {
			part(i)
		}
	}
}

// hasty is an Executor that returns while a part still runs.
type hasty struct{ running, over chan struct{} }

func (hasty) Parts() int { return 2 }

func (e hasty) Do(_ int, part func(int)) {
	go func() { part(1); close(e.over) }()
	<-e.running
}

func runnerOf(executor interface {
	Do(n int, part func(int))
}) *Runner {
	r := new(Runner)
	r.Use(executor.Do)
	return r
}

func TestPanicInAPartGoesOnInTheCallersGoroutine(t *testing.T) {
	s := runnerOf(&inline{calls: []int{3, 2, 1, 0}})
	var done [4]bool
	require.PanicsWithValue(t, "two", func() {
		s.Do(4, func(part int) {
			if part == 2 {
				panic("two")
			}
			done[part] = true
		})
	})
	require.Equal(t, [4]bool{true, true, false, true}, done, "the other parts are done all the same")
	s.Do(2, func(part int) { done[part] = false })
	require.Equal(t, [4]bool{false, false, false, true}, done, "the server goes on")
}

func TestPartsAreDoneOnceWhateverTheExecutorDoes(t *testing.T) {
	for _, calls := range [][]int{nil, {1, 1, 1}, {0, 1, 2, 3, 3, 0}, {2}} {
		s := runnerOf(&inline{calls: calls})
		var times [4]int
		s.Do(4, func(part int) { times[part]++ })
		require.Equal(t, [4]int{1, 1, 1, 1}, times, "%v", calls)
	}
}

func TestExecutorThatReturnsEarlyIsAnError(t *testing.T) {
	e := hasty{make(chan struct{}), make(chan struct{})}
	s := runnerOf(e)
	hold := make(chan struct{})
	require.PanicsWithValue(t, "netcode: Executor.Do has returned before the calls that it made", func() {
		s.Do(2, func(part int) {
			if part == 1 {
				close(e.running)
				<-hold
			}
		})
	})
	close(hold)
	<-e.over
}

package trace

// Call is one entry into a function.
type Call struct {
	Function string // folder/file.go:Type.Method
	Depth    int    // call depth, from 1
}

// Recorder records calls between Start and Stop. It belongs to one goroutine.
type Recorder struct {
	calls []Call
	depth int
	on    bool
}

// Default is the recorder of the instrumented copy.
var Default Recorder

// Enter records the entry into a function.
func Enter(function string) {
	r := &Default
	r.depth++
	if r.on {
		r.calls = append(r.calls, Call{Function: function, Depth: r.depth})
	}
}

// Leave records the return from a function.
func Leave() { Default.depth-- }

// Start drops all calls and starts to record.
func (r *Recorder) Start() {
	r.calls, r.on, r.depth = r.calls[:0], true, 0
}

// Stop stops recording and returns a copy of the calls.
func (r *Recorder) Stop() []Call {
	r.on = false
	return append([]Call(nil), r.calls...)
}

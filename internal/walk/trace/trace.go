package trace

// Call is one entry into a function.
type Call struct {
	Function string // folder/file.go:Type.Method
	Depth    int    // of calls, 1 for the first
}

// Recorder records calls between Start and Stop. It is for one goroutine.
type Recorder struct {
	calls []Call
	depth int
	on    bool
}

// Default is the recorder that the instrumented copy reports to.
var Default Recorder

// Enter records a call.
func Enter(function string) {
	r := &Default
	r.depth++
	if r.on {
		r.calls = append(r.calls, Call{Function: function, Depth: r.depth})
	}
}

// Leave ends a call.
func Leave() { Default.depth-- }

// Start forgets all calls and records from now on.
func (r *Recorder) Start() {
	r.calls, r.on, r.depth = r.calls[:0], true, 0
}

// Stop ends the recording and returns a copy of the calls.
func (r *Recorder) Stop() []Call {
	r.on = false
	return append([]Call(nil), r.calls...)
}

package main

import (
	"fmt"
	"testing"
)

// failure is the panic value that stops a run.
type failure struct{ what string }

// harness replaces the *testing.T that nettest needs.
type harness struct {
	testing.TB
	what string // first failure
}

// Helper implements testing.TB.
func (h *harness) Helper() {}

// Cleanup implements testing.TB: a run ends with the process.
func (h *harness) Cleanup(func()) {}

// Failed implements testing.TB.
func (h *harness) Failed() bool { return h.what != "" }

// Logf implements testing.TB. It drops the text: errors reported to OnError are expected here.
func (h *harness) Logf(string, ...any) {}

// Errorf implements testing.TB. The run continues to the end of the tick.
func (h *harness) Errorf(format string, args ...any) {
	if h.what == "" {
		h.what = fmt.Sprintf(format, args...)
	}
}

// Fatalf implements testing.TB.
func (h *harness) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	panic(failure{h.what})
}

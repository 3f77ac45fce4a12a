package netcode

import (
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// What the game's functions beside handlers are called, where one panics.
const (
	nameOnConnect    = "OnConnect"
	nameOnDisconnect = "OnDisconnect"
	nameAnswer       = "function of Call"
)

// contained is deferred around a function of the game that is called for one connection and outside of a handler: if it
// panics, that connection ends as for a handler, and the frame goes on.
func (c *courier) contained(name string, with wire.ClientID) {
	if value := recover(); value != nil {
		c.stats.HandlerPanics++
		c.blame(PanicError{Name: name, Sender: with, Value: value})
	}
}

// Contain calls a function of the game for the systems. If it panics, the connection ends with peer.ReasonHandlerPanic and the frame goes on,
// as for a handler; name is what it is called in the *PanicError that OnError is given.
func (c *Client) Contain(name string, f func()) {
	defer c.contained(name, 0)
	f()
}

// Contain calls a function of the game for the systems. If it panics, OnError is given a *PanicError with that name, and the frame goes on. No
// connection ends.
func (s *Server) Contain(name string, f func()) {
	defer s.contained(name, 0)
	f()
}

// blame logs the panic of a function of the game with its stack, tells OnError and ends the connection for which the function was
// called. It runs in the deferred function that recovered, where the stack still has the frames of the panic.
func (c *courier) blame(failed PanicError) {
	failed.Stack, failed.At = debug.Stack(), panickedAt()
	c.report.Panicked(&failed, string(failed.Stack), "message", failed.Name, "sender", failed.Sender, "panic", failed.Value, "at", failed.At)
	if with := failed.Sender; c.knows(with) && with != c.inbound.Local().ID() {
		c.part(with, &peer.Error{Reason: peer.ReasonHandlerPanic, Detail: c.ownerOf(&failed)})
	}
}

// ownerOf names the function that panicked, for both ends: "the server's handler of Chat".
func (c *courier) ownerOf(failed *PanicError) string {
	owner := "the server's "
	if c.client != nil {
		owner = "the client's "
	}
	if failed.Message {
		owner += "handler of "
	}
	return owner + failed.Name
}

// deepestPanic is how many frames of a stack panickedAt looks at.
const deepestPanic = 64

// panickedAt returns the place of the newest panic on the stack as "folder/file.go:line", empty where it is not found. The frames of the
// runtime itself, as those of a nil dereference, are passed over.
func panickedAt() string {
	var callers [deepestPanic]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			return path.Join(path.Base(path.Dir(frame.File)), path.Base(frame.File)) + ":" + strconv.Itoa(frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// tellCaller tells whoever waits for an answer that there is none.
func (c *courier) tellCaller(w calls.Waiter, of wire.ClientID, err error) {
	defer c.contained(nameAnswer, of)
	w.Fail(err)
}

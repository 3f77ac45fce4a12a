package netcode

import (
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/message"
)

// shared has the message part of a server or a client, and the methods of both for games.
type shared struct {
	core     endpoint.End
	protocol *Protocol
	tag      uint32 // See steps.End.
	states   []any  // Of extensions.
}

// ReceivedIn is the messages that were handled in a frame: 0 is the present one, 1 the one before, up to Config.History. It is
// nil for a frame that is not kept, and valid until the next BeginFrame.
func (e *shared) ReceivedIn(past int) *message.Frame { return e.core.Handled.Past(past) }

// SentIn is the messages that were sent in a frame, as for ReceivedIn; a server's message to several is there once for each.
func (e *shared) SentIn(past int) *message.Frame { return e.core.Sent.Past(past) }

// OnError adds a function that is given every error that has no caller: socket faults, values that cannot be sent, entities
// that game code changed against the server, systems out of order, handlers that panic (*PanicError). It may be called many
// times in a frame. It is the last resort: a panic of its own is not contained.
func (e *shared) OnError(f func(error)) {
	mustBeGiven(f != nil, e.core.Name()+".OnError")
	e.core.Report.OnError = append(e.core.Report.OnError, f)
}

// Report passes an error that has no caller to OnError and to the log.
func (e *shared) Report(err error) { e.core.Report.Error(err) }

// Protocol is the protocol that the server or client was made for.
func (e *shared) Protocol() *Protocol { return e.protocol }

// mustBeGiven panics on a nil function early: called in a later frame, it would end connections.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("netcode: " + call + ": the function is nil")
	}
}

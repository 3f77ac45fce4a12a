package record

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/arche-netcode/netcode"
)

// ErrRecording means that a server is recorded already.
var ErrRecording = errors.New("netcode: the server is recorded already")

// recording is the writer of a server's ticks; nil while it is not recorded.
type recording struct {
	server *netcode.Server
	writer *Writer
	sights
	messages bool // Messages to clients are recorded.
	taps     bool // The server tells of them.
	players  players
	features []string // The names of those that are recorded.
}

// Start begins to write every captured tick of a server to w, until stop is called: what cmd/netcode trains tables on, and what
// a replay can be made from (docs/recording.md). About once a second w gets a second's worth in a single Write, in the frame
// of the server; give it something that does not block for long, such as a file. An error of w goes to OnError once and
// ends the recording, not the server. The error of Start is that of writing the header, or ErrRecording.
//
// Each tick has the rows of all entities and their owners, and with Views what each client saw.
//
// stop writes the rest and returns the first error there was. It does not close w. Call it from the server's goroutine.
// Start panics on a writer that is nil, or whose value is: a pointer, function, map or channel.
func Start(s *netcode.Server, w io.Writer, options ...Option) (stop func() error, err error) {
	if isNil(w) {
		panic("netcode: record.Start: the writer is nil")
	}
	r, extended := netcode.ExtensionOf[*recording](s)
	if extended && r.writer != nil {
		return nil, ErrRecording
	}
	h := Header{TickRate: s.TickRate(), Entries: s.Protocol().Description()}
	writer, err := NewWriter(w, h, s.Protocol().Schema())
	if err != nil {
		return nil, fmt.Errorf("netcode: record.Start: %w", err)
	}
	if !extended {
		r = &recording{server: s}
		s.Extend(netcode.ServerHooks{State: r, BeforeSend: r.beforeSend, AfterSend: r.afterSend})
	}
	r.writer, r.sights, r.messages, r.features, r.players.on = writer, sights{}, false, nil, false
	for _, o := range options {
		o(r)
	}
	r.recordFeatures()
	r.players.begin(r)
	if r.messages && !r.taps {
		r.taps = true
		s.Extend(netcode.ServerHooks{Posted: r.posted})
	}
	return func() error {
		if r.writer == writer {
			r.end()
		}
		return writer.Close()
	}, nil
}

// isNil reports whether a writer is nil, or holds a nil value: a file that was never opened.
func isNil(w io.Writer) bool {
	switch v := reflect.ValueOf(w); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// beforeSend runs when the store still tells of new owners.
func (r *recording) beforeSend() {
	if r.writer != nil {
		r.ownersMay(r.server)
	}
}

// afterSend records the newest capture, after the server sent it to each client.
func (r *recording) afterSend() {
	if r.writer == nil || !r.server.TickDue() || r.server.Store().Tick() != r.server.Tick() {
		return
	}
	r.sights.write(r.server, r.writer)
	r.players.write(r)
	r.writeFeatures()
	r.check(r.writer.Tick(r.server.Store()))
}

// end makes nothing be kept for the recording any more.
func (r *recording) end() {
	r.writer, r.features, r.players.on = nil, nil, false
	r.recordFeatures()
}

// check ends the recording for an error.
func (r *recording) check(err error) {
	if err != nil {
		r.end()
		r.server.Report(fmt.Errorf("netcode: the recording has ended: %w", err))
	}
}

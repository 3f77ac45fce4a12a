package record

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// ErrRecording means that the server is being recorded already.
var ErrRecording = errors.New("netcode: the server is recorded already")

// recording is the recording of a server; nil if there is none.
type recording struct {
	server *netcode.Server
	writer *Writer
	sights
	messages bool // record messages to clients
	taps     bool // the hooks for messages are installed
	players  players
	features []string // names of the recorded features
}

// Start records every captured tick of a server to w, until stop is called: for training tables with cmd/netcode, and
// for playback (docs/recording.md). About once per second it calls w.Write once, in the frame of the server, so w must
// not block for long; a file is fine. An error of w is passed to OnError once and ends the recording, not the server.
// Start returns ErrRecording, or the error of writing the header.
//
// Each tick has the rows of all entities and their owners, and with Views the visible entities of each client.
//
// stop writes the rest and returns the first error. It does not close w. Call it from the server's goroutine. Start
// panics if w is nil.
func Start(s *netcode.Server, w io.Writer, options ...Option) (stop func() error, err error) {
	if w == nil {
		panic("netcode: record.Start: the writer is nil")
	}
	r, extended := extend.ExtensionOf[*recording](s)
	if extended && r.writer != nil {
		return nil, ErrRecording
	}
	h := Header{TickRate: s.TickRate(), Entries: s.Protocol().Description()}
	writer, err := NewWriter(w, h, s.Store())
	if err != nil {
		return nil, fmt.Errorf("netcode: record.Start: %w", err)
	}
	if !extended {
		r = &recording{server: s}
		extend.OfServer(s).Extend(extend.ServerHooks{State: r, BeforeSend: r.beforeSend, AfterSend: r.afterSend})
	}
	r.writer, r.sights, r.messages, r.features, r.players.on = writer, sights{}, false, nil, false
	for _, o := range options {
		o(r)
	}
	r.players.begin(r)
	if r.messages && !r.taps {
		r.taps = true
		extend.OfServer(s).Extend(extend.ServerHooks{Posted: r.posted})
	}
	return func() error {
		if r.writer == writer {
			r.end()
		}
		return writer.Close()
	}, nil
}

// beforeSend runs while the store still has the owner changes.
func (r *recording) beforeSend() {
	if r.writer != nil {
		r.ownersMay(r.server)
	}
}

// afterSend records the newest capture after it was sent to the clients.
func (r *recording) afterSend() {
	if r.writer == nil || !r.server.TickDue() || r.server.Store().Tick() != r.server.Tick() {
		return
	}
	r.sights.write(r.server, r.writer)
	r.players.write(r)
	r.writeFeatures()
	r.check(r.writer.Tick())
}

// check ends the recording if err is not nil.
func (r *recording) check(err error) {
	if err != nil {
		r.end()
		r.server.Report(fmt.Errorf("netcode: the recording has ended: %w", err))
	}
}

// end stops the recording and its features.
func (r *recording) end() {
	r.writer, r.players.on = nil, false
	for _, feature := range extend.OfServer(r.server).Records() {
		if feature.Stop != nil && slices.Contains(r.features, feature.Name) {
			feature.Stop()
		}
	}
}

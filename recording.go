package netcode

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/arche-netcode/netcode/record"
)

// ErrRecording says that a server is recorded already.
var ErrRecording = errors.New("netcode: the server is recorded already")

// recording is where a server's ticks go, none while writer is nil.
type recording struct{ writer *record.Writer }

// Record begins to write every captured tick to w, until stop is called: what cmd/netcode trains tables on, and what a
// replay can be made from (docs/recording.md). About once a second w gets a second's worth in a single Write, in the frame
// of the server; give it something that does not block for long, such as a file. An error of w goes to OnError once and
// ends the recording, not the server. The error of Record is that of writing the header, or ErrRecording.
//
// stop writes the rest and returns the first error there was. It does not close w. Call it from the server's goroutine.
// Record panics on a writer that is nil, or whose value is: a pointer, function, map or channel.
func (s *Server) Record(w io.Writer) (stop func() error, err error) {
	if nobody(w) {
		panic("netcode: Record: the writer is nil")
	}
	if s.recording.writer != nil {
		return nil, ErrRecording
	}
	h := record.Header{TickRate: s.config.TickRate}
	for _, e := range s.protocol.canon.Entries {
		h.Entries = append(h.Entries, e.Text)
	}
	writer, err := record.NewWriter(w, h, s.protocol.schema)
	if err != nil {
		return nil, fmt.Errorf("netcode: Record: %w", err)
	}
	s.recording.writer = writer
	return func() error {
		if s.recording.writer == writer {
			s.recording.writer = nil
		}
		return writer.Close()
	}, nil
}

// nobody reports whether a writer is nil, also where its type is known: a file that was never opened.
func nobody(w io.Writer) bool {
	switch v := reflect.ValueOf(w); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// recordTick takes in the newest capture.
func (s *Server) recordTick() {
	r := &s.recording
	if err := r.writer.Tick(s.store); err != nil {
		r.writer = nil
		s.Report(fmt.Errorf("netcode: the recording has ended: %w", err))
	}
}

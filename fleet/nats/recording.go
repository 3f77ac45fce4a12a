package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/record"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	segmentBytes = 256 << 10       // A segment of a recording is stored when it has so many bytes,
	segmentTime  = 2 * time.Second // or after this time: a process that dies loses so much.
	maxSegment   = 16 << 20        // More waits for no store: the bytes are counted, and the recording ends.
	maxSegments  = 100_000
)

// segments stores a recording in pieces, so that one whose process dies is there up to its last piece. Write is called in the loop and never waits.
type segments struct {
	match *Match
	name  string

	mu     sync.Mutex
	buffer []byte
	failed bool
	ended  bool
	count  int
	wake   chan struct{}
}

// errRecording ends a recording whose store is too slow.
var errRecording = errors.New("nats: the recording ends: its store is too slow, or broken")

// Write implements io.Writer.
func (s *segments) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed || len(s.buffer)+len(b) > maxSegment {
		s.failed = true
		s.match.node.counters.recordLost.Add(uint64(len(b)))
		return 0, errRecording
	}
	s.buffer = append(s.buffer, b...)
	if len(s.buffer) >= segmentBytes {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}

// startRecording records the match from its first frame on.
func (m *Match) startRecording() {
	s := &segments{match: m, name: fmt.Sprintf("recording.%s.%d", m.config.ID, m.fence.Load()), wake: make(chan struct{}, 1)}
	stop, err := record.Start(m.server, s, m.config.Record...)
	if err != nil {
		m.server.Report(err)
		return
	}
	m.stopRec = stop
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		s.run()
	}()
}

// run stores the pieces.
func (s *segments) run() {
	every := time.NewTicker(segmentTime)
	defer every.Stop()
	for {
		select {
		case <-s.wake:
			s.store()
		case <-every.C:
			s.store()
		case <-s.match.stop:
			s.store()
			return
		}
	}
}

// store stores what there is.
func (s *segments) store() {
	s.mu.Lock()
	b := s.buffer
	s.buffer = nil
	s.mu.Unlock()
	if len(b) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n := s.match.node
	if _, err := n.objects.PutBytes(ctx, fmt.Sprintf("%s.%06d", s.name, s.count), b); err != nil {
		n.counters.recordLost.Add(uint64(len(b)))
		n.config.OnError(fmt.Errorf("nats: %s: %w", s.name, err))
		s.mu.Lock()
		s.failed = true // A hole in the middle would make the rest useless.
		s.mu.Unlock()
		return
	}
	s.count++
}

// Recordings returns the names of the recordings of a match, the oldest first: one for each process that ran it.
func (n *Node) Recordings(ctx context.Context, match string) (names []string, err error) {
	list, err := n.objects.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	for _, o := range list {
		if name, ok := strings.CutSuffix(o.Name, ".000000"); ok && strings.HasPrefix(name, "recording."+match+".") {
			names = append(names, name)
		}
	}
	return names, err
}

// Recording writes a recording to a file, for record.Play and `netcode play`. That of a process that died lacks its last two seconds at most.
func (n *Node) Recording(ctx context.Context, name string, out io.Writer) error {
	for i := range maxSegments {
		data, err := n.object(ctx, fmt.Sprintf("%s.%06d", name, i), maxSegment)
		if errors.Is(err, jetstream.ErrObjectNotFound) && i > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

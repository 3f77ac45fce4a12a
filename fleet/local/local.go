package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/internal/link"
	"github.com/arche-netcode/netcode/transport/secure"
)

// ErrAlone means that no supervisor started this process: go on with fleet.None.
var ErrAlone = errors.New("local: the environment variable " + link.Variable + " is not set: no supervisor started this process")

// errSilent means that the supervisor is gone.
var errSilent = errors.New("local: the supervisor is gone")

const (
	callTime = 5 * time.Second
	pause    = 200 * time.Millisecond
)

// Lifecycle is a fleet.Lifecycle by the supervisor of this machine. It names destinations and compares protocols too.
type Lifecycle struct {
	url     string
	silence time.Duration
	client  *http.Client
	hello   link.Hello
	key     secure.Key
	shared  [32]byte
	events  chan fleet.Event
	heard   atomic.Uint64 // The number of the newest event.
}

// Open asks the supervisor for the place of this process, and hears from it until ctx is done: give the context of the whole program.
// The error is ErrAlone in a process that no supervisor started.
func Open(ctx context.Context) (*Lifecycle, error) {
	url := os.Getenv(link.Variable)
	if url == "" {
		return nil, ErrAlone
	}
	return open(ctx, url, link.Silence)
}

func open(ctx context.Context, url string, silence time.Duration) (*Lifecycle, error) {
	l := &Lifecycle{url: strings.TrimSuffix(url, "/") + "/", silence: silence, client: &http.Client{Transport: &http.Transport{}}, events: make(chan fleet.Event, 64)}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := l.call(limited, http.MethodGet, "hello", nil, &l.hello); err != nil {
		return nil, err
	}
	if len(l.hello.Key) != len(l.key) || len(l.hello.Shared) != len(l.shared) {
		return nil, fmt.Errorf("local: the supervisor gave keys of %d and %d bytes: it is of another version", len(l.hello.Key), len(l.hello.Shared))
	}
	copy(l.key[:], l.hello.Key)
	copy(l.shared[:], l.hello.Shared)
	outliveReader()
	go l.hear(ctx)
	return l, nil
}

// Name returns the name of this server in the fleet, as in GET /servers.
func (l *Lifecycle) Name() string { return l.hello.Name }

// Listen returns the address for udp.Listen.
func (l *Lifecycle) Listen() string { return l.hello.Listen }

// Address returns the address of this server in connect tokens, for secure.Tokens.
func (l *Lifecycle) Address() string { return l.hello.Address }

// Key returns the key of this process, for secure.Config.
func (l *Lifecycle) Key() secure.Key { return l.key }

// Shared returns 32 secret bytes that all servers of this fleet have, for what they seal for one another.
func (l *Lifecycle) Shared() [32]byte { return l.shared }

// Ready implements fleet.Lifecycle.
func (l *Lifecycle) Ready(ctx context.Context) error { return l.post(ctx, "ready", nil) }

// Health implements fleet.Lifecycle.
func (l *Lifecycle) Health(ctx context.Context) error { return l.post(ctx, "health", nil) }

// Shutdown implements fleet.Lifecycle.
func (l *Lifecycle) Shutdown(ctx context.Context) error { return l.post(ctx, "shutdown", nil) }

// Events implements fleet.Lifecycle.
func (l *Lifecycle) Events() <-chan fleet.Event { return l.events }

// Schema implements fleet.Schemas.
func (l *Lifecycle) Schema(ctx context.Context, lock []byte) error {
	return l.post(ctx, "schema", lock)
}

// Report implements fleet.Lifecycle.
func (l *Lifecycle) Report(ctx context.Context, s fleet.Status) error {
	r := link.Report{Players: s.Players, Places: s.Places, Users: s.Users, Draining: s.Draining}
	for _, m := range s.Matches {
		r.Matches = append(r.Matches, m.ID)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return l.post(ctx, "report", text)
}

// Destination implements fleet.Destinations.
func (l *Lifecycle) Destination(ctx context.Context, user string, match fleet.Match) (token []byte, err error) {
	text, err := json.Marshal(link.Move{User: user, Match: link.Match{ID: match.ID, Data: match.Data}})
	if err != nil {
		return nil, err
	}
	var moved link.Moved
	return moved.Token, l.call(ctx, http.MethodPost, "move", text, &moved)
}

func (l *Lifecycle) post(ctx context.Context, path string, body []byte) error {
	return l.call(ctx, http.MethodPost, path, body, nil)
}

// call makes a request and decodes its answer into to; nil: it is not needed.
func (l *Lifecycle) call(ctx context.Context, method, path string, body []byte, to any) error {
	answer, err := l.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if to == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, link.MaxBody)).Decode(to); err != nil {
		return fmt.Errorf("local: %s: %w", path, err)
	}
	return nil
}

// do makes a request. The error does not show the URL, which is secret.
func (l *Lifecycle) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.url+path+"?heard="+strconv.FormatUint(l.heard.Load(), 10), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("local: the environment variable %s is no URL", link.Variable)
	}
	answer, err := l.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("local: %s: %w", path, errors.Join(errors.Unwrap(err), ctx.Err()))
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
	_ = answer.Body.Close()
	return nil, fmt.Errorf("local: %s: status %d: %s", path, answer.StatusCode, bytes.TrimSpace(text))
}

// hear passes events on until ctx is done. Without a word of the supervisor for some time the server drains.
func (l *Lifecycle) hear(ctx context.Context) {
	heard := time.Now()
	for ctx.Err() == nil {
		l.hearOnce(ctx, &heard)
		if time.Since(heard) > l.silence {
			l.pass(ctx, fleet.Event{Kind: fleet.Drain, Err: errSilent})
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// hearOnce reads one stream of events until it ends or is silent.
func (l *Lifecycle) hearOnce(ctx context.Context, heard *time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(l.silence, cancel)
	defer silence.Stop()
	answer, err := l.do(ctx, http.MethodGet, "events", nil)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, link.MaxBody)
	for lines.Scan() {
		silence.Reset(l.silence)
		*heard = time.Now()
		e, n, ok := parseEvent(lines.Bytes())
		if n <= l.heard.Load() {
			continue // An empty line, or an event that the stream before this one had.
		}
		l.heard.Store(n)
		if ok {
			l.pass(ctx, e)
		}
	}
}

// parseEvent parses a line of events, and returns its number. ok is false for an empty line, and for one of a newer supervisor.
func parseEvent(line []byte) (e fleet.Event, n uint64, ok bool) {
	var said link.Event
	if len(line) == 0 || json.Unmarshal(line, &said) != nil {
		return e, 0, false
	}
	switch said.Kind {
	case "allocated":
		return fleet.Event{Kind: fleet.Allocated, Match: fleet.Match{ID: said.ID, Data: said.Data}}, said.N, true
	case "drain":
		return fleet.Event{Kind: fleet.Drain, Err: errors.New("the supervisor drains it")}, said.N, true
	}
	return e, said.N, false
}

func (l *Lifecycle) pass(ctx context.Context, e fleet.Event) {
	select {
	case l.events <- e:
	case <-ctx.Done():
	}
}

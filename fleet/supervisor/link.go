package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/internal/link"
	"github.com/arche-netcode/netcode/schema"
)

// serveLink answers the requests of processes. Each knows its own path alone.
func (s *Supervisor) serveLink(w http.ResponseWriter, r *http.Request) {
	secret, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	p := s.bySecret[secret]
	s.mu.Unlock()
	heard, err := strconv.ParseUint(r.URL.Query().Get("heard"), 10, 64)
	if p == nil || err != nil {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	p.queue = slices.DeleteFunc(p.queue, func(e link.Event) bool { return e.N <= heard })
	s.mu.Unlock()
	if r.Method == http.MethodGet && what == "events" {
		s.serveEvents(w, r, p, heard)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxBody))
	if err != nil {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	answer, err := s.take(p, r.Method+" "+what, body)
	var short *refusal
	switch {
	case errors.As(err, &short):
		http.Error(w, short.text, short.status)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		reply(w, http.StatusOK, answer)
	}
}

// take takes a request of a process.
func (s *Supervisor) take(p *process, what string, body []byte) (answer any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.poke()
	p.health = time.Now() // A Member whose ticks stand still makes no request.
	switch what {
	case "GET hello":
		p.linked = true
		return link.Hello{Name: p.name, Listen: s.addressOf(hostOf(s.ip), p.port), Address: s.addressOf(s.config.Public, p.port), Key: p.key[:], Shared: s.shared[:]}, nil
	case "POST schema":
		p.lock, err = schema.Read(bytes.NewReader(body))
		return nil, err
	case "POST ready":
		if p.state == starting {
			p.state = ready
			s.note("%s is ready after %v", p.name, time.Since(p.began).Round(time.Millisecond))
		}
		return nil, nil
	case "POST report":
		return nil, s.takeReport(p, body)
	case "POST health":
		return nil, nil
	case "POST shutdown":
		if p.state != draining {
			p.startDrain(time.Now())
		}
		return nil, nil
	case "POST move":
		return s.move(p, body)
	}
	return nil, Refusal(http.StatusNotFound, "there is no such request")
}

// takeReport notes the players and matches of a process. A match that it does not have any more is over.
func (s *Supervisor) takeReport(p *process, body []byte) error {
	var r link.Report
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	p.status = r
	has := make(map[string]bool, len(r.Matches))
	for _, id := range r.Matches {
		has[id] = true
		if m := s.matches[id]; m != nil && m.process == p {
			m.seen = true
		}
	}
	for id, m := range s.matches {
		if m.process == p && m.seen && !has[id] {
			s.forget(id)
		}
	}
	if r.Draining && p.state != draining { // By a signal, or its last match is over.
		p.startDrain(time.Now())
	}
	return nil
}

// move finds another process for a player of one that drains.
func (s *Supervisor) move(from *process, body []byte) (answer any, err error) {
	var m link.Move
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	token, err := s.moveUser(from, m.User, fleet.Match{ID: m.Match.ID, Data: m.Match.Data})
	if err != nil {
		return nil, err
	}
	s.counts.moves++
	return link.Moved{Token: token}, nil
}

// serveEvents sends the events of a process after a number, one a line.
func (s *Supervisor) serveEvents(w http.ResponseWriter, r *http.Request, p *process, sent uint64) {
	flush := http.NewResponseController(w)
	beat := time.NewTicker(link.Beat)
	defer beat.Stop()
	out := json.NewEncoder(w)
	for {
		s.mu.Lock()
		queue := slices.DeleteFunc(slices.Clone(p.queue), func(e link.Event) bool { return e.N <= sent })
		s.mu.Unlock()
		for _, e := range queue {
			if out.Encode(e) != nil {
				return
			}
			sent = e.N
		}
		if len(queue) == 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return
			}
		}
		if flush.Flush() != nil {
			return
		}
		select {
		case <-p.news:
		case <-p.done:
			return
		case <-beat.C:
		case <-r.Context().Done():
			return
		}
	}
}

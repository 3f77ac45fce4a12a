package supervisor

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"
)

// ServeHTTP implements http.Handler, for backends:
//
//	POST /match     a Request as JSON; the answer is 201 and an Answer
//	GET  /servers   Fleet
//	GET  /metrics   for Prometheus
//	GET  /          a page with the fleet
//
// Front says who may ask. A browser asks for the key of the page as a password, for any name.
func (s *Supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.front.admit(w, r) {
		return
	}
	h := w.Header()
	switch r.Method + " " + r.URL.Path {
	case "POST /match":
		s.front.serveMatch(w, r)
	case "GET /servers":
		reply(w, http.StatusOK, s.Fleet())
	case "GET /metrics":
		h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		s.WriteMetrics(w)
	case "GET /":
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write([]byte(page))
	default:
		s.front.refuse(w, Refusal(http.StatusNotFound, "there are POST /match, GET /servers, GET /metrics and GET /"))
	}
}

// Limit returns a listener as Front.Limit does.
func (s *Supervisor) Limit(l net.Listener) net.Listener { return s.front.Limit(l) }

// Fleet is the answer to GET /servers.
type Fleet struct {
	Servers []Server `json:"servers"` // In the order of their starts.
	Build   string   `json:"build"`   // Of restarts; empty for a program of the PATH.
	Rollout string   `json:"rollout"` // The build that replaces it; empty: none.
	Failed  string   `json:"failed"`  // Why the newest build was rejected.
	Log     []string `json:"log"`     // The newest lines.
}

// Server is a process.
type Server struct {
	Name    string  `json:"name"`    // As in an Answer.
	State   string  `json:"state"`   // "starting", "ready" or "draining".
	Address string  `json:"address"` // For players.
	Build   string  `json:"build"`   // Its program.
	Process int     `json:"process"` // The number that the operating system gave it.
	Age     float64 `json:"age"`     // Seconds since its start.
	Health  float64 `json:"health"`  // Seconds since the newest word that its ticks run.
	Players int     `json:"players"` // At present.
	Places  int     `json:"places"`  // Players at most; 0: not told yet.
	Matches int     `json:"matches"` // At present.
}

// Fleet returns what GET /servers shows.
func (s *Supervisor) Fleet() Fleet {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Fleet{Servers: []Server{}, Build: s.build.hash, Failed: s.rollout.failed, Log: append([]string{}, s.news...)}
	if s.rollout.next != nil && s.rollout.failed == "" {
		f.Rollout = s.rollout.next.hash
	}
	for _, p := range s.processes {
		f.Servers = append(f.Servers, Server{
			Name: p.name, State: string(p.state), Address: s.addressOf(s.config.Public, p.port), Build: p.build.hash, Process: p.cmd.Process.Pid,
			Age: tenths(now.Sub(p.began)), Health: tenths(now.Sub(p.health)), Players: p.status.Players, Places: p.status.Places, Matches: p.matches,
		})
	}
	return f
}

// tenths returns seconds, rounded.
func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

// WriteMetrics writes the metrics of the fleet in the text format of Prometheus.
func (s *Supervisor) WriteMetrics(w io.Writer) {
	f := s.Fleet()
	states, players, places, matches := map[string]int{}, 0, 0, 0
	for _, p := range f.Servers {
		states[p.State]++
		players += p.Players
		places += p.Places
		matches += p.Matches
	}
	s.mu.Lock()
	c := s.counts
	s.mu.Unlock()
	head := func(name, kind, help string) { fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	one := func(name, kind, help string, value uint64) {
		head(name, kind, help)
		fmt.Fprintf(w, "%s %d\n", name, value)
	}
	head("netcode_fleet_servers", "gauge", "Processes by state.")
	for _, of := range []state{starting, ready, draining} {
		fmt.Fprintf(w, "netcode_fleet_servers{state=%q} %d\n", of, states[string(of)])
	}
	one("netcode_fleet_players", "gauge", "Players that are connected.", uint64(players))
	one("netcode_fleet_places", "gauge", "Players that can be connected.", uint64(places))
	one("netcode_fleet_matches", "gauge", "Matches that are not over.", uint64(matches))
	one("netcode_fleet_starts_total", "counter", "Processes started.", c.starts)
	one("netcode_fleet_crashes_total", "counter", "Processes that ended with an error.", c.crashes)
	one("netcode_fleet_killed_total", "counter", "Processes killed because they were late or stood still.", c.killed)
	one("netcode_fleet_matches_allocated_total", "counter", "Matches allocated.", c.matches)
	one("netcode_fleet_tokens_total", "counter", "Connect tokens issued.", c.tokens)
	one("netcode_fleet_moves_total", "counter", "Players for whom another server was found.", c.moves)
	one("netcode_fleet_rollouts_total", "counter", "Builds that replaced another on all servers.", c.rollouts)
	one("netcode_fleet_rollouts_rejected_total", "counter", "Builds that did not start, or with which players of the running one cannot play.", c.rejected)
	head("netcode_fleet_refused_total", "counter", "Requests refused, by reason.")
	for _, of := range []struct {
		reason string
		n      uint64
	}{{"limited", s.front.limited.Load()}, {"malformed", s.front.malformed.Load()}, {"no_room", c.noRoom}, {"unauthorized", s.front.unauthorized.Load()}} {
		fmt.Fprintf(w, "netcode_fleet_refused_total{reason=%q} %d\n", of.reason, of.n)
	}
}

package supervisor

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/internal/link"
	"github.com/arche-netcode/netcode/transport/secure"
)

// match is a match at a process.
type match struct {
	process *process
	data    []byte
	began   time.Time
	seen    bool // Its process has reported it.
}

// Request asks for a match for a user. A backend makes it for a player who is logged in.
type Request struct {
	User   string `json:"user"`   // 1 to 64 bytes.
	Match  string `json:"match"`  // A match of an earlier Answer; empty: a new one.
	Data   string `json:"data"`   // Of a new match: fleet.Match.Data for the game, such as a map and a mode; at most 64 KiB.
	Ticket string `json:"ticket"` // Of the player: fleet.Ticket.Data for the game, such as a team; at most 330 bytes.
}

// Answer names the server of a match.
type Answer struct {
	Match   string    `json:"match"`   // For the other players of the match.
	Server  string    `json:"server"`  // The name in GET /servers.
	Address string    `json:"address"` // For the player.
	Token   []byte    `json:"token"`   // The connect token for this user, match and server; good once.
	Expires time.Time `json:"expires"` // The last time to connect.
}

// refusal is an error with a status of HTTP.
type refusal struct {
	status int
	text   string
}

// Refusal returns an error for which a Front answers with a status of HTTP and a text for the backend.
func Refusal(status int, text string) error { return &refusal{status, text} }

// Error implements error.
func (r *refusal) Error() string { return "supervisor: " + r.text }

// errNoRoom refuses a match while no server has room.
func errNoRoom() error {
	return Refusal(http.StatusServiceUnavailable, "no server has room: try again")
}

// Allocate picks a server for a new match, or finds that of a match that runs, and issues a connect token.
func (s *Supervisor) Allocate(r Request) (Answer, error) {
	if err := r.check(); err != nil {
		return Answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.matches[r.Match]
	switch {
	case r.Match == "":
		p := s.pick(nil)
		if p == nil {
			s.counts.noRoom++
			return Answer{}, errNoRoom()
		}
		r.Match = rand.Text()
		var err error
		if m, err = s.place(p, r.Match, []byte(r.Data)); err != nil {
			return Answer{}, err
		}
		s.counts.matches++
	case m == nil:
		return Answer{}, Refusal(http.StatusNotFound, "there is no such match: it is over")
	case m.process.state != ready || m.process.full():
		s.counts.noRoom++
		return Answer{}, errNoRoom()
	}
	return s.answer(m.process, r)
}

// check returns what is out of range.
func (r *Request) check() error {
	text := ""
	switch {
	case len(r.User) == 0 || len(r.User) > secure.MaxUser || !utf8.ValidString(r.User):
		text = fmt.Sprintf("user has %d bytes: it needs 1 to %d of UTF-8", len(r.User), secure.MaxUser)
	case len(r.Match) > fleet.MaxMatch:
		text = fmt.Sprintf("match has %d bytes, at most %d", len(r.Match), fleet.MaxMatch)
	case len(r.Data) > fleet.MaxMatchData:
		text = fmt.Sprintf("data has %d bytes, at most %d", len(r.Data), fleet.MaxMatchData)
	case len(r.Ticket) > fleet.MaxTicketData:
		text = fmt.Sprintf("ticket has %d bytes, at most %d", len(r.Ticket), fleet.MaxTicketData)
	case r.Match != "" && r.Data != "":
		text = "data is for a new match, and match names one that runs"
	default:
		return nil
	}
	return Refusal(http.StatusBadRequest, text)
}

// pick returns the process with the fewest matches, then with the fewest players, that takes one match more; nil if there is none. Those
// of the newest build come first.
func (s *Supervisor) pick(but *process) (best *process) {
	for _, p := range s.processes {
		if p == but || p.state != ready || p.seat < 0 || p.full() || p.matches >= s.config.Matches {
			continue
		}
		if best == nil || p.load() < best.load() {
			best = p
		}
	}
	return best
}

// full reports whether a process has no place for a player.
func (p *process) full() bool { return p.status.Places > 0 && p.status.Players >= p.status.Places }

// load orders processes for a new match: those of the newest build first, then by matches, then by players.
func (p *process) load() int64 {
	load := int64(p.matches)<<20 + int64(min(p.status.Players, 1<<20-1))
	if p.build != p.s.build {
		load |= 1 << 50
	}
	return load
}

// place allocates a match to a process.
func (s *Supervisor) place(p *process, id string, data []byte) (*match, error) {
	if !p.send(link.Event{Kind: "allocated", ID: id, Data: data}) {
		s.counts.noRoom++
		return nil, errNoRoom()
	}
	m := &match{process: p, data: data, began: time.Now()}
	s.matches[id] = m
	p.matches++
	return m, nil
}

// forget removes a match that is over.
func (s *Supervisor) forget(id string) {
	s.matches[id].process.matches--
	delete(s.matches, id)
}

// answer issues a token.
func (s *Supervisor) answer(p *process, r Request) (Answer, error) {
	now := time.Now()
	a := Answer{Match: r.Match, Server: p.name, Address: s.addressOf(s.config.Public, p.port), Expires: now.Add(s.config.Token).Truncate(time.Second)}
	ticket, err := fleet.Ticket{Match: r.Match, Data: []byte(r.Ticket)}.Append(nil)
	if err != nil {
		return Answer{}, err
	}
	a.Token, err = secure.Issue(p.key, secure.Token{User: r.User, Servers: []string{a.Address}, Issued: now, Expires: a.Expires, Data: ticket})
	if err != nil {
		return Answer{}, err
	}
	s.counts.tokens++
	return a, nil
}

// moveUser returns a token for another process than the one that a user is at. The first player of a match takes the match along.
func (s *Supervisor) moveUser(from *process, user string, of fleet.Match) (token []byte, err error) {
	r := Request{User: user, Match: of.ID}
	if err := r.check(); err != nil {
		return nil, err
	}
	m := s.matches[of.ID]
	if m != nil && m.process != from && m.process.state == ready {
		a, err := s.answer(m.process, r)
		return a.Token, err
	}
	p := s.pick(from)
	if p == nil {
		return nil, errNoRoom()
	}
	if of.ID != "" {
		if m != nil {
			s.forget(of.ID)
		}
		if _, err := s.place(p, of.ID, of.Data); err != nil {
			return nil, err
		}
	}
	a, err := s.answer(p, r)
	return a.Token, err
}

// hostOf returns the text of an address, empty for all addresses of this machine.
func hostOf(ip net.IP) string {
	if ip == nil {
		return ""
	}
	return ip.String()
}

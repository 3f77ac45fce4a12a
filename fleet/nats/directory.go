package nats

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/arche-netcode/netcode/tick"
)

// Kinds of keys: "server.NAME", "match.ID", "player.BASE64". Their values are JSON, so that `nats kv watch` shows a fleet.
const (
	serverPrefix = "server."
	matchPrefix  = "match."
	playerPrefix = "player."
	maxValue     = 4096
)

// Server is a process of the fleet that has its lease.
type Server struct {
	Name    string // Config.Server.
	Address string // Config.Address.
	Data    string // Config.Data.
	Fence   uint64 // The number of its lease: later leases have larger ones.
	Takes   bool   // It takes over matches: Config.Orphan.
}

// MatchInfo is a match of the fleet.
type MatchInfo struct {
	ID      string    // MatchConfig.ID.
	Data    string    // MatchConfig.Data.
	Server  string    // The process that runs it.
	Address string    // Where players reach that; empty: the process died, and no other has taken the match over yet.
	Saved   tick.Tick // Of its newest checkpoint; 0: there is none.
}

// Presence is a player of the fleet.
type Presence struct {
	User   string // The identity that the server's game gave it: Server.Identity.
	Server string // Where it plays.
	Match  string // In which match.
}

// serverEntry is the value of a server's key.
type serverEntry struct {
	Session string `json:"session"`         // Random: tells one's own words from those of a process with the same name.
	Fence   uint64 `json:"fence,omitempty"` // 0: the revision of this value is the fence.
	Address string `json:"address,omitempty"`
	Data    string `json:"data,omitempty"`
	Takes   bool   `json:"takes,omitempty"`
}

// matchEntry is the value of a match's key.
type matchEntry struct {
	Server string    `json:"server"`
	Fence  uint64    `json:"fence"`
	Data   string    `json:"data,omitempty"`
	Point  string    `json:"checkpoint,omitempty"` // The object with the newest checkpoint.
	Saved  tick.Tick `json:"tick,omitempty"`       // Its tick.
}

// playerEntry is the value of a player's key.
type playerEntry struct {
	Server string `json:"server"`
	Fence  uint64 `json:"fence"`
	Match  string `json:"match"`
}

// errEntry is the error of a value that no process of a fleet writes.
var errEntry = errors.New("nats: a foreign value in the directory")

func serverKey(name string) string { return serverPrefix + name }
func matchKey(id string) string    { return matchPrefix + id }

// userToken is an identity as a part of a key or of a subject.
func userToken(user string) string { return base64.RawURLEncoding.EncodeToString([]byte(user)) }

// userOf returns the identity of a token.
func userOf(token string) (string, bool) {
	if len(token) > base64.RawURLEncoding.EncodedLen(MaxName) {
		return "", false
	}
	user, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return string(user), err == nil && len(user) > 0
}

// decodeServer reads a server's value.
func decodeServer(key string, value []byte) (name string, e serverEntry, err error) {
	name = strings.TrimPrefix(key, serverPrefix)
	if err = decodeJSON(value, &e); err == nil && (!legalName(name) || !legalName(e.Session) || len(e.Address) > MaxAddress || !legalData(e.Data)) {
		err = errEntry
	}
	return name, e, err
}

// decodeMatch reads a match's value.
func decodeMatch(key string, value []byte) (id string, e matchEntry, err error) {
	id = strings.TrimPrefix(key, matchPrefix)
	if err = decodeJSON(value, &e); err == nil && (!legalName(id) || !legalName(e.Server) || !legalData(e.Data) || len(e.Point) > 3*MaxName || e.Saved > maxTick) {
		err = errEntry
	}
	return id, e, err
}

// decodePlayer reads a player's value.
func decodePlayer(key string, value []byte) (user string, e playerEntry, err error) {
	user, ok := userOf(strings.TrimPrefix(key, playerPrefix))
	if err = decodeJSON(value, &e); err == nil && (!ok || !legalName(e.Server) || !legalName(e.Match)) {
		err = errEntry
	}
	return user, e, err
}

func decodeJSON(value []byte, into any) error {
	if len(value) > maxValue {
		return fmt.Errorf("%w: %d bytes", errEntry, len(value))
	}
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%w: %w", errEntry, err)
	}
	return nil
}

// legalData reports whether a text of the game is short and a text.
func legalData(text string) bool { return len(text) <= MaxData && utf8.ValidString(text) }

// encode returns a value. The fields are short: none fails.
func encode(value any) []byte {
	b, _ := json.Marshal(value)
	return b
}

// known is an entry with the revision of its newest value.
type known[E any] struct {
	entry    E
	revision uint64
	round    uint64 // The watch that told it: one that is begun anew tells all there is.
}

// directory is this process's copy of the directory. The watch writes it; any goroutine reads it.
type directory struct {
	mu      sync.Mutex
	servers map[string]known[serverEntry]
	matches map[string]known[matchEntry]
	players map[string]known[playerEntry]
	round   uint64
	whole   bool   // A watch has told all there is. Before that a match may be there, and its server not yet.
	newest  uint64 // The newest revision that the watch has told.
	foreign uint64 // Values that no process of a fleet writes.
	full    uint64 // Entries beyond the bounds.
	died    bool   // A server has gone: its players may be left.
	changed chan struct{}
	heard   func(user string) // A player's key has changed.
}

func newDirectory() *directory {
	return &directory{
		servers: map[string]known[serverEntry]{}, matches: map[string]known[matchEntry]{}, players: map[string]known[playerEntry]{},
		changed: make(chan struct{}, 1),
	}
}

// put takes a value, nil for a key that is gone.
func (d *directory) put(key string, value []byte, revision uint64) {
	if user := d.take(key, value, revision); user != "" && d.heard != nil {
		d.heard(user)
	}
}

// take is put. It returns the player whose key that is; empty for another key.
func (d *directory) take(key string, value []byte, revision uint64) (player string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest = max(d.newest, revision)
	var err error
	full := false
	switch {
	case strings.HasPrefix(key, serverPrefix):
		full, err = keep(d.servers, key, value, revision, d.round, maxServers, func(e *serverEntry) (string, error) {
			name, in, err := decodeServer(key, value)
			if in.Fence == 0 {
				in.Fence = revision
			}
			*e = in
			return name, err
		})
	case strings.HasPrefix(key, matchPrefix):
		full, err = keep(d.matches, key, value, revision, d.round, maxMatches, func(e *matchEntry) (id string, err error) {
			id, *e, err = decodeMatch(key, value)
			return id, err
		})
	case strings.HasPrefix(key, playerPrefix):
		full, err = keep(d.players, key, value, revision, d.round, maxPlayers, func(e *playerEntry) (user string, err error) {
			user, *e, err = decodePlayer(key, value)
			return user, err
		})
	default:
		err = errEntry
	}
	if err != nil {
		d.foreign++
	}
	if full {
		d.full++
	}
	if strings.HasPrefix(key, playerPrefix) {
		return nameOf(key) // The keeper looks at servers and matches.
	}
	d.died = d.died || value == nil && strings.HasPrefix(key, serverPrefix)
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return ""
}

// keep puts one entry into a map, or takes it away. An older revision than the known one changes nothing.
func keep[E any](in map[string]known[E], key string, value []byte, revision, round uint64, most int, decode func(*E) (string, error)) (full bool, err error) {
	var e E
	name := nameOf(key)
	if value != nil {
		if name, err = decode(&e); err != nil {
			return false, err
		}
	}
	old, there := in[name]
	switch {
	case there && old.revision > revision:
		return false, nil
	case value == nil:
		delete(in, name)
	case !there && len(in) >= most:
		return true, nil
	default:
		in[name] = known[E]{e, revision, round}
	}
	return false, nil
}

// nameOf returns the name in a key.
func nameOf(key string) string {
	_, name, _ := strings.Cut(key, ".")
	if strings.HasPrefix(key, playerPrefix) {
		name, _ = userOf(name)
	}
	return name
}

// begin begins a new round of the watch, which tells all there is.
func (d *directory) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.round++
}

// sweep forgets what the round has not told: it is gone.
func (d *directory) sweep() {
	d.mu.Lock()
	d.whole, d.died = true, true
	drop(d.servers, d.round)
	drop(d.matches, d.round)
	users := drop(d.players, d.round)
	d.mu.Unlock()
	for _, user := range users {
		if d.heard != nil {
			d.heard(user)
		}
	}
}

// drop forgets the entries of earlier rounds, and returns their names.
func drop[E any](in map[string]known[E], round uint64) (names []string) {
	for name, k := range in {
		if k.round != round {
			delete(in, name)
			names = append(names, name)
		}
	}
	return names
}

// alive reports whether a lease is that of a server now. The caller holds the lock.
func (d *directory) alive(server string, fence uint64) bool {
	s, ok := d.servers[server]
	return ok && s.entry.Fence == fence
}

// server returns a server with its lease.
func (d *directory) server(name string) (known[serverEntry], bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.servers[name]
	return s, ok
}

// match returns a match as its key has it.
func (d *directory) match(id string) (known[matchEntry], bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, ok := d.matches[id]
	return m, ok
}

// orphans returns the matches whose lease is gone.
func (d *directory) orphans() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, m := range d.matches {
		if d.whole && !d.alive(m.entry.Server, m.entry.Fence) {
			list = append(list, id)
		}
	}
	return list
}

// strays returns at most n players whose lease is gone. It looks for them after the death of a server, until there are none.
func (d *directory) strays(n int) map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := map[string]uint64{}
	if !d.died {
		return list
	}
	for user, p := range d.players {
		if len(list) == n || !d.whole {
			break
		}
		if !d.alive(p.entry.Server, p.entry.Fence) {
			list[user] = p.revision
		}
	}
	d.died = len(list) > 0 || !d.whole
	return list
}

// takers returns the servers that take over matches.
func (d *directory) takers() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, s := range d.servers {
		if s.entry.Takes {
			list = append(list, name)
		}
	}
	return list
}

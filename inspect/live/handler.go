package live

import (
	_ "embed" // For page.
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
)

// page is the whole page: it loads nothing else.
//
//go:embed page.html
var page string

// patience is the maximum wait for the loop's answer, or for a slow reader of events.
const patience = 5 * time.Second

// Listen serves the page at a loopback address, such as 127.0.0.1:6060, until stop is called. It returns the page's URL. Anybody
// who reaches the page sees the whole game, but cannot change it. A public address is therefore an error unless AllowOthers was
// called; put a proxy with authentication in front of it.
func (i *Inspector) Listen(address string) (url string, stop func() error, err error) {
	return listenAt(address, i, i.public)
}

// listenAt serves a page at an address, which must be of this machine unless it is public.
func listenAt(address string, page http.Handler, public bool) (url string, stop func() error, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("live: the inspector: %w", err)
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil || !public && !at.Addr().Unmap().IsLoopback() {
		return "", nil, errors.Join(fmt.Errorf("live: the inspector would be open to others at %s: give an address such as 127.0.0.1:6060, or call AllowOthers", l.Addr()), l.Close())
	}
	s := &http.Server{Handler: page, ReadHeaderTimeout: patience}
	go func() { _ = s.Serve(l) }() // It ends with stop.
	return "http://" + l.Addr().String() + "/", s.Close, nil
}

// Show is New and Listen for a program with a flag. It prints the page's URL to out and returns the inspector, which replaces the
// group. With an empty address it returns the group unchanged. stop ends the page.
func Show(group systems.Group, address string, out io.Writer) (shown systems.Group, stop func() error, err error) {
	if address == "" {
		return group, func() error { return nil }, nil
	}
	i := New(group)
	url, stop, err := i.Listen(address)
	if err != nil {
		return nil, nil, err
	}
	if _, err = fmt.Fprintln(out, "look inside at", url); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return i, stop, nil
}

// AllowOthers accepts requests for any host name and at any address. Call it before Listen or before the handler is used.
func (i *Inspector) AllowOthers() { i.public = true }

// ServeHTTP implements http.Handler. It answers GET only:
//
//	/                   the page
//	/events?client=3    snapshots as server-sent events; the packets are those of the client
//	/snapshot           the next snapshot that has a row of each client and a tick; after 5 s the newest one
//	/ticks              TickTimes, of the last second
//	/entities?find=...  Entities: by an id such as 12 or 12v3, owner:CLIENT, seen:CLIENT, a component's name; &client=3: what that one has
//
// Without AllowOthers the Host of a request must be this machine. A page of another site then cannot read the inspector
// through its own name (DNS rebinding). Pages of other sites get only the page itself. They could not read other answers anyway,
// but would use up the connections of /events.
func (i *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "the inspector is read only: use GET", http.StatusMethodNotAllowed)
		return
	case !i.public && !isLocal(r.Host):
		http.Error(w, "the inspector answers to 127.0.0.1, ::1 and localhost only: see live.Inspector.AllowOthers", http.StatusForbidden)
		return
	case r.URL.Path != "/" && i.fromElsewhere(r):
		http.Error(w, "the inspector answers to its own page, and to programs: open its page", http.StatusForbidden)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case "/":
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write([]byte(page))
	case "/events":
		i.serveEvents(w, r)
	case "/snapshot":
		i.serveSnapshot(w, r)
	case "/ticks":
		i.serveTicks(w, r)
	case "/entities":
		i.serveEntities(w, r)
	default:
		http.NotFound(w, r)
	}
}

// isLocal reports whether a host, with or without a port, is a loopback name or address.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.Unmap().IsLoopback()
}

// fromElsewhere reports whether a page of another site made the request. Browsers without Sec-Fetch-Site name the site in Origin.
// It is compared with Host only without AllowOthers: a proxy may change Host.
func (i *Inspector) fromElsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "":
		origin := r.Header.Get("Origin")
		return !i.public && origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host
	case "same-origin", "none":
		return false
	}
	return true
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil { // A figure of the game is NaN or infinite.
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // The client may have disconnected.
}

// listen adds a listener. It returns nil if there are too many.
func (i *Inspector) listen() (snapshots chan *Snapshot, leave func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.listeners) == mostListeners {
		return nil, nil
	}
	snapshots = make(chan *Snapshot, backlog)
	i.listeners[snapshots] = nil
	i.look()
	return snapshots, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.listeners, snapshots)
	}
}

// serveTicks asks the loop for tick times.
func (i *Inspector) serveTicks(w http.ResponseWriter, r *http.Request) {
	i.askedTicks.Store(true)
	done := make(chan TickTimes, 1)
	select {
	case i.tickAsks <- done:
	default:
		http.Error(w, "too many questions wait: ask again", http.StatusServiceUnavailable)
		return
	}
	select {
	case t := <-done:
		answer(w, t)
	case <-r.Context().Done():
	case <-time.After(patience):
		http.Error(w, "the server's loop does not run", http.StatusGatewayTimeout)
	}
}

// serveSnapshot answers with the next snapshot that has a tick and a row for each client. After a timeout it answers with the
// newest one.
func (i *Inspector) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	snapshots, leave := i.listen()
	if snapshots == nil {
		http.Error(w, "too many look on: close a page", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	var newest Snapshot
	for late := time.After(patience); newest.Missing > 0 || len(newest.Ticks) == 0; {
		select {
		case s := <-snapshots:
			log := newest.Log
			newest = *s // A copy: other listeners have the original.
			newest.Log = list(slices.Concat(log, s.Log))
			i.look()
		case <-r.Context().Done():
			return
		case <-late:
			if newest.Number == 0 {
				http.Error(w, "the server's loop does not run", http.StatusGatewayTimeout)
			} else {
				answer(w, newest)
			}
			return
		}
	}
	answer(w, newest)
}

// serveEvents sends snapshots until the page is closed.
func (i *Inspector) serveEvents(w http.ResponseWriter, r *http.Request) {
	snapshots, leave := i.listen()
	if snapshots == nil {
		http.Error(w, "too many look on: close a page", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	if id, err := strconv.ParseUint(r.URL.Query().Get("client"), 10, 32); err == nil {
		i.follow.Store(uint32(id))
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return // The page has closed, or its connection supports no events.
	}
	lookAgain := time.NewTicker(lookFor / 3)
	defer lookAgain.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-lookAgain.C:
			i.look()
		case s := <-snapshots:
			text, err := json.Marshal(s)
			if err != nil { // A figure of the game is NaN or infinite.
				text = fmt.Appendf(nil, "{\"error\":%q}", err.Error())
			}
			_ = control.SetWriteDeadline(time.Now().Add(patience)) // If unsupported, it waits for a slow page.
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || control.Flush() != nil {
				return
			}
		}
	}
}

// serveEntities asks the loop for entities.
func (i *Inspector) serveEntities(w http.ResponseWriter, r *http.Request) {
	s, err := parseSearch(r.URL.Query().Get("find"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	chosen, _ := strconv.ParseUint(r.URL.Query().Get("client"), 10, 32) // 0: none.
	q := &question{search: s, client: netcode.ClientID(chosen), done: make(chan Entities, 1)}
	select {
	case i.asks <- q:
	default:
		http.Error(w, "too many questions wait: ask again", http.StatusServiceUnavailable)
		return
	}
	select {
	case found := <-q.done:
		answer(w, found)
	case <-r.Context().Done():
	case <-time.After(patience):
		http.Error(w, "the server's loop does not run", http.StatusGatewayTimeout)
	}
}

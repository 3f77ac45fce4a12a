package agones_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// routes are those of Agones' swagger (1.55): sdk, beta and alpha.
var routes = []string{
	"POST /allocate", "GET /gameserver", "POST /health", "PUT /metadata/annotation", "PUT /metadata/label", "POST /ready", "POST /reserve", "POST /shutdown",
	"GET /watch/gameserver",
	"PATCH /v1beta1/counters/{name}", "GET /v1beta1/counters/{name}",
	"PATCH /v1beta1/lists/{name}", "GET /v1beta1/lists/{name}", "POST /v1beta1/lists/{name}", // with :addValue or :removeValue
	"GET /alpha/player/capacity", "PUT /alpha/player/capacity", "POST /alpha/player/connect", "GET /alpha/player/connected",
	"GET /alpha/player/connected/{playerID}", "GET /alpha/player/count", "POST /alpha/player/disconnect",
}

// number is an int64 as JSON of protocol buffers writes it. A plain number is refused, which the real one takes: ours writes texts.
type number int64

func (n number) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(fmt.Sprint(int64(n)))), nil
}

func (n *number) UnmarshalJSON(b []byte) error {
	text, err := strconv.Unquote(string(b))
	if err != nil {
		return err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	*n = number(v)
	return err
}

type counter struct {
	Count    number `json:"count"`
	Capacity number `json:"capacity"`
}

type list struct {
	Capacity number   `json:"capacity"`
	Values   []string `json:"values"`
}

// fake is the sidecar of a game server.
type fake struct {
	mu          sync.Mutex
	calls       []string // Method and pattern of each call.
	fault       func(route string) string
	state       string
	annotations map[string]string
	labels      map[string]string
	deleted     int64
	counters    map[string]counter
	lists       map[string]list
	players     []string
	places      number
	reserved    number
	changed     chan struct{} // Closed at each change of the game server.
	broken      chan struct{} // Closed when the connections of watches break.
	server      *httptest.Server
}

func newFake(t *testing.T) *fake {
	f := &fake{
		state: "Scheduled", annotations: map[string]string{}, labels: map[string]string{}, changed: make(chan struct{}), broken: make(chan struct{}),
		counters: map[string]counter{"players": {0, 10}}, lists: map[string]list{"players": {10, nil}},
		fault: func(string) string { return "" },
	}
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { f.serve(route, w, r) })
	}
	f.server = httptest.NewServer(mux)
	t.Cleanup(func() { f.breakWatches(); f.server.Close() })
	return f
}

// serve answers with a fault or in earnest.
func (f *fake) serve(route string, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.calls = append(f.calls, route)
	fault := f.fault(route)
	f.mu.Unlock()
	switch fault {
	case "slow":
		_, _ = io.Copy(io.Discard, r.Body) // Then the server notices that the client has gone.
		<-r.Context().Done()
		return
	case "500":
		http.Error(w, `{"code":2,"message":"the API server is away"}`, http.StatusInternalServerError)
		return
	case "gone": // The connection breaks without an answer.
		panic(http.ErrAbortHandler)
	case "nonsense":
		_, _ = w.Write([]byte("<html>"))
		return
	case "endless":
		for range 3 << 10 {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
		return
	}
	if route == "GET /watch/gameserver" {
		f.serveWatch(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	answer, status := f.answer(route, r)
	if status != 0 {
		http.Error(w, `{"code":5,"message":"not found or out of range"}`, status)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *fake) answer(route string, r *http.Request) (answer any, status int) {
	var body struct {
		Count      number   `json:"count"`    // Of counters and players.
		Capacity   number   `json:"capacity"` // Of counters and lists.
		Values     []string `json:"values"`   // Of lists.
		Seconds    number   `json:"seconds"`
		Key, Value string   // Labels and annotations; values of lists.
		PlayerID   string   `json:"playerID"`
	}
	if r.Method != "GET" {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if d.Decode(&body) != nil || r.Header.Get("Content-Type") != "application/json" {
			return nil, http.StatusBadRequest
		}
	}
	name := r.PathValue("name")
	switch route {
	case "GET /gameserver":
		return f.gameServer(), 0
	case "POST /ready", "POST /allocate", "POST /shutdown":
		f.change(map[string]string{"POST /ready": "Ready", "POST /allocate": "Allocated", "POST /shutdown": "Shutdown"}[route])
	case "POST /health":
	case "POST /reserve":
		f.reserved = body.Seconds
		f.change("Reserved")
	case "PUT /metadata/label":
		f.labels["agones.dev/sdk-"+body.Key] = body.Value
		f.change(f.state)
	case "PUT /metadata/annotation":
		f.annotations["agones.dev/sdk-"+body.Key] = body.Value
		f.change(f.state)
	case "PATCH /v1beta1/counters/{name}":
		if _, ok := f.counters[name]; !ok || body.Count > body.Capacity {
			return nil, http.StatusNotFound
		}
		f.counters[name] = counter{body.Count, body.Capacity}
		return f.counters[name], 0
	case "GET /v1beta1/counters/{name}":
		return f.counters[name], 0
	case "PATCH /v1beta1/lists/{name}":
		if _, ok := f.lists[name]; !ok || body.Capacity > 1000 {
			return nil, http.StatusNotFound
		}
		f.lists[name] = list{body.Capacity, body.Values}
		return f.lists[name], 0
	case "GET /v1beta1/lists/{name}":
		return f.lists[name], 0
	case "POST /v1beta1/lists/{name}":
		return f.changeList(name, body.Value)
	default:
		return f.answerPlayers(route, body.PlayerID, body.Count, r)
	}
	return struct{}{}, 0
}

func (f *fake) changeList(name, value string) (answer any, status int) {
	name, what, _ := strings.Cut(name, ":")
	l, ok := f.lists[name]
	at := slices.Index(l.Values, value)
	switch {
	case !ok, what == "addValue" && (at >= 0 || len(l.Values) >= int(l.Capacity)), what == "removeValue" && at < 0:
		return nil, http.StatusNotFound
	case what == "addValue":
		l.Values = append(l.Values, value)
	case what == "removeValue":
		l.Values = slices.Delete(l.Values, at, at+1)
	default:
		return nil, http.StatusNotFound
	}
	f.lists[name] = l
	return l, 0
}

func (f *fake) answerPlayers(route, player string, count number, r *http.Request) (answer any, status int) {
	at := slices.Index(f.players, player)
	switch route {
	case "PUT /alpha/player/capacity":
		f.places = count
		return struct{}{}, 0
	case "GET /alpha/player/capacity":
		return map[string]number{"count": f.places}, 0
	case "GET /alpha/player/count":
		return map[string]number{"count": number(len(f.players))}, 0
	case "GET /alpha/player/connected":
		return map[string][]string{"list": f.players}, 0
	case "GET /alpha/player/connected/{playerID}":
		return map[string]bool{"bool": slices.Contains(f.players, r.PathValue("playerID"))}, 0
	case "POST /alpha/player/connect":
		if at < 0 && len(f.players) >= int(f.places) {
			return nil, http.StatusInternalServerError
		} else if at < 0 {
			f.players = append(f.players, player)
		}
		return map[string]bool{"bool": at < 0}, 0
	case "POST /alpha/player/disconnect":
		if at >= 0 {
			f.players = slices.Delete(f.players, at, at+1)
		}
		return map[string]bool{"bool": at >= 0}, 0
	}
	return nil, http.StatusNotImplemented
}

// change sets the state and wakes the watches.
func (f *fake) change(state string) {
	f.state = state
	close(f.changed)
	f.changed = make(chan struct{})
}

// set changes the game server as Kubernetes does.
func (f *fake) set(state string, annotations map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if annotations != nil {
		f.annotations = annotations
	}
	f.change(state)
}

func (f *fake) gameServer() any {
	return map[string]any{
		"object_meta": map[string]any{
			"name": "game-1", "namespace": "default", "uid": "1234", "deletion_timestamp": number(f.deleted), "annotations": f.annotations, "labels": f.labels,
		},
		"status": map[string]any{
			"state": f.state, "address": "203.0.113.7", "ports": []any{map[string]any{"name": "query", "port": 7001}, map[string]any{"name": "game", "port": 7654}},
			"counters": f.counters, "lists": f.lists,
		},
	}
}

func (f *fake) serveWatch(w http.ResponseWriter, r *http.Request) {
	for {
		f.mu.Lock()
		text, _ := json.Marshal(map[string]any{"result": f.gameServer()})
		changed, broken := f.changed, f.broken
		f.mu.Unlock()
		if _, err := w.Write(append(text, '\n')); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-broken:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
	}
}

// called returns how often a route was called.
func (f *fake) called(route string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == route {
			n++
		}
	}
	return n
}

// fail sets the faults of routes.
func (f *fake) fail(fault string, of ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = func(route string) string {
		if len(of) == 0 || slices.Contains(of, route) {
			return fault
		}
		return ""
	}
}

// breakWatches ends the connections of all watches.
func (f *fake) breakWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.broken)
	f.broken = make(chan struct{})
}

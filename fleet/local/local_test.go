package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/internal/link"
	"github.com/arche-netcode/netcode/fleet/local"
)

func TestNoSupervisor(t *testing.T) {
	t.Setenv(link.Variable, "")
	_, err := local.Open(t.Context())
	require.ErrorIs(t, err, local.ErrAlone)
	t.Setenv(link.Variable, "http://127.0.0.1:1/secret")
	_, err = local.Open(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	t.Setenv(link.Variable, ":")
	_, err = local.Open(t.Context())
	require.ErrorContains(t, err, "no URL")
}

// chief answers as a supervisor does. An event is passed on once its stream asks.
func chief(t *testing.T, key []byte, heard *atomic.Value, events chan string) (url string, silent func()) {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		heard.Store(r.URL.Query().Get("heard"))
		switch r.Method + " " + r.URL.Path {
		case "GET /secret/hello":
			_ = json.NewEncoder(w).Encode(link.Hello{Name: "game-1", Listen: "127.0.0.1:9000", Address: "play:9000", Key: key, Shared: bytes.Repeat([]byte{7}, 32)})
		case "GET /secret/events":
			for {
				select {
				case e := <-events:
					if e == "" {
						return // The stream ends, and another one begins.
					}
					_, _ = io.WriteString(w, e+"\n")
					w.(http.Flusher).Flush()
				case <-over:
					return
				case <-r.Context().Done():
					return
				}
			}
		case "POST /secret/move":
			require.JSONEq(t, `{"user":"ann","match":{"id":"m","data":"c2FuZA=="}}`, string(text))
			_ = json.NewEncoder(w).Encode(link.Moved{Token: []byte("token")})
		case "POST /secret/report":
			require.JSONEq(t, `{"players":2,"places":8,"users":["ann","bob"],"matches":["m"],"draining":true}`, string(text))
		case "POST /secret/schema":
			require.Equal(t, "lock", string(text))
		case "POST /secret/ready", "POST /secret/health":
		default:
			http.Error(w, "no such thing", http.StatusTeapot)
		}
	}))
	t.Cleanup(func() {
		select {
		case <-over:
		default:
			close(over)
		}
		s.Close()
	})
	return s.URL + "/secret", func() { close(over); s.Close() }
}

func next(t *testing.T, l *local.Lifecycle) fleet.Event {
	t.Helper()
	select {
	case e := <-l.Events():
		return e
	case <-time.After(time.Minute):
		require.Fail(t, "nothing came")
		return fleet.Event{}
	}
}

func sharedOf(l *local.Lifecycle) []byte { shared := l.Shared(); return shared[:] }

// A server says and hears what the supervisor has to know, over streams that end now and then, and drains when the supervisor is gone.
func TestALinkToTheSupervisor(t *testing.T) {
	events := make(chan string)
	var heard atomic.Value
	url, silent := chief(t, make([]byte, 32), &heard, events)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l, err := local.OpenAt(ctx, url, time.Second)
	require.NoError(t, err)
	require.Equal(t, []string{"game-1", "127.0.0.1:9000", "play:9000"}, []string{l.Name(), l.Listen(), l.Address()})
	require.Equal(t, bytes.Repeat([]byte{7}, 32), sharedOf(l))
	require.NoError(t, l.Ready(ctx))
	require.NoError(t, l.Health(ctx))
	require.NoError(t, l.Schema(ctx, []byte("lock")))
	require.NoError(t, l.Report(ctx, fleet.Status{Players: 2, Places: 8, Users: []string{"ann", "bob"}, Matches: []fleet.Match{{ID: "m"}}, Draining: true}))
	token, err := l.Destination(ctx, "ann", fleet.Match{ID: "m", Data: []byte("sand")})
	require.NoError(t, err)
	require.Equal(t, "token", string(token))
	err = l.Shutdown(ctx)
	require.ErrorContains(t, err, "status 418: no such thing")
	require.NotContains(t, err.Error(), "secret")

	go func() {
		for _, e := range []string{`{"n":1,"kind":"allocated","id":"m","data":"c2FuZA=="}`, "", `{"n":1,"kind":"allocated","id":"m"}`, `{"n":2,"kind":"news of tomorrow"}`, "nonsense", `{"n":3,"kind":"allocated","id":"n"}`} {
			events <- e
		}
	}()
	require.Equal(t, fleet.Match{ID: "m", Data: []byte("sand")}, next(t, l).Match)
	require.Equal(t, "n", next(t, l).Match.ID)
	require.NoError(t, l.Health(ctx))
	require.Equal(t, "3", heard.Load(), "it says what it has")
	silent()
	e := next(t, l)
	require.Equal(t, fleet.Drain, e.Kind)
	require.ErrorContains(t, e.Err, "the supervisor is gone")
}

// An order to drain is passed on, and a key of another version is refused.
func TestOrders(t *testing.T) {
	events := make(chan string, 1)
	var heard atomic.Value
	events <- `{"n":1,"kind":"drain"}`
	url, _ := chief(t, make([]byte, 32), &heard, events)
	l, err := local.OpenAt(t.Context(), url, time.Minute)
	require.NoError(t, err)
	require.Equal(t, fleet.Drain, next(t, l).Kind)
	url, _ = chief(t, make([]byte, 16), &heard, nil)
	_, err = local.OpenAt(t.Context(), url, time.Minute)
	require.ErrorContains(t, err, "keys of 16 and 32 bytes")
}

// FuzzEvents sends lines of events: none makes it panic.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{`{"kind":"allocated","id":"m","data":"c2FuZA=="}`, `{"n":1,"kind":"drain"}`, "", `{"data":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, _, ok := local.ParseEvent([]byte(line))
		require.True(t, ok || e.Kind == 0)
		require.True(t, !ok || strings.Contains(line, "allocated") || strings.Contains(line, "drain") || strings.Contains(line, `\u`))
	})
}

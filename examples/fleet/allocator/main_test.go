package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/transport/secure"
)

// cluster is the API of Kubernetes with Agones, as far as the allocator calls it: pods with one match each.
type cluster struct {
	mu      sync.Mutex
	pods    int // That are ready.
	matches map[string]string
	data    map[string]string
	broken  bool
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := func(name string) map[string]any {
		return map[string]any{"state": "Allocated", "gameServerName": name, "address": "203.0.113.7", "ports": []any{map[string]any{"name": "game", "port": 7000 + len(name)}}}
	}
	switch {
	case c.broken || r.Header.Get("Authorization") != "Bearer of the pod":
		http.Error(w, "forbidden", http.StatusForbidden)
	case r.Method == "POST" && r.URL.Path == "/apis/allocation.agones.dev/v1/namespaces/games/gameserverallocations":
		var a struct {
			Kind string
			Spec struct {
				Selectors []struct{ MatchLabels map[string]string }
				Metadata  struct{ Labels, Annotations map[string]string }
			}
		}
		text, _ := io.ReadAll(r.Body)
		if json.Unmarshal(text, &a) != nil || a.Kind != "GameServerAllocation" || a.Spec.Selectors[0].MatchLabels["agones.dev/fleet"] != "game" {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		if c.pods == 0 {
			_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"state": "UnAllocated"}})
			return
		}
		c.pods--
		id := a.Spec.Metadata.Annotations["netcode.fleet/match"]
		if id == a.Spec.Metadata.Labels["netcode.fleet/match"] {
			c.matches[id], c.data[id] = strings.Repeat("g", c.pods+1), a.Spec.Metadata.Annotations["netcode.fleet/data"]
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": status(c.matches[id])})
	case r.Method == "GET" && r.URL.Path == "/apis/agones.dev/v1/namespaces/games/gameservers":
		items := []any{}
		if name := c.matches[strings.TrimPrefix(r.URL.Query().Get("labelSelector"), "netcode.fleet/match=")]; name != "" {
			s := status("")
			s["ports"] = status(name)["ports"]
			items = append(items, map[string]any{"metadata": map[string]any{"name": name}, "status": s})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	default:
		http.NotFound(w, r)
	}
}

const bearer = "the key of backends"

func ask(front http.Handler, body string) (a supervisor.Answer, status int) {
	r := httptest.NewRequest("POST", "/match", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+bearer)
	w := httptest.NewRecorder()
	front.ServeHTTP(w, r)
	_ = json.Unmarshal(w.Body.Bytes(), &a)
	return a, w.Code
}

// The path of a match through Agones: allocation, token, a second player, no more pods, and a cluster that does not answer.
func TestMatchesFromAgones(t *testing.T) {
	c := &cluster{pods: 2, matches: map[string]string{}, data: map[string]string{}}
	api := httptest.NewServer(c)
	defer api.Close()
	key, err := secure.NewKey()
	require.NoError(t, err)
	a := &allocator{url: api.URL, namespace: "games", fleet: "game", key: key, bearer: func() (string, error) { return "of the pod", nil }, client: api.Client()}
	front, err := supervisor.NewFront(bearer, 0, a.allocate)
	require.NoError(t, err)

	first, status := ask(front, `{"user":"ann","data":"sand","ticket":"red"}`)
	require.Equal(t, 201, status)
	require.Equal(t, "203.0.113.7:7002", first.Address)
	require.Equal(t, "sand", c.data[first.Match])
	servers, err := secure.TokenServers(first.Token)
	require.NoError(t, err)
	require.Equal(t, []string{first.Address}, servers)
	second, status := ask(front, `{"user":"bob","match":"`+first.Match+`"}`)
	require.Equal(t, 201, status)
	require.Equal(t, [3]string{first.Match, first.Server, first.Address}, [3]string{second.Match, second.Server, second.Address})
	other, status := ask(front, `{"user":"carl"}`)
	require.Equal(t, 201, status)
	require.NotEqual(t, first.Address, other.Address)
	require.NotEqual(t, first.Match, other.Match)

	_, status = ask(front, `{"user":"dora"}`)
	require.Equal(t, 503, status, "no pod is ready")
	for _, wrong := range []string{"NOSUCHMATCH", "a,b=c", "../../secrets"} {
		_, status = ask(front, `{"user":"dora","match":"`+wrong+`"}`)
		require.Equal(t, 404, status, wrong)
	}
	c.broken = true
	_, status = ask(front, `{"user":"dora"}`)
	require.Equal(t, 500, status)
}

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/heroiclabs/nakama-common/runtime"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet/supervisor"
)

// nakama is the server that loads the plugin, as far as the plugin calls it.
type nakama struct {
	runtime.NakamaModule
	runtime.Initializer
	matched func(context.Context, runtime.Logger, []runtime.MatchmakerEntry) (string, error)
	token   func(ctx context.Context, payload string) (string, error)
	told    map[string]map[string]any
}

func (n *nakama) RegisterMatchmakerMatched(f func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, []runtime.MatchmakerEntry) (string, error)) error {
	n.matched = func(ctx context.Context, log runtime.Logger, e []runtime.MatchmakerEntry) (string, error) {
		return f(ctx, log, nil, n, e)
	}
	return nil
}

func (n *nakama) RegisterRpc(id string, f func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error)) error {
	n.token = func(ctx context.Context, payload string) (string, error) { return f(ctx, silent{}, nil, n, payload) }
	return nil
}

func (n *nakama) NotificationSend(_ context.Context, user, subject string, content map[string]any, code int, sender string, persistent bool) error {
	text, err := json.Marshal(content) // As Nakama does.
	if err != nil {
		return err
	}
	var read map[string]any
	n.told[user] = read
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	n.told[user] = read
	return nil
}

type silent struct{ runtime.Logger }

func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

type entry struct {
	runtime.MatchmakerEntry
	runtime.Presence
	user string
}

func (e entry) GetPresence() runtime.Presence { return e }
func (e entry) GetUserId() string             { return e.user }
func (e entry) GetProperties() map[string]any { return map[string]any{"mode": "duel"} }

// Players that were matched get a match of the fleet, each its own token; and another one when they ask for it.
func TestMatchedPlayersGetAMatch(t *testing.T) {
	var asked []supervisor.Request
	fleet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask supervisor.Request
		if r.Header.Get("Authorization") != "Bearer key" || json.NewDecoder(r.Body).Decode(&ask) != nil || ask.Match == "over" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		asked = append(asked, ask)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(supervisor.Answer{Match: "M1", Address: "play:9000", Token: []byte(ask.User)})
	}))
	defer fleet.Close()
	n := &nakama{told: map[string]map[string]any{}}
	env := map[string]string{"NETCODE_FLEET_URL": fleet.URL + "/", "NETCODE_BEARER": "key"}
	require.ErrorContains(t, InitModule(t.Context(), nil, nil, n, n), "NETCODE_FLEET_URL")
	require.NoError(t, InitModule(context.WithValue(t.Context(), runtime.RUNTIME_CTX_ENV, env), nil, nil, n, n))
	id, err := n.matched(t.Context(), silent{}, []runtime.MatchmakerEntry{entry{user: "ann"}, entry{user: "bob"}})
	require.NoError(t, err)
	require.Empty(t, id, "it is none of Nakama's own matches")
	require.Equal(t, []supervisor.Request{{User: "ann", Data: "duel"}, {User: "bob", Match: "M1"}}, asked)
	require.Equal(t, map[string]any{"match": "M1", "address": "play:9000", "token": "Ym9i"}, n.told["bob"])

	of := context.WithValue(t.Context(), runtime.RUNTIME_CTX_USER_ID, "bob")
	answer, err := n.token(of, `{"match":"M1"}`)
	require.NoError(t, err)
	require.Contains(t, answer, `"token":"Ym9i"`)
	for _, wrong := range []string{`{"match":"over"}`, `{}`, `[`} {
		_, err = n.token(of, wrong)
		require.Error(t, err)
	}
	_, err = n.token(t.Context(), `{"match":"M1"}`)
	require.Error(t, err, "nobody is logged in")
}

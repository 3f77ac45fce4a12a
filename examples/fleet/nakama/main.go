// Command nakama is a plugin of the Nakama server: when its matchmaker has matched players, it asks a fleet for a match, and sends each
// player a notification with the address and the connect token.
//
//	go build -trimpath -buildmode=plugin -o netcode.so ./nakama
//
// In the configuration of Nakama, runtime.env has the allocator and its key: NETCODE_FLEET_URL=http://allocator:8080 and
// NETCODE_BEARER=... The allocator is netcode fleet, or ../allocator on Kubernetes.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/heroiclabs/nakama-common/runtime"

	"github.com/arche-netcode/netcode/fleet/supervisor"
)

// code is that of the notification: clients know it by this number.
const code = 7000

func main() {} // Nakama calls InitModule of the plugin.

// InitModule registers the hook of the matchmaker, and a call for a player who needs another token for its match.
func InitModule(ctx context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, initializer runtime.Initializer) error {
	env, _ := ctx.Value(runtime.RUNTIME_CTX_ENV).(map[string]string)
	f := &fleet{url: strings.TrimSuffix(env["NETCODE_FLEET_URL"], "/"), bearer: env["NETCODE_BEARER"], client: &http.Client{Timeout: 5 * time.Second}}
	if f.url == "" {
		return errors.New("runtime.env has no NETCODE_FLEET_URL")
	}
	return errors.Join(initializer.RegisterMatchmakerMatched(f.matched), initializer.RegisterRpc("netcode_token", f.token))
}

// fleet is an allocator.
type fleet struct {
	url, bearer string
	client      *http.Client
}

// ask asks for a place of a user.
func (f *fleet) ask(ctx context.Context, request supervisor.Request) (a supervisor.Answer, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/match", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+f.bearer)
	answer, err := f.client.Do(r)
	if err != nil {
		return a, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return a, fmt.Errorf("the fleet answers %s: %s", answer.Status, text)
	}
	return a, json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&a)
}

// matched is called for the players of one match. The first asks for it, the others join it. An empty ID tells Nakama that the match
// is none of its own.
func (f *fleet) matched(ctx context.Context, log runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, entries []runtime.MatchmakerEntry) (string, error) {
	match := ""
	for _, e := range entries {
		mode, _ := e.GetProperties()["mode"].(string)
		ask := supervisor.Request{User: e.GetPresence().GetUserId(), Match: match}
		if match == "" {
			ask.Data = mode
		}
		a, err := f.ask(ctx, ask)
		if err != nil {
			return "", err
		}
		match = a.Match
		content := map[string]any{"match": a.Match, "address": a.Address, "token": a.Token}
		if err := nk.NotificationSend(ctx, e.GetPresence().GetUserId(), "match", content, code, "", false); err != nil {
			log.Error("a player of match %s is not told: %v", a.Match, err)
		}
	}
	return "", nil
}

// token answers a player who needs another token for a match, after its program crashed: a token is good once.
func (f *fleet) token(ctx context.Context, log runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	user, _ := ctx.Value(runtime.RUNTIME_CTX_USER_ID).(string)
	var ask struct {
		Match string `json:"match"`
	}
	if err := json.Unmarshal([]byte(payload), &ask); err != nil || user == "" || ask.Match == "" {
		return "", runtime.NewError(`send {"match":"..."} of the notification`, 3) // INVALID_ARGUMENT
	}
	a, err := f.ask(ctx, supervisor.Request{User: user, Match: ask.Match})
	if err != nil {
		log.Warn("no token for %s: %v", user, err)
		return "", runtime.NewError("the match is over", 5) // NOT_FOUND
	}
	text, err := json.Marshal(a)
	return string(text), err
}

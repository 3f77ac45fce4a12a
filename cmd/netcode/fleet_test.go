package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// This program is a server too, when a fleet starts it.
func TestMain(m *testing.M) {
	switch err := serveInFleet(); {
	case errors.Is(err, local.ErrAlone):
		os.Exit(m.Run())
	case err != nil:
		log.Fatal(err)
	}
}

func serveInFleet() error {
	life, err := local.Open(context.Background())
	if err != nil {
		return err
	}
	socket, err := udp.Listen(life.Listen(), udp.Config{})
	if err != nil {
		return err
	}
	conn, err := secure.Listen(socket, secure.Config{Key: life.Key(), Admit: secure.Tokens(life.Address())})
	if err != nil {
		return err
	}
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	if err != nil {
		return err
	}
	loop := systems.NewRunner(nil, systems.NewServer(server, conn, systems.WallClock()), 60)
	return fleet.Attach(loop, server, life, fleet.Config{OnMatch: func(m fleet.Match) { log.Printf("has %s with %s and %v", m.ID, m.Data, os.Args[1:]) }}).Run(context.Background())
}

// shared is a buffer that several goroutines write.
type shared struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// awaits returns what a pattern finds in a text that grows.
func (s *shared) awaits(t *testing.T, pattern string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(s.String()); found != nil {
			return found[1]
		}
		require.True(t, time.Now().Before(deadline), "no %s in %s", pattern, s)
	}
}

// The command runs servers, allocates a match to one of them, which hears of it, and ends after they have drained.
func TestFleet(t *testing.T) {
	var out, progress shared
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- runFleet(ctx, []string{"-servers", "2", "-listen", "127.0.0.1:0", "-http", "127.0.0.1:0", "--", os.Args[0], "-map", "sand"}, &out, &progress)
	}()
	url := progress.awaits(t, `the fleet is at (http://127.0.0.1:\d+/)`)
	var answer struct{ Match, Server string }
	for deadline := time.Now().Add(time.Minute); answer.Match == ""; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
		r, err := http.Post(url+"match", "application/json", strings.NewReader(`{"user":"ann","data":"duel"}`))
		require.NoError(t, err)
		require.Contains(t, []int{http.StatusServiceUnavailable, http.StatusCreated}, r.StatusCode)
		if r.StatusCode == http.StatusCreated {
			require.NoError(t, json.NewDecoder(r.Body).Decode(&answer))
		}
		require.NoError(t, r.Body.Close())
	}
	require.Equal(t, answer.Server, out.awaits(t, `(game-\d): .* has `+answer.Match+` with duel and \[-map sand\]`))
	r, err := http.Get(url + "metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, errors.Join(err, r.Body.Close()))
	require.Contains(t, string(text), "netcode_fleet_matches 1\n")
	stop()
	require.NoError(t, <-done)
}

func TestFleetThatMakesNoSense(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for text, args := range map[string][]string{
		"fleet wants the game's program":   {},
		"-servers needs a value":           {"-servers"},
		"-http :0 is open to others":       {"-http", ":0", "--", "./game"},
		"1 to 256":                         {"-http", "127.0.0.1:0", "-servers", "257", "--", os.Args[0]},
		"-servers 0: it must be":           {"-servers", "0", "--", "./game"},
		"-matches 0: it must be":           {"-matches", "0", "--", "./game"},
		"is empty: it must have the key":   {"-bearer", empty, "--", "./game"},
		"no such file":                     {"-bearer", empty + "s", "--", "./game"},
		"give Config.Public":               {"-http", "127.0.0.1:0", "-listen", ":9000", "--", os.Args[0]},
		"the program: stat ./no such game": {"-http", "127.0.0.1:0", "--", "./no such game"},
	} {
		err := run(append([]string{"fleet"}, args...), io.Discard, io.Discard)
		require.ErrorContains(t, err, text)
		require.Contains(t, []int{1, 2}, usage.Status(err))
	}
	var progress shared
	require.Zero(t, usage.Status(run([]string{"fleet", "-help"}, io.Discard, &progress)))
	require.Contains(t, progress.String(), "-servers int")
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/fleet/supervisor"
)

// This program is the game, when a fleet starts it.
func TestMain(m *testing.M) {
	if _, err := local.Open(context.Background()); errors.Is(err, local.ErrAlone) {
		os.Exit(m.Run())
	}
	if serve(context.Background(), "") != nil {
		os.Exit(1)
	}
}

// A player asks a fleet for a match, and sees its pawn move.
func TestAPlayerOfTheFleet(t *testing.T) {
	s, err := supervisor.New(supervisor.Config{Command: os.Args[:1], Servers: 2, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), Start: time.Minute, Health: time.Minute})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	backend := httptest.NewServer(s)
	defer backend.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if f := s.Fleet(); len(f.Servers) == 2 && f.Servers[0].State == "ready" && f.Servers[1].State == "ready" {
			break
		}
		require.True(t, time.Now().Before(deadline))
	}
	play, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	var text strings.Builder
	require.NoError(t, beAPlayer(play, backend.URL, "ann", func(line string) (int, error) {
		if strings.Contains(line, "a pawn at") {
			end()
		}
		return text.WriteString(line)
	}))
	require.Regexp(t, `^match \S+ at game-\d, 127.0.0.1:\d+\na pawn at \d+\n`, text.String())
	stop()
	require.NoError(t, <-done)
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/fleet/supervisor"
)

// This program is the game, when a fleet starts it.
func TestMain(m *testing.M) {
	asked, stop := context.WithCancel(context.Background())
	_, err := local.Open(asked)
	if stop(); errors.Is(err, local.ErrAlone) { // serve opens another one: events go to one of them.
		os.Exit(m.Run())
	}
	if serve(context.Background(), "") != nil {
		os.Exit(1)
	}
}

// A player asks a fleet for a match, and sees its pawn move. Its server drains: it plays on at the other one, with its pawn.
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
		text.WriteString(line)
		switch seen := text.String(); {
		case !strings.Contains(line, "a pawn at"):
		case strings.Count(seen, "a pawn at") == 1 && runtime.GOOS != "windows": // It has no SIGTERM.
			require.NoError(t, drainServer(s, seen))
		case runtime.GOOS == "windows" || strings.Contains(seen, "moved to"):
			end()
		}
		return len(line), nil
	}))
	stop()
	require.NoError(t, <-done)
	moved := `moved to 127.0.0.1:\d+\n`
	if runtime.GOOS == "windows" {
		moved = ""
	}
	require.Regexp(t, `^match \S+ at game-\d, 127.0.0.1:\d+\n(a pawn at \d+\n)+`+moved+`a pawn at \d+\n$`, text.String())
	last := -1
	for _, at := range regexp.MustCompile(`a pawn at (\d+)`).FindAllStringSubmatch(text.String(), -1) {
		x, err := strconv.Atoi(at[1])
		require.NoError(t, err)
		require.Greater(t, x, last, "it goes on from where it was")
		last = x
	}
}

// drainServer lets the server drain that is named in the first line of a player.
func drainServer(s *supervisor.Supervisor, seen string) error {
	for _, one := range s.Fleet().Servers {
		if strings.Contains(seen, " at "+one.Name+",") {
			process, err := os.FindProcess(one.Process)
			if err != nil {
				return err
			}
			return process.Signal(syscall.SIGTERM)
		}
	}
	return errors.New("the fleet has no such server")
}

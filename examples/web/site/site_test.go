package site

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/join"
)

// A machine is reached at its own address of the local network by page, WebTransport and WebSocket; one that listens at loopback alone is not.
func TestAnotherMachine(t *testing.T) {
	s, err := Listen(Options{Listen: ":0", Protocol: game.NewProtocol, Wait: time.Minute})
	require.NoError(t, err)
	s.Page("GET /{$}", "{{.WebTransport}} {{.Also}}")
	match, err := game.NewMatch(s.Socket)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- match.Run(ctx) }()
	go s.Serve()
	defer func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, s.Close())
	}()
	if len(s.URLs()) < 2 {
		t.Skip("this machine is in no local network")
	}
	for _, url := range s.URLs() {
		text := get(t, url)
		for _, other := range s.URLs()[1:] {
			require.Contains(t, text, other)
		}
		for _, blocked := range []string{"", "127.0.0.1:9"} {
			s.options.Blocked = blocked
			limited, end := context.WithTimeout(ctx, time.Minute)
			s.options.Wait = time.Minute
			if blocked != "" {
				s.options.Wait = 200 * time.Millisecond
			}
			_, by, err := join.Dial(limited, url)
			end()
			require.NoError(t, err, url)
			require.Equal(t, map[bool]string{true: "WebTransport", false: "WebSocket"}[blocked == ""], by, url)
		}
		s.options.Blocked = ""
		var o Settings
		require.NoError(t, json.Unmarshal([]byte(get(t, url+"settings")), &o))
		require.Contains(t, o.WebTransport, netip.MustParseAddrPort(url[len("http://"):len(url)-1]).Addr().String())
	}
	require.Contains(t, get(t, s.URLs()[0]+"game.lock"), "Position")

	alone, err := Listen(Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	require.Len(t, alone.URLs(), 1)
	require.Empty(t, alone.SettingsFor("127.0.0.1:1").Also)
	require.NoError(t, alone.Close())
	require.NoError(t, alone.Socket.Close())
}

// get returns the text at a URL.
func get(t *testing.T, url string) string {
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, fmt.Sprint(url, string(text)))
	return string(text)
}

// Addresses of the internet are not near.
func TestNear(t *testing.T) {
	for text, is := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "192.168.0.7": true, "172.31.0.1": true, "169.254.1.1": true, "100.64.0.1": true, "192.0.2.2": true, "::ffff:192.168.0.7": true, "fd00::2": true,
		"8.8.8.8": false, "100.128.0.1": false, "192.0.3.1": false, "172.32.0.1": false, "2001:db8::1": false, "::ffff:8.8.8.8": false, "0.0.0.0": false,
	} {
		require.Equal(t, is, isNear(netip.MustParseAddr(text)), text)
	}
}

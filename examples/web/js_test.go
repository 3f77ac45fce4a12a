package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/web/browsers"
	"github.com/arche-netcode/netcode/examples/web/game"
)

// playJS plays in the page of the JavaScript client, and compares every number with the server's.
func playJS(t *testing.T, b browsers.Browser, loss float64, blocked, by string) {
	h := start(t, loss, blocked)
	page := openTab(t, b, h.url+"js")
	defer page.Close()
	until(t, "the game plays", func() bool {
		p := page.panel()
		return p != nil && p.Connected && p.Bodies == game.Bodies+1 && p.Tick > 0
	})
	require.Equal(t, by, page.panel().By)
	page.Key("keydown", "ArrowRight")
	until(t, "the avatar moves", func() bool { return page.panel().OwnX > 5 })
	page.Key("keyup", "ArrowRight")
	h.match.Stop()
	until(t, "the page has the server's numbers", func() bool { return page.panel().Hash == h.match.Numbers() })
	require.Greater(t, page.panel().OwnX, float32(5))
	if *shots != "" {
		page.Shoot(*shots + "/js.png")
	}
}

// TestJavaScriptInBrowsers plays in the page of the JavaScript client, by both ways, in Chromium and in Firefox.
func TestJavaScriptInBrowsers(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0") // as a network that drops UDP
	require.NoError(t, err)
	defer silent.Close()
	for name, open := range browsers.All(*loud) {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			t.Run("WebTransport with 5 % loss", func(t *testing.T) { playJS(t, b, .05, "", "WebTransport") })
			t.Run("WebSocket with 5 % loss", func(t *testing.T) { playJS(t, b, .05, silent.LocalAddr().String(), "WebSocket") })
		})
	}
}

package main

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/web/browsers"
	"github.com/arche-netcode/netcode/examples/web/game"
)

// playJS plays in the page of the JavaScript client, and compares every number with the server's.
func playJS(t *testing.T, b browsers.Browser, loss float64, blocked, by string) {
	h := start(t, loss, blocked)
	page := openTab(t, b, h.URLs()[0]+"js")
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

// TestTabCost measures what the JavaScript client costs a tab with many bodies that all move: update, and the shown place of each, 60 times a second.
// It tells figures and judges nothing: go test . -run TestTabCost -bodies 1000 -v
func TestTabCost(t *testing.T) {
	if *bodies == 0 {
		t.Skip("it measures: give it -bodies 1000")
	}
	for name, open := range browsers.All(*loud) {
		t.Run(name, func(t *testing.T) {
			h := serve(t, nil, 0, "", *bodies)
			page := openTab(t, open(t), h.URLs()[0]+"js")
			defer page.Close()
			until(t, "the game plays", func() bool { p := page.panel(); return p != nil && p.Bodies == *bodies+1 && p.Tick > 0 })
			for range 3 {
				from := page.panel()
				time.Sleep(5 * time.Second)
				to := page.panel()
				t.Logf("%s: %d bodies, %.1f ticks a second: the client takes %.1f %% of a core", name, to.Bodies, float64(to.Tick-from.Tick)*1000/(to.Now-from.Now),
					100*(to.Spent-from.Spent)/(to.Now-from.Now))
			}
		})
	}
}

// TestAClosedTabLeaves closes a tab in which the game plays. The server knows at once, in words, and does not wait for the silence of 30 s.
func TestAClosedTabLeaves(t *testing.T) {
	for name, open := range browsers.All(*loud) {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			for way, blocked := range map[string]string{"WebTransport": "", "WebSocket": "127.0.0.1:1"} {
				t.Run(way, func(t *testing.T) {
					if name == "Firefox" {
						t.Skip("Firefox may drop what a page says last, by WebTransport in half of the runs and by WebSocket on a busy machine: the server waits for the silence")
					}
					h := serve(t, nil, 0, blocked, game.Bodies)
					page := openTab(t, b, h.URLs()[0]+"js")
					until(t, "the game plays", func() bool { p := page.panel(); return p != nil && p.Bodies == game.Bodies+1 })
					require.Equal(t, way, page.panel().By)
					page.Close()
					until(t, "the player is gone", func() bool { return h.match.Left() != nil })
					require.ErrorContains(t, h.match.Left(), "the page was left")
				})
			}
		})
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

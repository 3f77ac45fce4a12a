package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/web/browsers"
	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/site"
)

var (
	all    = flag.Bool("all", false, "also WebTransport without loss, WebSocket with loss, and TestTabs")
	bodies = flag.Int("bodies", 0, "bodies of TestTabCost, as 1000; 0: it is skipped")
	client = flag.String("client", "client", "folder of the page's client")
	loud   = flag.Bool("loud", false, "print the log of the browser")
	shots  = flag.String("shots", "", "folder for screenshots")
	tabs   = flag.Int("tabs", 2, "tabs that play at once in TestTabs")
)

// built is the client, built once for all tests.
var built = sync.OnceValues(func() ([]byte, error) { return site.Build(*client, &said) })

// said has the lines that the host writes while it builds.
var said strings.Builder

// start starts a host.
func start(t *testing.T, loss float64, blocked string) *host {
	wasm, err := built()
	require.NoError(t, err)
	return serve(t, wasm, loss, blocked, game.Bodies)
}

// serve starts a host of a number of bodies.
func serve(t *testing.T, wasm []byte, loss float64, blocked string, bodies int) *host {
	o := options(wasm, "127.0.0.1:0")
	o.Blocked, o.Wait = blocked, 500*time.Millisecond
	if blocked == "" {
		o.Wait = time.Minute // A busy machine is no reason for WebSocket.
	}
	h, err := listen(o, loss, bodies)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	h.match.Watch()
	go func() { done <- h.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return h
}

// until waits until something holds, for as long as a slow machine may need.
func until(t *testing.T, text string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) { // In this goroutine: a browser is for one.
		require.True(t, time.Now().Before(end), text)
	}
}

// inStep stops the bodies, and waits until each page has the world of a tick in which they rest: the one that the server had in the same
// tick. At rest nothing is sent, so a page stays at the tick of its last packet.
func inStep(t *testing.T, h *host, pages ...*tab) {
	last := h.match.Stop()
	for _, page := range pages {
		until(t, "the page has the server's world of the same tick", func() bool {
			p := page.panel()
			s, ok := h.match.At(p.Tick)
			return ok && p.Tick >= last && p.Entities == s.Entities && p.Hash == s.Hash && p.Hash == h.match.State().Hash
		})
		p := page.panel()
		s, _ := h.match.At(p.Tick)
		t.Logf("by %s: tick %d hash %s of %d entities; the server in tick %d: %s", p.By, p.Tick, p.Hash, p.Entities, s.Tick, s.Hash)
	}
}

// play plays in one page, by one way, and compares the worlds.
func play(t *testing.T, b browsers.Browser, name string, loss float64, blocked, by string) {
	h := start(t, loss, blocked)
	page := openTab(t, b, h.URLs()[0])
	until(t, "the game plays", func() bool {
		p := page.panel()
		return p != nil && p.Connected && p.Bodies == game.Bodies+1 && p.Tick > 0
	})
	defer page.Close()
	require.Equal(t, by, page.panel().By)
	moving := page.panel().Hash
	page.Key("keydown", "ArrowRight")
	until(t, "the avatar moves", func() bool { return page.panel().OwnX > 5 })
	page.Key("keyup", "ArrowRight")
	if *shots != "" {
		page.Shoot(filepath.Join(*shots, name+".png"))
	}
	require.NotEqual(t, moving, page.panel().Hash, "bodies move")
	inStep(t, h, page)
	require.Greater(t, page.panel().OwnX, float32(5))
	t.Logf("%s: %+v, the server has %+v", name, *page.panel(), h.match.State())
}

func TestInBrowsers(t *testing.T) {
	for name, open := range browsers.All(*loud) {
		t.Run(name, func(t *testing.T) { playIn(t, open(t), strings.ToLower(name)) })
	}
}

// playIn plays in a browser, by both ways.
func playIn(t *testing.T, b browsers.Browser, name string) {
	if *all {
		t.Run("WebTransport", func(t *testing.T) { play(t, b, name+"-webtransport", 0, "", "WebTransport") })
	}
	t.Run("WebTransport with 5 % loss", func(t *testing.T) { play(t, b, name+"-webtransport-5", .05, "", "WebTransport") })
	silent, err := net.ListenPacket("udp", "127.0.0.1:0") // as a network that drops UDP
	require.NoError(t, err)
	defer silent.Close()
	t.Run("WebSocket, with WebTransport blocked", func(t *testing.T) { play(t, b, name+"-websocket", 0, silent.LocalAddr().String(), "WebSocket") })
	if *all {
		t.Run("WebSocket with 5 % loss", func(t *testing.T) { play(t, b, name+"-websocket-5", .05, silent.LocalAddr().String(), "WebSocket") })
	}
}

func TestTabs(t *testing.T) {
	if !*all {
		t.Skip("without -all, a page at a time is enough")
	}
	b := browsers.All(*loud)["Chromium"](t)
	h := start(t, 0, "")
	var pages []*tab
	for range *tabs {
		pages = append(pages, openTab(t, b, h.URLs()[0]))
	}
	for _, page := range pages {
		until(t, "each plays", func() bool { p := page.panel(); return p != nil && p.Connected && p.Bodies == game.Bodies+*tabs })
	}
	inStep(t, h, pages...)
	t.Logf("%d tabs have the server's world: %+v", *tabs, h.match.State())
}

// The same client as a native program, by both ways.
func TestHeadless(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for by, blocked := range map[string]string{"WebTransport": "", "WebSocket": silent.LocalAddr().String()} {
		t.Run(by, func(t *testing.T) {
			h := start(t, .05, blocked)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var mu sync.Mutex
			var last game.Panel
			way := ""
			done := make(chan error, 1)
			go func() {
				done <- headless(ctx, h.URLs()[0], "", func(by string, p *game.Panel) {
					mu.Lock()
					defer mu.Unlock()
					last, way = *p, by
				})
			}()
			panel := func() game.Panel {
				mu.Lock()
				defer mu.Unlock()
				return last
			}
			until(t, "it plays", func() bool {
				p := panel()
				return p.Connected && p.Bodies == game.Bodies+1 && p.Replayed+uint64(p.Tick) > 0
			})
			require.Equal(t, by, way)
			h.match.Stop()
			cancel()
			require.NoError(t, <-done)
			until(t, "its avatar leaves with it", func() bool { return h.match.State().Entities == game.Bodies })
		})
	}
}

// The linker leaves out what only servers run, and features that the game does not register. The table of functions has all that is left.
func TestTheClientHasNoServerCode(t *testing.T) {
	if *client != "client" {
		t.Skip("for the plain client")
	}
	compressed, err := built()
	require.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	require.NoError(t, err)
	wasm, err := io.ReadAll(r)
	require.NoError(t, err)
	for _, there := range []string{"predict.(*client).compare", "netcode.(*Client).receivePacket", "replica.(*Replica).Read"} {
		require.True(t, bytes.Contains(wasm, []byte(there)), there)
	}
	for _, left := range []string{
		"netcode.(*Server).sendFrame", "netcode.(*Server).receiveDatagram", "netcode.NewServer", "snapshot.(*packetWriter)", "snapshot.(*View).Plan",
		"netcode.upstreamSender", "authority.(*client)", "predict.(*client).explain", "predict.(*client).askForLocals", "record.Start",
	} {
		require.False(t, bytes.Contains(wasm, []byte(left)), left)
	}
}

func TestTheClientIsSmall(t *testing.T) {
	wasm, err := built()
	require.NoError(t, err)
	require.Contains(t, said.String(), "building the client")
	t.Logf("client.wasm: %d bytes, compressed", len(wasm))
	require.Less(t, len(wasm), 2_360_000, "the README has the goal")
}

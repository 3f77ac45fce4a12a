package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/serve"
	"github.com/arche-netcode/netcode/examples/web/browsers"
	"github.com/arche-netcode/netcode/transport/lan"
)

var (
	loud  = flag.Bool("loud", false, "print the log of the browser")
	shots = flag.String("shots", "", "folder for screenshots")
)

// built is the client, built once for all tests.
var built = sync.OnceValues(func() ([]byte, error) { return serve.Build("window", os.Stderr) })

// start starts a host of the page.
func start(t *testing.T, o serve.Options) *serve.Host {
	wasm, err := built()
	require.NoError(t, err)
	o.Listen, o.WASM = "127.0.0.1:0", wasm
	if !o.Silent {
		o.Wait = time.Minute // A busy machine is no reason for WebSocket.
	}
	h, err := serve.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return h
}

// panel has the figures of a page.
type panel struct {
	By, Own, Failure      string
	Connected             bool
	Phase, Shots, FirstMs int
	X, Y                  float32
	Names, Chat           []string
	Steps, Replayed       uint64
}

func read(t *testing.T, page *browsers.Tab) (p panel) {
	page.Read(`globalThis.netcodeError ? {Failure: netcodeError} : JSON.parse(globalThis.brawlPanel ?? "{}")`, &p)
	require.Empty(t, p.Failure)
	return p
}

// until waits until something holds, for as long as a slow machine may need.
func until(t *testing.T, text string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) { // In this goroutine: a browser is for one.
		require.True(t, time.Now().Before(end), text)
	}
}

// Two tabs play each other: each sees the other's name, keys move the own avatar, as its picture shows, a shot is fired, and a line of chat
// arrives. A tab that is loaded again is the same player.
func TestTwoTabs(t *testing.T) {
	for name, open := range browsers.All(*loud) {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("Xvfb"); name == "Firefox" && err != nil {
				t.Skip("without a screen Firefox has no WebGL2: apt-get install xvfb")
			}
			playTwoTabs(t, open(t), strings.ToLower(name))
		})
	}
}

func playTwoTabs(t *testing.T, b browsers.Browser, name string) {
	h := start(t, serve.Options{Silent: name == "firefox", Match: rules.Options{Length: time.Minute}})
	url := h.URLs()[0]
	ann, ben := browsers.OpenTab(t, b, url+"?name=Ann"), browsers.OpenTab(t, b, url+"?name=Ben")
	defer ben.Close()
	for _, page := range []*browsers.Tab{ann, ben} {
		until(t, "both see both", func() bool {
			p := read(t, page)
			return p.Connected && p.Own != "" && slices.Contains(p.Names, "Ann") && slices.Contains(p.Names, "Ben")
		})
	}
	p := read(t, ann)
	require.Equal(t, map[string]string{"chromium": "WebTransport", "firefox": "WebSocket"}[name], p.By)
	require.Equal(t, "Ann", p.Own)
	t.Logf("%s by %s: the own avatar is there after %d ms", name, p.By, p.FirstMs)

	// A machine without a graphics card has a frame a second when it is busy: each of these waits for what comes in the end.
	until(t, "the own avatar is where the page says", func() bool { return ringAt(picture(t, ann), read(t, ann)) })
	ann.Key("keydown", "ArrowDown")
	until(t, "the avatar moves at the server", func() bool { return avatarAt(h, "Ann").Y > p.Y+4 })
	ann.Key("keyup", "ArrowDown")
	until(t, "the picture shows the avatar at its new place, which is the server's, and no longer at the old one", func() bool {
		now, img, is := read(t, ann), picture(t, ann), avatarAt(h, "Ann")
		return ringAt(img, now) && !ringAt(img, p) && rules.Length(is.X-now.X, is.Y-now.Y) < 0.1
	})

	ann.Key("keydown", "KeyF")
	until(t, "it shoots", func() bool { return read(t, ann).Shots > 1 })
	ann.Key("keyup", "KeyF")
	for _, key := range []string{"Enter", "KeyH", "KeyI", "Enter"} {
		typeKey(ann, key)
	}
	until(t, "the line arrives", func() bool { return slices.Contains(read(t, ben).Chat, "Ann: hi") })
	if *shots != "" {
		ann.Shoot(filepath.Join(*shots, "brawl-"+name+".png"))
	}
	ann.Close()
}

// avatarAt is the place of a player's avatar at the server.
func avatarAt(h *serve.Host, name string) (at rules.Body) {
	h.Loop.Do(func() {
		seen, _ := h.Match.Rules.Look(h.Match.Rules.Place)
		for _, s := range seen {
			if s.Name.Is(name) {
				at = s.Body
			}
		}
	})
	return at
}

// typeKey presses and releases a key of a letter.
func typeKey(page *browsers.Tab, code string) {
	key := strings.ToLower(strings.TrimPrefix(code, "Key"))
	if key == "enter" {
		key = "Enter"
	}
	page.Press(key, code)
}

// picture returns the picture of a page.
func picture(t *testing.T, page *browsers.Tab) image.Image {
	data, err := base64.StdEncoding.DecodeString(page.Picture())
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return img
}

// ringAt reports whether the white ring of the own avatar is in a picture, where a page says that its avatar is.
func ringAt(img image.Image, p panel) bool {
	const width, height, top, scale = 960, 684, 44, 20
	b := img.Bounds()
	zoom := min(float64(b.Dx())/width, float64(b.Dy())/height)
	x0, y0 := (float64(b.Dx())-width*zoom)/2, (float64(b.Dy())-height*zoom)/2
	cx, cy := float64(p.X)*scale, float64(p.Y)*scale+top
	white := 0
	for _, d := range [][2]float64{{15, 0}, {-15, 0}, {0, 15}, {0, -15}, {10.6, 10.6}, {-10.6, 10.6}, {10.6, -10.6}, {-10.6, -10.6}} {
		found := false
		for r := 0.85; r <= 1.15; r += 0.05 {
			red, green, blue, _ := img.At(int(x0+(cx+d[0]*r)*zoom), int(y0+(cy+d[1]*r)*zoom)).RGBA()
			found = found || red > 0xb000 && green > 0xb000 && blue > 0xb000
		}
		if found {
			white++
		}
	}
	return white >= 5
}

// The client fits into the goal that the README has.
func TestTheClientsSize(t *testing.T) {
	wasm, err := built()
	require.NoError(t, err)
	t.Logf("client.wasm: %d bytes, compressed", len(wasm))
	require.Less(t, len(wasm), 6_000_000)
}

// A page says at which address another machine finds it.
func TestThePageSaysItsAddress(t *testing.T) {
	h, err := serve.New(serve.Options{Listen: ":0", WASM: []byte{}})
	require.NoError(t, err)
	defer h.Close()
	go h.Pages()
	require.Contains(t, h.URLs()[0], "http://127.0.0.1:")
	for _, url := range h.URLs() {
		text := get(t, url)
		for _, other := range h.URLs()[1:] {
			require.Contains(t, text, other)
		}
		require.Contains(t, text, fmt.Sprintf("%q", strings.Replace(strings.TrimSuffix(url, "/"), "http", "ws", 1)+"/ws"))
	}
}

// get returns the text at a URL.
func get(t *testing.T, url string) string {
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	return string(text)
}

// A host is found in the local network, with its players.
func TestFind(t *testing.T) {
	h, err := serve.New(serve.Options{Listen: ":0", LAN: "Ann's"})
	require.NoError(t, err)
	defer h.Close()
	if len(h.URLs()) < 2 {
		t.Skip("this machine is in no private network")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found := false
	require.NoError(t, lan.Find(ctx, serve.LANPort, func(g lan.Game) {
		if g.Name == "Ann's" && g.Join == h.URLs()[1] {
			require.Equal(t, rules.Protocol().Hash(), g.Protocol)
			found = true
			cancel()
		}
	}))
	require.True(t, found)
}

package main

import (
	"bytes"
	"compress/gzip"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/serve"
	"github.com/arche-netcode/netcode/examples/web/browsers"
	"github.com/arche-netcode/netcode/examples/web/site"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/transport/lan"
)

var (
	loud  = flag.Bool("loud", false, "print the log of the browser")
	shots = flag.String("shots", "", "folder for screenshots")
)

// built is the client, built once for all tests.
var built = sync.OnceValues(func() ([]byte, error) { return site.Build("window", os.Stderr) })

// start starts a host of the page.
func start(t *testing.T, o serve.Options) *serve.Host {
	wasm, err := built()
	require.NoError(t, err)
	o.Listen, o.WASM, o.Wait = ":0", wasm, time.Minute // A busy machine is no reason for WebSocket.
	if o.Blocked != "" {
		o.Wait = 500 * time.Millisecond
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
	Frames                int
	Delay, Jitter         float64
	Loss, RTT             float64
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

// Two tabs play each other, one by the machine's own address in its network: each sees the other's name, keys move the own avatar, as its picture
// shows, a shot is fired, and a line of chat arrives. Then a player does to its client what F1 has buttons and sliders for, and plays by a gamepad and by
// touch. Before, pages of the JavaScript client watch and play.
func TestTwoTabs(t *testing.T) {
	for name, open := range browsers.All(*loud) {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("Xvfb"); name == "Firefox" && err != nil {
				t.Skip("without a screen Firefox has no WebGL2: apt-get install xvfb")
			}
			g := &tabs{t: t, by: map[string]string{"Chromium": "WebTransport", "Firefox": "WebSocket"}[name], name: strings.ToLower(name)}
			o := serve.Options{Match: rules.Options{Length: 10 * time.Minute, Stall: func(d time.Duration) { g.stalled.Store(int64(d)); time.Sleep(d) }}}
			if name == "Firefox" {
				o.Blocked = "127.0.0.1:9" // As where UDP is blocked.
			}
			g.h = start(t, o)
			g.browser = open(t, g.h.URLs()...)
			g.play()
		})
	}
}

// tabs is a match of the tabs of a browser.
type tabs struct {
	t        *testing.T
	h        *serve.Host
	browser  browsers.Browser
	name, by string
	stalled  atomic.Int64 // How long the server was asked to stand still.
}

func (g *tabs) play() {
	t, urls := g.t, g.h.URLs()
	g.step("JavaScript", func() { g.javascript(urls[len(urls)-1]) })
	began := time.Now()
	ann, ben := browsers.OpenTab(t, g.browser, urls[0]+"?name=Ann"), browsers.OpenTab(t, g.browser, urls[len(urls)-1]+"?name=Ben")
	for _, page := range []*browsers.Tab{ann, ben} {
		until(t, "both see both", func() bool {
			p := read(t, page)
			return p.Connected && p.Own != "" && slices.Contains(p.Names, "Ann") && slices.Contains(p.Names, "Ben")
		})
		require.Equal(t, g.by, read(t, page).By)
	}
	p := read(t, ann)
	require.Equal(t, "Ann", p.Own)
	t.Logf("%s by %s: the own avatar is there after %d ms", g.name, p.By, p.FirstMs)
	t.Logf("%s, both are there: %.1f s", g.name, time.Since(began).Seconds())
	hears := ben
	if g.name == "chromium" { // Two of its pages without a graphics card have frames that are seconds apart on a busy machine: inputs come too late.
		ben.Close()
		hears = ann
	}
	g.step("keys", func() { g.keys(ann, hears, p) })
	if hears == ben {
		ben.Close()
	}
	g.step("sliders and buttons", func() { g.faults(ann) })
	g.step("gamepad and touch", func() { g.hands(ann) })
	if *shots != "" {
		ann.Shoot(filepath.Join(*shots, "brawl-"+g.name+".png"))
	}
	ann.Close()
}

// step does a step, and prints what it takes.
func (g *tabs) step(name string, do func()) {
	began := time.Now()
	do()
	g.t.Logf("%s, %s: %.1f s", g.name, name, time.Since(began).Seconds())
}

// keys: a machine without a graphics card has a frame a second when it is busy, so each of these waits for what comes in the end.
func (g *tabs) keys(ann, hears *browsers.Tab, p panel) {
	t := g.t
	until(t, "the own avatar is where the page says", func() bool { return ringAt(picture(t, ann), read(t, ann)) })
	hold(t, ann, "ArrowDown", "the avatar moves at the server", func() bool { return avatarAt(g.h, "Ann").Y > p.Y+4 })
	until(t, "the picture shows the avatar at its new place, which is the server's, and no longer at the old one", func() bool {
		now, img, is := read(t, ann), picture(t, ann), avatarAt(g.h, "Ann")
		return ringAt(img, now) && !ringAt(img, p) && rules.Length(is.X-now.X, is.Y-now.Y) < 0.1
	})
	hold(t, ann, "KeyF", "it shoots", func() bool { return read(t, ann).Shots > 1 })
	for _, key := range []string{"Enter", "KeyH", "KeyI", "Enter"} {
		typeKey(t, ann, key)
	}
	until(t, "the line arrives", func() bool { return slices.Contains(read(t, hears).Chat, "Ann: hi") })
}

// The picture of a page, and places in it: see overlay.go of package screen.
const (
	width, height, top, scale          = 960, 684, 44, 20
	delayY, jitterY, lossY             = 186, 216, 246
	sliderX, sliderEnd                 = 730, 870
	buttonY, moveX, napX, stallX       = 281, 660, 776, 890
	overlayLeft, overlayRight, figureY = 605, 720, 57
)

// faults drags the sliders and presses the buttons of F1.
func (g *tabs) faults(page *browsers.Tab) {
	t := g.t
	ann := func() panel { return read(t, page) }
	drag := func(y, part float64) {
		page.Mouse("mousemove", sliderX, y, width, height)
		frames(t, page)
		page.Mouse("mousedown", sliderX, y, width, height)
		frames(t, page)
		page.Mouse("mousemove", sliderX+part*(sliderEnd-sliderX), y, width, height)
		frames(t, page)
		page.Mouse("mouseup", sliderX+part*(sliderEnd-sliderX), y, width, height)
		frames(t, page)
	}
	click := func(x float64) {
		for _, event := range []string{"mousemove", "mousedown", "mouseup"} {
			page.Mouse(event, x, buttonY, width, height)
			frames(t, page)
		}
	}
	require.Zero(t, textAt(picture(t, page)))
	typeKey(t, page, "F1")
	until(t, "F1 shows figures", func() bool { return textAt(picture(t, page)) > 100 })
	drag(delayY, .5)
	require.InDelta(t, 150, ann().Delay, 10) // A pixel of a small window is some ms.
	if g.name == "firefox" {                 // Once is enough, and here frames come faster.
		drag(jitterY, .1)
		drag(lossY, .2)
		require.InDelta(t, 10, ann().Jitter, 4)
		require.InDelta(t, .1, ann().Loss, .02)
	}
	until(t, "the round trip is longer by the delay", func() bool { return ann().RTT > 250 })

	address := g.address("Ann")
	click(moveX)
	until(t, "the server sees another address", func() bool { return g.address("Ann") != address })
	y := avatarAt(g.h, "Ann").Y
	hold(t, page, "ArrowUp", "and the player plays on", func() bool { return avatarAt(g.h, "Ann").Y < y-3 })
	drag(delayY, 0)

	click(stallX)
	until(t, "the server stands still for a second", func() bool { return g.stalled.Load() == int64(time.Second) })
	until(t, "the client sleeps: the screen goes on, and the game does not", func() bool {
		click(napX)
		a := ann()
		for b, began := a, time.Now(); b.Steps == a.Steps; b = ann() {
			if b.Frames > a.Frames+1 && time.Since(began) > time.Second {
				return true
			}
		}
		return false
	})
	steps := ann().Steps
	until(t, "and wakes up", func() bool { return ann().Steps > steps+60 && ann().Connected })
	typeKey(t, page, "F1")
	until(t, "F1 hides them", func() bool { return textAt(picture(t, page)) == 0 })
}

// frames waits for a frame of a page that begins after the call.
func frames(t *testing.T, page *browsers.Tab) {
	n := read(t, page).Frames
	until(t, "a frame", func() bool { return read(t, page).Frames > n })
}

// address has the address of a player's session.
func (g *tabs) address(name string) (text string) {
	g.h.Loop.Do(func() {
		for id := range g.h.Match.Server.Clients {
			if strings.Contains(g.h.Match.Server.Identity(id), "\n"+name+"\n") {
				text = fmt.Sprint(extend.OfServer(g.h.Match.Server).Session(id))
			}
		}
	})
	return text
}

// textAt counts the white pixels of the first lines of F1.
func textAt(img image.Image) (count int) {
	x0, y0, zoom := fit(img)
	for y := figureY; y < figureY+48; y++ {
		for x := overlayLeft; x < overlayRight; x++ {
			if r, gr, b, _ := img.At(int(x0+float64(x)*zoom), int(y0+float64(y)*zoom)).RGBA(); min(r, gr, b) > 0xb000 {
				count++
			}
		}
	}
	return count
}

// hands plays by a gamepad that the page is given, and by two thumbs.
func (g *tabs) hands(page *browsers.Tab) {
	t := g.t
	y, fired := avatarAt(g.h, "Ann").Y, read(t, page).Shots
	page.Read(`(navigator.getGamepads = () => [{id: "pad", index: 0, mapping: "standard", connected: true, axes: [0, 1, 0, -1],
		buttons: Array.from({length: 17}, (_, i) => ({pressed: i === 7, value: i === 7 ? 1 : 0}))}], 1)`, new(int))
	until(t, "the stick moves, and the trigger shoots", func() bool { return avatarAt(g.h, "Ann").Y > y+3 && read(t, page).Shots > fired })
	page.Read("(navigator.getGamepads = () => [], 1)", new(int))
	frames(t, page)
	g.thumbs(page, "Ann", -1)
}

// thumbs moves by the left one, down or up for 1 or -1, and shoots by the right one.
func (g *tabs) thumbs(page *browsers.Tab, name string, way float64) {
	t := g.t
	from, fired := avatarAt(g.h, name), read(t, page).Shots
	page.Touch("touchstart", 0, 200, 520, width, height)
	frames(t, page)
	page.Touch("touchmove", 0, 200, 520+70*way, width, height)
	until(t, "the left thumb moves", func() bool { return float64(avatarAt(g.h, name).Y-from.Y)*way > 3 })
	page.Touch("touchend", 0, 200, 520+70*way, width, height)
	frames(t, page)
	page.Touch("touchstart", 1, 700, 600, width, height)
	frames(t, page)
	page.Touch("touchmove", 1, 760, 600, width, height)
	until(t, "the right thumb shoots", func() bool { return read(t, page).Shots > fired })
	page.Touch("touchend", 1, 760, 600, width, height)
	frames(t, page)
}

// javascript watches and plays by the page of the JavaScript client: a spectator sees a phone's avatar where the server has it.
func (g *tabs) javascript(url string) {
	t := g.t
	eve, dan := browsers.OpenTab(t, g.browser, url+"js/?name=Eve"), browsers.OpenTab(t, g.browser, url+"js/?play=1&name=Dan")
	until(t, "the spectator sees the player", func() bool { return slices.Contains(read(t, eve).Names, "Dan") && read(t, dan).Own == "Dan" })
	require.Empty(t, read(t, eve).Own)
	require.NotContains(t, read(t, dan).Names, "Eve")
	require.Equal(t, g.by, read(t, eve).By)
	from := avatarAt(g.h, "Dan")
	g.thumbs(dan, "Dan", 1)
	until(t, "the pictures show it at its new place", func() bool {
		is, p := avatarAt(g.h, "Dan"), read(t, dan)
		p.X, p.Y = is.X, is.Y
		seen := picture(t, eve)
		return ringAt(picture(t, dan), p) && discAt(seen, is) && !discAt(seen, from) && !ringAt(seen, p)
	})
	// All are ready, and the match begins: the spectator's page has loaded, too.
	dan.Read("(document.getElementById('ready').click(), 1)", new(int))
	until(t, "the match begins at the pages", func() bool { return read(t, dan).Phase == rules.Play && read(t, eve).Phase == rules.Play })
	if *shots != "" {
		dan.Shoot(filepath.Join(*shots, "brawl-js-"+g.name+".png"))
	}
	dan.Close()
	eve.Close()
}

// discAt reports whether an avatar's colour is in a picture at a place.
func discAt(img image.Image, at rules.Body) bool {
	x0, y0, zoom := fit(img)
	r, gr, b, _ := img.At(int(x0+float64(at.X)*scale*zoom), int(y0+(float64(at.Y)*scale+top+6)*zoom)).RGBA()
	c := [3]uint32{r >> 8, gr >> 8, b >> 8}
	return c == [3]uint32{0xff, 0x5a, 0x4d} || c == [3]uint32{0x3f, 0xa7, 0xff}
}

// fit places a game's picture in that of a page.
func fit(img image.Image) (x0, y0, zoom float64) {
	b := img.Bounds()
	zoom = min(float64(b.Dx())/width, float64(b.Dy())/height)
	return (float64(b.Dx()) - width*zoom) / 2, (float64(b.Dy()) - height*zoom) / 2, zoom
}

// hold holds a key until something holds. A browser may release keys when another window opens: it is pressed again.
func hold(t *testing.T, page *browsers.Tab, key, text string, holds func() bool) {
	until(t, text, func() bool {
		page.Key("keydown", key)
		return holds()
	})
	page.Key("keyup", key)
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

// typeKey presses and releases a key, in different frames of the page.
func typeKey(t *testing.T, page *browsers.Tab, code string) {
	key, letter := strings.CutPrefix(code, "Key")
	if letter {
		key = strings.ToLower(key)
	}
	for _, event := range []string{"keydown", "keyup"} {
		page.Letter(event, key, code)
		frames(t, page)
	}
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
	x0, y0, zoom := fit(img)
	cx, cy := float64(p.X)*scale, float64(p.Y)*scale+top
	white := 0
	for _, d := range [][2]float64{{15, 0}, {-15, 0}, {0, 15}, {0, -15}, {10.6, 10.6}, {-10.6, 10.6}, {10.6, -10.6}, {-10.6, -10.6}} {
		found := false
		for r := 0.85; r <= 1.15; r += 0.05 {
			red, green, blue, _ := img.At(int(x0+(cx+d[0]*r)*zoom), int(y0+(cy+d[1]*r)*zoom)).RGBA()
			found = found || red > 0x7000 && green > 0x7000 && blue > 0x7000 // In a small window the ring is a pixel wide, and lies between two.
		}
		if found {
			white++
		}
	}
	return white >= 5
}

// The clients fit into the goals that the README has.
func TestTheClientsSize(t *testing.T) {
	wasm, err := built()
	require.NoError(t, err)
	t.Logf("client.wasm: %d bytes, compressed", len(wasm))
	require.Less(t, len(wasm), 6_000_000)
	var packed bytes.Buffer
	w, plain := gzip.NewWriter(&packed), 0
	for _, pattern := range []string{"../../clients/js/src/*.js", "serve/js/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			plain += len(text)
			_, err = w.Write(text)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	t.Logf("the page in JavaScript: %d bytes, compressed, and %d plain", packed.Len(), plain)
	require.Less(t, packed.Len(), 130_000)
}

// A page says at which address another machine finds it.
func TestThePageSaysItsAddress(t *testing.T) {
	h, err := serve.New(serve.Options{Listen: ":0", WASM: []byte{}})
	require.NoError(t, err)
	defer h.Close()
	go h.Serve()
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

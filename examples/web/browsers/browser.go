package browsers

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// Browser is a headless browser, driven through a WebSocket: Chromium by the DevTools protocol, Firefox by WebDriver BiDi.
type Browser interface {
	// OpenPage opens a page in a window of its own, which therefore counts as visible, and returns its name.
	OpenPage(url string) (page string)
	ClosePage(page string)
	// Evaluate evaluates an expression whose value is a text.
	Evaluate(page, expression string) (text string)
	// Screenshot returns a picture as PNG in base64.
	Screenshot(page string) (data string)
}

// Open starts a browser. Pages of the trusted origins, as "http://192.168.0.7:8080", may do what else needs https.
type Open func(t *testing.T, trusted ...string) Browser

// All are the browsers in which games are played. Those print their log if loud is true.
func All(loud bool) map[string]Open {
	return map[string]Open{
		"Chromium": func(t *testing.T, trusted ...string) Browser { return openChromium(t, loud, trusted) },
		"Firefox":  func(t *testing.T, trusted ...string) Browser { return openFirefox(t, loud) },
	}
}

// find returns the path of a browser. Where it is missing the test is skipped, but not in CI on Linux: there it fails.
func find(t *testing.T, install string, names ...string) string {
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	if os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
		t.Fatalf("CI plays in a browser: apt-get install %s", install)
	}
	t.Skipf("no browser here: apt-get install %s, and run this test again", install)
	return ""
}

// driver is the WebSocket of a browser.
type driver struct {
	t      *testing.T
	socket *websocket.Conn
	serial int
}

// startDriver starts a browser and connects to the address that it prints behind a text.
func startDriver(t *testing.T, loud bool, says, path string, command ...string) *driver {
	// A shell ends the browser when its own input ends: at the end of the test, however this process ends.
	run := exec.Command("sh", append([]string{"-c", `"$@" & p=$!; read _; kill $p; for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $p || exit 0; sleep .3; done; kill -9 $p`, "sh"}, command...)...)
	run.Env = append(os.Environ(), "HOME="+t.TempDir())
	stderr, err := run.StderrPipe()
	require.NoError(t, err)
	input, err := run.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	d := &driver{t: t}
	t.Cleanup(func() {
		if d.socket != nil {
			_ = d.socket.CloseNow()
		}
		_ = input.Close()
		_ = run.Wait()
	})
	url := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, at, ok := strings.Cut(lines.Text(), says); ok {
				url <- at
			} else if loud {
				fmt.Fprintln(os.Stderr, lines.Text())
			}
		}
		close(url)
	}()
	at, ok := <-url
	require.True(t, ok, "the browser did not start")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d.socket, _, err = websocket.Dial(ctx, at+path, nil)
	require.NoError(t, err)
	d.socket.SetReadLimit(64 << 20)
	return d
}

// call calls a method of the protocol and waits for its result. more are fields beside the parameters.
func (d *driver) call(method string, params map[string]any, result any, more map[string]any) {
	d.serial++
	request := map[string]any{"id": d.serial, "method": method, "params": params}
	for field, value := range more {
		request[field] = value
	}
	text, err := json.Marshal(request)
	require.NoError(d.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(d.t, d.socket.Write(ctx, websocket.MessageText, text))
	for {
		_, text, err = d.socket.Read(ctx)
		require.NoError(d.t, err, method)
		var answer struct {
			ID     int
			Error  json.RawMessage
			Result json.RawMessage
		}
		require.NoError(d.t, json.Unmarshal(text, &answer))
		if answer.ID != d.serial {
			continue // an event
		}
		require.Empty(d.t, string(answer.Error), method+": "+string(text))
		if result != nil {
			require.NoError(d.t, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

// Tab is one page of a browser.
type Tab struct {
	Browser
	t    *testing.T
	page string
}

// OpenTab opens a page.
func OpenTab(t *testing.T, b Browser, url string) *Tab { return &Tab{b, t, b.OpenPage(url)} }

// Close closes the page.
func (p *Tab) Close() { p.ClosePage(p.page) }

// Read evaluates an expression of the page into a value; one that is not there leaves it as it is.
func (p *Tab) Read(expression string, into any) {
	text := p.Evaluate(p.page, "JSON.stringify("+expression+" ?? null)")
	require.NoError(p.t, json.Unmarshal([]byte(text), into))
}

// Key presses or releases a key, on the canvas of the game: that of the page, or that of Ebitengine behind it.
func (p *Tab) Key(event, key string) { p.Letter(event, key, key) }

// Letter is Key for a key whose text, as "a", is not its code, as "KeyA".
func (p *Tab) Letter(event, key, code string) {
	p.Evaluate(p.page, fmt.Sprintf("[...document.querySelectorAll('canvas')].at(-1).dispatchEvent(new KeyboardEvent(%q, {key: %q, code: %q, bubbles: true})), ''", event, key, code))
}

// Mouse dispatches an event of the left button at a place of the game's canvas, in pixels of a picture that is so wide and high and as large as fits
// into the canvas. kind is "mousedown", "mousemove" or "mouseup".
func (p *Tab) Mouse(kind string, x, y, width, height float64) {
	p.dispatch(fmt.Sprintf("new MouseEvent(%q, {bubbles: true, cancelable: true, button: 0, clientX: px(%f), clientY: py(%f)})", kind, x, y), width, height)
}

// Touch is Mouse for a finger; kind is "touchstart", "touchmove" or "touchend". Finger 0 is the first one. Pages get pointer events, too.
func (p *Tab) Touch(kind string, finger int, x, y, width, height float64) {
	points := "[]"
	if kind != "touchend" {
		points = fmt.Sprintf("[new Touch({identifier: %d, target: c, clientX: px(%f), clientY: py(%f)})]", finger, x, y)
	}
	p.dispatch(fmt.Sprintf("new TouchEvent(%q, {bubbles: true, cancelable: true, targetTouches: %s})", kind, points), width, height)
	pointer := map[string]string{"touchstart": "pointerdown", "touchmove": "pointermove", "touchend": "pointerup"}[kind]
	p.dispatch(fmt.Sprintf("new PointerEvent(%q, {bubbles: true, pointerId: %d, pointerType: 'touch', clientX: px(%f), clientY: py(%f)})", pointer, 2+finger, x, y), width, height)
}

// dispatch dispatches an event at the canvas c; px and py are the pixels of the page at a place of the picture.
func (p *Tab) dispatch(event string, width, height float64) {
	p.Evaluate(p.page, fmt.Sprintf(`(() => {
		const c = [...document.querySelectorAll('canvas')].at(-1), box = c.getBoundingClientRect(), zoom = Math.min(box.width / %[2]f, box.height / %[3]f)
		const px = (x) => box.left + (box.width - %[2]f * zoom) / 2 + x * zoom, py = (y) => box.top + (box.height - %[3]f * zoom) / 2 + y * zoom
		c.dispatchEvent(%[1]s)
		return ''
	})()`, event, width, height))
}

// Picture returns a picture of the page, as PNG in base64.
func (p *Tab) Picture() string { return p.Screenshot(p.page) }

// Shoot writes a picture of the page to a file.
func (p *Tab) Shoot(file string) {
	picture, err := base64.StdEncoding.DecodeString(p.Screenshot(p.page))
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(file, picture, 0o644))
}

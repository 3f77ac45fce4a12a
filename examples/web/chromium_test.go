package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium, driven by the DevTools protocol.
type browser struct {
	t      *testing.T
	socket *websocket.Conn
	serial int
}

// openBrowser starts Chromium. Where there is none it skips the test.
func openBrowser(t *testing.T) *browser {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium here: apt-get install chromium, and run: cd examples/web && go test .")
	}
	// A shell ends Chromium when its own input ends: at the end of the test, however this process ends.
	command := exec.Command("sh", "-c", `"$@" & p=$!; read _; kill $p; for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $p || exit 0; sleep .3; done; kill -9 $p`, "sh", path, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
		// A tab in the background plays on.
		"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
		"--user-data-dir="+t.TempDir(), "about:blank")
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	input, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	b := &browser{t: t}
	t.Cleanup(func() {
		if b.socket != nil {
			_ = b.socket.CloseNow()
		}
		_ = input.Close()
		_ = command.Wait()
	})
	url := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, at, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
				url <- at
			} else if *loud {
				fmt.Fprintln(os.Stderr, lines.Text())
			}
		}
		close(url)
	}()
	at, ok := <-url
	require.True(t, ok, "Chromium did not start")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b.socket, _, err = websocket.Dial(ctx, at, nil)
	require.NoError(t, err)
	b.socket.SetReadLimit(64 << 20)
	return b
}

// call calls a method of the protocol and waits for its result.
func (b *browser) call(session, method string, params map[string]any, result any) {
	b.serial++
	request := map[string]any{"id": b.serial, "method": method, "params": params}
	if session != "" {
		request["sessionId"] = session
	}
	text, err := json.Marshal(request)
	require.NoError(b.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(b.t, b.socket.Write(ctx, websocket.MessageText, text))
	for {
		_, text, err = b.socket.Read(ctx)
		require.NoError(b.t, err, method)
		var answer struct {
			ID     int
			Error  *struct{ Message string }
			Result json.RawMessage
		}
		require.NoError(b.t, json.Unmarshal(text, &answer))
		if answer.ID != b.serial {
			continue // an event
		}
		require.Nil(b.t, answer.Error, method)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

// tab is one page of it.
type tab struct {
	*browser
	session string
	target  string
}

// close closes the page.
func (p *tab) close() { p.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, nil) }

// open opens a page in a window of its own, which therefore counts as visible.
func (b *browser) open(url string) *tab {
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": url, "newWindow": true, "width": 860, "height": 740}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	return &tab{b, attached.SessionID, target.TargetID}
}

// panel is netcodePanel of the page.
type panel struct {
	By, Hash                   string
	Connected                  bool
	Tick                       int64
	Entities, Bodies, Replayed int
	OwnX, OwnY                 float32
	Failure                    string
}

// panel reads the page's figures; nil before the game draws.
func (p *tab) panel() *panel {
	var value struct{ Result struct{ Value *panel } }
	p.call(p.session, "Runtime.evaluate", map[string]any{"returnByValue": true,
		"expression": "globalThis.netcodeError ? {failure: netcodeError} : globalThis.netcodePanel ?? null"}, &value)
	if v := value.Result.Value; v != nil {
		require.Empty(p.t, v.Failure)
	}
	return value.Result.Value
}

// key presses or releases a key, on the canvas of the game: that of the page, or that of Ebitengine behind it.
func (p *tab) key(event, key string) {
	p.call(p.session, "Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("[...document.querySelectorAll('canvas')].at(-1).dispatchEvent(new KeyboardEvent(%q, {key: %q, code: %q, bubbles: true})); 0", event, key, key)}, nil)
}

// screenshot writes a picture of the page to a file.
func (p *tab) screenshot(file string) {
	var shot struct{ Data string }
	p.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(file, picture, 0o644))
}

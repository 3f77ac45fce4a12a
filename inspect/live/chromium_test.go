package live_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium, driven by the DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	serial  int
	session string
}

// openBrowser starts Chromium. Where there is none it skips the test.
func openBrowser(t *testing.T) *browser {
	path, err := exec.LookPath("chromium")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no Chromium here: apt-get install chromium")
	}
	in, to, err := os.Pipe()
	require.NoError(t, err)
	from, out, err := os.Pipe()
	require.NoError(t, err)
	// A shell ends Chromium when its own input ends: at the end of the test, however this process ends.
	command := exec.Command("sh", "-c", `"$@" <&- & p=$!; read _; kill $p; for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $p || exit 0; sleep .3; done; kill -9 $p`, "sh",
		path, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--remote-debugging-pipe", "--window-size=1400,1300", "--user-data-dir="+t.TempDir(), "about:blank")
	command.ExtraFiles = []*os.File{in, out}
	input, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	require.NoError(t, in.Close())
	require.NoError(t, out.Close())
	t.Cleanup(func() {
		_, _ = to.Close(), input.Close()
		_ = command.Wait()
		_ = from.Close()
	})
	return &browser{t: t, to: to, from: bufio.NewReaderSize(from, 1<<20)}
}

// call calls a method of the DevTools protocol.
func (b *browser) call(method string, params map[string]any) (result map[string]any) {
	b.t.Helper()
	b.serial++
	message := map[string]any{"id": b.serial, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(text, 0))
	require.NoError(b.t, err)
	for {
		text, err := b.from.ReadString(0)
		require.NoError(b.t, err, method)
		var answer struct {
			ID     int
			Result map[string]any
			Error  map[string]any
		}
		require.NoError(b.t, json.Unmarshal([]byte(strings.TrimSuffix(text, "\x00")), &answer))
		if answer.ID == b.serial {
			require.Nil(b.t, answer.Error, method)
			return answer.Result
		}
	}
}

// open opens a page.
func (b *browser) open(url string) {
	target := b.call("Target.createTarget", map[string]any{"url": url})
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
}

// evaluate returns the value of an expression of JavaScript.
func (b *browser) evaluate(expression string) any {
	b.t.Helper()
	answer := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	require.NotContains(b.t, answer, "exceptionDetails", "%s: %v", expression, answer["exceptionDetails"])
	return answer["result"].(map[string]any)["value"]
}

// until waits for an expression to be true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if b.evaluate(expression) == true {
			return
		}
		if time.Now().After(end) {
			require.Fail(b.t, "never true", "%s; the page is %v", expression, b.evaluate("document.body.innerText"))
		}
	}
}

// screenshot writes a picture of a size of the page, for the guide, with its 256 most frequent colours.
func (b *browser) screenshot(name string, width, height int) {
	answer := b.call("Page.captureScreenshot", map[string]any{"format": "png", "clip": map[string]any{"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
	data, err := base64.StdEncoding.DecodeString(answer["data"].(string))
	require.NoError(b.t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	require.NoError(b.t, err)
	counts, size := map[color.Color]int{}, picture.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() {
			counts[picture.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	smaller := image.NewPaletted(size, colours[:min(len(colours), 256)])
	draw.Draw(smaller, size, picture, image.Point{}, draw.Src)
	var out bytes.Buffer
	require.NoError(b.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, smaller))
	require.NoError(b.t, os.WriteFile(name, out.Bytes(), 0o644))
}

// Each panel of the page has figures of the running server in a real browser, they go on, the parts of the bytes on the page are what a
// tap below the server counted, a pause stops the page, and a search shows an entity.
func TestThePageInChromium(t *testing.T) {
	b := openBrowser(t)
	r := newRig(t, 2)
	matches := 0.0
	r.inspector.Figure("matches", func() float64 { matches++; return matches })
	url, stop, err := r.inspector.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	r.step(30)
	r.bodies(20)
	over, ended := make(chan bool), make(chan bool)
	go func() { // The server's loop runs, as fast as real time.
		defer close(ended)
		for ticker := time.NewTicker(time.Second / 60); ; {
			select {
			case <-over:
				return
			case <-ticker.C:
				r.step(1)
			}
		}
	}()
	defer func() { <-ended }()
	defer close(over)

	b.open(url)
	b.until(`document.readyState === "complete" && document.querySelectorAll("#clients tr").length === 2`)
	b.evaluate(`document.querySelector("#clients tr").click()`)
	for panel, pattern := range map[string]string{
		"clients": `127\.0\.0\.1:2.*\d+\.\d`, "ticktext": `p99 \d+\.\d+ ms.*capture [1-9].*inspector takes \d`, "bytetext": `[1-9]\d*\.\d+ kB/s out, \d+\.\d+ kB/s in`,
		"parts": `place delta[^%]*kB/s[^%]*%`, "following": `of client 1`, "packets": `place: \d+ rows, \d+ bits[^#]*#`, "counters": `Packets\.BytesSent\s+\d+\s+\+\d+`,
		"figures": `matches\s+\d+`, "predictions": `1\s+[1-9]\d*\s+\d+\s+\d+\s+\d+\s+21.*3v1: <b>place`, "bytelegend": `headers`, "ticklegend": `capture`,
	} {
		b.until(fmt.Sprintf(`/%s/s.test(document.getElementById(%q).innerText)`, strings.ReplaceAll(pattern, "/", `\/`), panel))
	}
	b.until(`[...document.querySelectorAll("#packets td")].some(cell => cell.innerText === "acknowledged")`)
	for _, plot := range []string{"tickplot", "byteplot", "packetplot"} {
		b.until(fmt.Sprintf(`(c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.filter((v, i) => i %% 4 === 3 && v > 0).length > 100)(document.getElementById(%q))`, plot))
	}

	b.evaluate(`document.getElementById("find").value = "7 health", document.querySelector("#search button").click()`)
	b.until(`/7v1.*health.*ticks old.*place.*by there is no policy.*weight 1.*seen by 2/s.test(document.getElementById("entities").innerText)`)
	for by, part := range map[string]string{"component": "place", "field": "place.X", "message": "message ping", "reason": "delta", "part": "place delta"} {
		b.evaluate(fmt.Sprintf(`(s => { s.value = %q; s.onchange(); })(document.getElementById("by"))`, by))
		b.until(fmt.Sprintf(`[...document.querySelectorAll("#parts td")].some(cell => cell.innerText === %q) && document.getElementById("bytelegend").innerText.includes("checksums")`, part))
		require.Equal(t, true, b.evaluate(`snapshots.every(h => Object.values(partsOf(h)).reduce((a, b) => a + b, 0) === 8 * h.bandwidth.out)`), by)
	}

	before := b.evaluate(`document.getElementById("moment").innerText`)
	b.until(fmt.Sprintf(`document.getElementById("moment").innerText !== %q`, before))
	b.evaluate(`document.getElementById("pause").click()`)
	paused := b.evaluate(`document.getElementById("moment").innerText`)
	count := b.evaluate(`snapshots.length`)
	b.until(fmt.Sprintf(`snapshots.length > %v + 3`, count))
	require.Equal(t, paused, b.evaluate(`document.getElementById("moment").innerText`))
	b.evaluate(`(s => { s.value = 0; s.oninput(); })(document.getElementById("scrub"))`)
	require.NotEqual(t, paused, b.evaluate(`document.getElementById("moment").innerText`), "it is scrubbed back")

	require.Equal(t, true, b.evaluate(`snapshots.every(h => Object.values(h.bandwidth.parts).reduce((a, b) => a + b, 0) === 8 * h.bandwidth.out)`))
	text, err := json.Marshal(b.evaluate(`snapshots.map(h => [h.number, h.at, h.bandwidth.out])`))
	require.NoError(t, err)
	var seen [][3]float64
	require.NoError(t, json.Unmarshal(text, &seen))
	done := make(chan []traffic)
	r.asks <- done
	totals := <-done
	compared := 0
	for n := 1; n < len(seen); n++ {
		if seen[n][0] == seen[n-1][0]+1 {
			require.Equal(t, totalAt(totals, seen[n][1]).out-totalAt(totals, seen[n-1][1]).out, uint64(seen[n][2]))
			compared++
		}
	}
	require.Positive(t, compared)
}

// TestThePicture makes the picture of the guide, of an inspector that runs: see .ci/pictures.
func TestThePicture(t *testing.T) {
	url, name := os.Getenv("INSPECTOR_URL"), os.Getenv("INSPECTOR_PICTURE")
	if url == "" || name == "" {
		t.Skip("INSPECTOR_URL and INSPECTOR_PICTURE are not set")
	}
	b := openBrowser(t)
	b.open(url)
	b.until(`document.querySelectorAll("#clients tr").length > 1`)
	b.evaluate(`document.querySelector("#clients tr").click()`)
	b.until(`snapshots.length > 120`)
	b.screenshot(name, 1380, 1000)
}

// TestThePictureOfAClient makes the picture of a client's page.
func TestThePictureOfAClient(t *testing.T) {
	url, name := os.Getenv("CLIENT_URL"), os.Getenv("CLIENT_PICTURE")
	if url == "" || name == "" {
		t.Skip("CLIENT_URL and CLIENT_PICTURE are not set")
	}
	b := openBrowser(t)
	b.open(url)
	b.until(`document.querySelectorAll("#fields tr").length > 0 && /kB.s in\s+\d/.test(document.getElementById("line").innerText)`)
	b.screenshot(name, 800, 720)
}

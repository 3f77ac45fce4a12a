package browsers

import (
	"strings"
	"testing"
)

// chromium is a Chromium, driven by the DevTools protocol.
type chromium struct {
	*driver
	sessions map[string]string // Of targets.
}

// openChromium starts Chromium.
func openChromium(t *testing.T, loud bool, trusted []string) Browser {
	path := find(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	d := startDriver(t, loud, "DevTools listening on ", "", path, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
		// A tab in the background plays on.
		"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
		"--unsafely-treat-insecure-origin-as-secure="+strings.Join(trusted, ","), "--user-data-dir="+t.TempDir(), "about:blank")
	return &chromium{d, map[string]string{}}
}

// OpenPage opens a page in a window.
func (c *chromium) OpenPage(url string) string {
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": url, "newWindow": true, "width": 500, "height": 460}, &target, nil)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached, nil)
	c.sessions[target.TargetID] = attached.SessionID
	return target.TargetID
}

// ClosePage closes it.
func (c *chromium) ClosePage(page string) {
	c.call("Target.closeTarget", map[string]any{"targetId": page}, nil, nil)
}

// Evaluate evaluates an expression.
func (c *chromium) Evaluate(page, expression string) string {
	var value struct{ Result struct{ Value string } }
	c.call("Runtime.evaluate", map[string]any{"returnByValue": true, "expression": expression}, &value, map[string]any{"sessionId": c.sessions[page]})
	return value.Result.Value
}

// Screenshot takes a picture.
func (c *chromium) Screenshot(page string) string {
	var shot struct{ Data string }
	c.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot, map[string]any{"sessionId": c.sessions[page]})
	return shot.Data
}

package browsers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// firefox is a Firefox, driven by WebDriver BiDi, which it speaks itself.
type firefox struct{ *driver }

// firefoxPreferences make a page in the background play on, WebGL work without a graphics card, and Firefox ask nobody but the page's server.
const firefoxPreferences = `
user_pref("dom.min_background_timeout_value", 4);
user_pref("dom.timeout.enable_budget_timer_throttling", false);
user_pref("webgl.force-enabled", true);
user_pref("dom.w3c_touch_events.enabled", 1);
user_pref("app.update.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
`

// openFirefox starts Firefox.
func openFirefox(t *testing.T, loud bool) Browser {
	path := find(t, "firefox-esr", "firefox-esr", "firefox")
	profile := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(firefoxPreferences), 0o600))
	command := []string{path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "about:blank"}
	if display, ok := Screen(t); ok { // Headless it has no WebGL without a graphics card.
		command = append([]string{"env", "DISPLAY=" + display, path}, command[2:]...)
	}
	d := startDriver(t, loud, "WebDriver BiDi listening on ", "/session", command...)
	d.call("session.new", map[string]any{"capabilities": map[string]any{}}, nil, nil)
	return &firefox{d}
}

// OpenPage opens a page in a window.
func (f *firefox) OpenPage(url string) string {
	var made struct{ Context string }
	f.call("browsingContext.create", map[string]any{"type": "window"}, &made, nil)
	f.call("browsingContext.navigate", map[string]any{"context": made.Context, "url": url, "wait": "none"}, nil, nil)
	return made.Context
}

// ClosePage closes it.
func (f *firefox) ClosePage(page string) {
	f.call("browsingContext.close", map[string]any{"context": page}, nil, nil)
}

// Evaluate evaluates an expression.
func (f *firefox) Evaluate(page, expression string) string {
	var value struct{ Result struct{ Value string } }
	f.call("script.evaluate", map[string]any{"expression": expression, "target": map[string]any{"context": page}, "awaitPromise": false}, &value, nil)
	return value.Result.Value
}

// Screenshot takes a picture.
func (f *firefox) Screenshot(page string) string {
	var shot struct{ Data string }
	f.call("browsingContext.captureScreenshot", map[string]any{"context": page}, &shot, nil)
	return shot.Data
}

package load

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// InspectorTicks returns a function for Options.Ticks that asks the page of inspect/live at a URL for the tick times of the
// server.
func InspectorTicks(url string) func() (TickTimes, error) {
	const most = 1 << 16
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	client := http.Client{Timeout: time.Second}
	return func() (t TickTimes, err error) {
		answer, err := client.Get(strings.TrimSuffix(url, "/") + "/ticks")
		if err != nil {
			return t, err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return t, fmt.Errorf("load: the inspector at %s answers %s: give the address of the page", url, answer.Status)
		}
		return t, json.NewDecoder(io.LimitReader(answer.Body, most)).Decode(&t)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/arche-netcode/netcode/internal/usage"
)

// TestMain lets the test's program be the far end, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == farCommand {
		if err := runFar(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Both servers bring the same world to their clients, which is verified, twice in one process.
func TestWorldIsVerified(t *testing.T) {
	for range 2 {
		var out bytes.Buffer
		if err := run([]string{"-json", "-e", "60", "-c", "3", "-frac", "0.2", "-t", "1ms"}, &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 {
			t.Fatal(out.String())
		}
		for i, line := range lines {
			var r result
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(line, err)
			}
			if r.Params["verified"] != true || r.Params["exact"] != (i == 0) || r.Value <= 0 || r.OK != nil {
				t.Error(line)
			}
			if more := r.Params["bytes_ratio"].(float64); more < 2 {
				t.Error("necs sends all of the world, of which a fifth moves:", line)
			}
			if r.Params["necs_allocs_per_tick"].(float64) < 60*3 {
				t.Error("necs allocates for each entity and client:", line)
			}
		}
	}
}

// A word behind the flags is refused, before anything is measured.
func TestWordsBehindTheFlagsAreRefused(t *testing.T) {
	var out bytes.Buffer
	err := run([]string{"-t", "1ms", "necs"}, &out)
	if err == nil || !strings.Contains(err.Error(), `"necs"`) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := run([]string{"-t", "long"}, &out); err == nil || !strings.Contains(err.Error(), "3s or 200ms") || usage.Status(err) != 2 {
		t.Error(err)
	}
}

// A body that is not what it should be is noticed.
func TestDigestTellsBodiesApart(t *testing.T) {
	a, b := newScene(combination{10, 1, 1}), newScene(combination{10, 1, 1})
	a.step()
	b.step()
	if a.digest() != b.digest() {
		t.Error("the same scene has two digests")
	}
	b.bodies[3], b.bodies[4] = b.bodies[4], b.bodies[3]
	if a.digest() == b.digest() {
		t.Error("two bodies that changed places are not noticed")
	}
}

// The version in the results is that of go.mod.
func TestVersionIsThatOfTheModule(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "leap-fish/necs " + necsVersion; !strings.Contains(string(text), want) {
		t.Errorf("go.mod does not say %q", want)
	}
}

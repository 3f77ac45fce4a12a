package switchoff

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// patience is the time that a test may run before it counts as one that does not end: the named ones take milliseconds, or a
	// few seconds where they play random games. All the named tests of a package are run in one go once, too.
	patience = 5 * time.Minute
	// buildPatience comes on top, for the go command itself.
	buildPatience = 5 * time.Minute
)

// outcome is the result of a test.
type outcome string

const (
	passed    outcome = "the test passes"
	failed    outcome = "the test fails"
	hung      outcome = "the test does not end"
	unbuilt   outcome = "it does not build"
	missing   outcome = "there is no such test"
	elsewhere outcome = "something else than the test fails"
)

// runner runs tests of one tree.
type runner struct {
	root     string
	patience time.Duration
}

// run runs tests of a folder, with the files of an overlay in place of those of the tree, and returns what was printed.
func (r *runner) run(t *testing.T, folder, pattern, args, overlay string) (output string, ok bool) {
	// Without inlining a package is built in two thirds of the time. It says the same with it and without.
	command := []string{"test", "-vet=off", "-gcflags=-l", "-ldflags=-s -w", "-count=1", "-v", "-run=" + pattern, "-timeout=" + r.patience.String()}
	if overlay != "" {
		command = append(command, "-overlay="+overlay)
	}
	command = append(append(command, "./"+filepath.ToSlash(folder)), strings.Fields(args)...)
	ctx, cancel := context.WithTimeout(t.Context(), r.patience+buildPatience)
	defer cancel()
	c := exec.CommandContext(ctx, "go", command...)
	c.Dir = r.root
	c.Env = append(c.Environ(), "GOFLAGS=") // what somebody has set for builds of his own says nothing here
	c.WaitDelay = time.Second
	printed, err := c.CombinedOutput()
	require.NoError(t, ctx.Err(), "the go command does not end: %s", printed)
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(t, err, &exit, "the go command: %s", printed)
	}
	return string(printed), err == nil
}

// judge says what became of a test, by what the go command printed.
func judge(output string, ok bool, test string) outcome {
	line := func(what string) bool {
		return regexp.MustCompile(`(?m)^ *` + what + ` ` + regexp.QuoteMeta(test) + `( |$)`).MatchString(output)
	}
	switch {
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return unbuilt
	case strings.Contains(output, "panic: test timed out after"):
		return hung
	case ok && line(`--- PASS:`):
		return passed
	case !ok && line(`--- FAIL:`):
		return failed
	case !line(`=== RUN  `):
		return missing
	}
	return elsewhere
}

// said is the first that a test said when it failed.
func said(output string) string {
	for _, mark := range []string{"Error:", "panic: "} {
		if _, what, found := strings.Cut(output, mark); found {
			what, _, _ = strings.Cut(what, "Test:")
			lines := strings.SplitN(what, "\n", 6)
			return mark + " " + strings.Join(strings.Fields(strings.Join(lines[:min(len(lines), 5)], " ")), " ")
		}
	}
	return "nothing"
}

// pattern is the -run of a test, which may be one within another.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// try runs the test of a mutation with the mutation in place.
func (r *runner) try(t *testing.T, m *mutation) (outcome, string) {
	files, err := m.mutated(r.root)
	require.NoError(t, err)
	folder, replace := t.TempDir(), map[string]string{}
	root, err := filepath.Abs(r.root)
	require.NoError(t, err)
	for file, source := range files {
		to := filepath.Join(folder, fmt.Sprintf("%d_%s", len(replace), filepath.Base(file)))
		require.NoError(t, os.WriteFile(to, []byte(source), 0o644))
		replace[filepath.Join(root, file)] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	list := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o644))
	output, ok := r.run(t, m.folder(), pattern(m.test), m.args, list)
	return judge(output, ok, m.test), output
}

// untouched runs the tests of all mutations of each package on the tree as it is, when the first of them is asked about, and
// holds that they pass.
type untouched map[tests]func(t *testing.T) (output string, ok bool)

// tests are those of a package that are run together.
type tests struct{ folder, args string }

func newUntouched(r *runner, all []mutation) untouched {
	functions := map[tests][]string{}
	for i := range all {
		function, _, _ := strings.Cut(all[i].test, "/")
		at := tests{all[i].folder(), all[i].args}
		functions[at] = append(functions[at], regexp.QuoteMeta(function))
	}
	u := untouched{}
	for at, names := range functions {
		var once sync.Once
		var output string
		var ok bool
		u[at] = func(t *testing.T) (string, bool) {
			once.Do(func() { output, ok = r.run(t, at.folder, "^("+strings.Join(names, "|")+")$", at.args, "") })
			return output, ok
		}
	}
	return u
}

func (u untouched) requirePass(t *testing.T, m *mutation) {
	output, ok := u[tests{m.folder(), m.args}](t)
	require.Equal(t, passed, judge(output, ok, m.test), "%s, with everything switched on:\n%s", m.test, output)
}

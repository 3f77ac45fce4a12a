package main

import (
	"bufio"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is the longest time that a test waits; it is no limit of speed.
const patience = 60 * time.Second

// TestMain lets more tests run at once than there are processors: most wait for real time.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// process is one arena process whose output is read line by line.
type process struct {
	name  string
	cmd   *exec.Cmd
	lines chan string
	seen  []string
}

// build makes the program once for all processes of a test.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "arena")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

func start(t *testing.T, name, binary, args string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(binary, strings.Fields(args)...), lines: make(chan string, 4096)}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = in.Close()
		if t.Failed() {
			t.Logf("--- %s\n%s", p.name, strings.Join(p.seen, "\n"))
		}
	})
	go func() {
		defer close(p.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			p.lines <- scan.Text()
		}
	}()
	return p
}

// wait reads on until a line matches, and gives the match with its groups.
func (p *process) wait(t *testing.T, pattern string) []string {
	t.Helper()
	want, late := regexp.MustCompile(pattern), time.After(patience)
	for {
		select {
		case line, open := <-p.lines:
			require.True(t, open, "%s ended before it said %q", p.name, pattern)
			p.seen = append(p.seen, line)
			if match := want.FindStringSubmatch(line); match != nil {
				return match
			}
		case <-late:
			require.FailNow(t, "never said", "%s: %q", p.name, pattern)
		}
	}
}

// end waits for the process and gives its exit status. Its last lines are in seen.
func (p *process) end(t *testing.T) int {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		err := p.cmd.Wait()
		_ = p.cmd.Stdout.(io.Closer).Close()
		done <- err
	}()
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, "does not end", p.name)
	}
	for line := range p.lines {
		p.seen = append(p.seen, line)
	}
	return p.cmd.ProcessState.ExitCode()
}

// final is the hash in the last line that has one.
func (p *process) final(t *testing.T) string {
	t.Helper()
	for i := len(p.seen) - 1; i >= 0; i-- {
		if match := regexp.MustCompile(`final +tick \d+ hash ([0-9a-f]{16})`).FindStringSubmatch(p.seen[i]); match != nil {
			return match[1]
		}
	}
	require.FailNow(t, "no final hash", p.name)
	return ""
}

// said counts the lines with a text.
func (p *process) said(text string) (n int) {
	for _, line := range p.seen {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	binary := build(t)
	t.Run("a client is killed and another comes", func(t *testing.T) {
		t.Parallel()
		testKilledClient(t, binary)
	})
	for _, loss := range []string{"0", "5", "40"} {
		t.Run("secure at "+loss+" % loss", func(t *testing.T) {
			t.Parallel()
			testSecure(t, binary, loss)
		})
	}
	t.Run("sabotage", func(t *testing.T) {
		t.Parallel()
		testSabotagedClient(t, binary)
	})
}

// interruptible skips a test that sends Ctrl-C where one process cannot send it to another.
func interruptible(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("one process cannot send Ctrl-C to another here")
	}
}

func testKilledClient(t *testing.T, binary string) {
	interruptible(t)
	// The silence is what the test waits for, and what a busy machine must not keep a living process from speaking for.
	server := start(t, "server", binary, "-listen 127.0.0.1:0 -entities 100 -silence 10s")
	connect := "-clients 1 -silence 60s -connect " + server.wait(t, `listening on (\S+)`)[1]

	stays, dies := start(t, "stays", binary, connect), start(t, "dies", binary, connect)
	for _, p := range []*process{stays, dies} {
		p.wait(t, `tick [1-9]\d* hash .* in step`)
	}
	require.NoError(t, dies.cmd.Process.Kill())
	server.wait(t, `client \d+ left: timed out`)
	comes := start(t, "comes", binary, connect+" -seed 2")
	comes.wait(t, `tick [1-9]\d* hash .* in step`)
	stays.wait(t, `in step`)

	require.NoError(t, server.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, server.end(t))
	require.Zero(t, stays.end(t))
	require.Zero(t, comes.end(t))
	require.Equal(t, server.final(t), stays.final(t))
	require.Equal(t, server.final(t), comes.final(t))
	require.Equal(t, 1, stays.said("connected"), "the one that stayed noticed nothing")
	require.Equal(t, 1, server.said("timed out"), "only the dead one was lost")
	require.Equal(t, 2, server.said("shutting down"), "the others were there to the end")
}

func testSabotagedClient(t *testing.T, binary string) {
	interruptible(t)
	server := start(t, "server", binary, "-listen 127.0.0.1:0 -entities 50 -loss 0 -rtt 10")
	connect := "-clients 1 -loss 0 -rtt 10 -connect " + server.wait(t, `listening on (\S+)`)[1]
	honest, altered := start(t, "honest", binary, connect), start(t, "altered", binary, connect+" -sabotage")
	for _, p := range []*process{honest, altered} {
		p.wait(t, `tick [1-9]\d* hash .* in step`)
	}
	require.NoError(t, server.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 1, altered.end(t))
	require.Equal(t, 1, server.end(t))
	require.Zero(t, honest.end(t))
	require.Positive(t, server.said("differs"))
	require.Positive(t, altered.said("differs"))
	require.NotEqual(t, server.final(t), altered.final(t))
	require.Equal(t, server.final(t), honest.final(t))
}

// Two processes over transport/secure converge, and one with another key does not come in.
func testSecure(t *testing.T, binary, loss string) {
	interruptible(t)
	common := " -loss " + loss + " -rtt 20 -jitter 5 -key " + strings.Repeat("5e", 32)
	server := start(t, "server", binary, "-listen 127.0.0.1:0 -entities 100"+common)
	at := " -connect " + server.wait(t, `listening on (\S+)`)[1]
	client := start(t, "client", binary, "-clients 2"+at+common)
	if loss == "0" {
		other := start(t, "other", binary, "-clients 1 -loss 0 -rtt 20"+at)
		other.wait(t, `left: `)
	}
	client.wait(t, `tick [1-9]\d* hash .* in step`)
	require.NoError(t, server.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, server.end(t))
	require.Zero(t, client.end(t))
	require.Equal(t, server.final(t), client.final(t))
	require.Equal(t, 2, server.said("connected"))
}

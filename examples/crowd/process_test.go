package main

import (
	"bufio"
	"flag"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is the longest time that a test waits; it is no limit of speed.
const patience = 60 * time.Second

// childVariable in its environment makes the test's own program the crowd.
const childVariable = "ARENA_CHILD"

// TestMain lets more tests run at once than there are processors: most wait for real time.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
	}
	_ = flag.Set("test.parallel", "16")
	os.Exit(m.Run())
}

// process is one crowd process whose output is read line by line.
type process struct {
	name  string
	cmd   *exec.Cmd
	lines chan string
	seen  []string
}

func start(t *testing.T, name, args string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(os.Args[0], strings.Fields(args)...), lines: make(chan string, 4096)}
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
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
	for _, loss := range []string{"0", "20"} {
		t.Run("secure at "+loss+" % loss", func(t *testing.T) {
			t.Parallel()
			testSecure(t, loss)
		})
	}
	t.Run("sabotage", func(t *testing.T) {
		t.Parallel()
		testSabotagedClient(t)
	})
}

// interruptible skips a test that sends Ctrl-C where one process cannot send it to another.
func interruptible(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("one process cannot send Ctrl-C to another here")
	}
}

func testSabotagedClient(t *testing.T) {
	interruptible(t)
	server := start(t, "server", "-listen 127.0.0.1:0 -entities 50 -loss 0 -rtt 10")
	connect := "-clients 1 -loss 0 -rtt 10 -connect " + server.wait(t, `listening on (\S+)`)[1]
	honest, altered := start(t, "honest", connect), start(t, "altered", connect+" -sabotage")
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
func testSecure(t *testing.T, loss string) {
	interruptible(t)
	common := " -loss " + loss + " -rtt 20 -jitter 5 -key " + strings.Repeat("5e", 32)
	server := start(t, "server", "-listen 127.0.0.1:0 -entities 100"+common)
	at := " -connect " + server.wait(t, `listening on (\S+)`)[1]
	other := start(t, "other", "-clients 1 -loss 0 -rtt 20"+at)
	other.wait(t, `.`) // it runs before the others start
	client := start(t, "client", "-clients 2"+at+common)
	client.wait(t, `tick [1-9]\d* hash .* in step`)
	require.NoError(t, other.cmd.Process.Kill())
	other.end(t)
	require.Zero(t, other.said("connected"))
	require.NoError(t, server.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, server.end(t))
	require.Zero(t, client.end(t))
	require.Equal(t, server.final(t), client.final(t))
	require.Equal(t, 2, server.said("connected"))
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/transport/udp"
)

// patience is the longest time that a test waits; it is no limit of speed.
const patience = 60 * time.Second

const asChat = "NETCODE_TEST_RUNS_CHAT"

// TestMain lets this test program be the chat, so that one can be killed.
func TestMain(m *testing.M) {
	if os.Getenv(asChat) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// end is one running chat, server or client, in a process of its own.
type end struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	seen  []string
}

func start(t *testing.T, name string, args ...string) *end {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes and no sockets here")
	}
	e := &end{t: t, name: name, cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 1024)}
	e.cmd.Env = append(os.Environ(), asChat+"=1")
	var err error
	e.in, err = e.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := e.cmd.StdoutPipe()
	require.NoError(t, err)
	e.cmd.Stderr = e.cmd.Stdout
	require.NoError(t, e.cmd.Start())
	t.Cleanup(func() {
		_ = e.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("--- %s\n%s", e.name, strings.Join(e.seen, "\n"))
		}
	})
	go func() {
		defer close(e.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			e.lines <- scan.Text()
		}
	}()
	return e
}

// types writes a line, as somebody would.
func (e *end) types(line string) {
	e.t.Helper()
	_, err := io.WriteString(e.in, line+"\n")
	require.NoError(e.t, err)
}

// sees waits for a line.
func (e *end) sees(want string) {
	e.t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case line, more := <-e.lines:
			require.True(e.t, more, "%s ended before it printed %q", e.name, want)
			e.seen = append(e.seen, line)
			if strings.HasPrefix(line, want) {
				return
			}
		case <-deadline:
			require.Fail(e.t, "nothing came", "%s never printed %q", e.name, want)
		}
	}
}

// ends waits until the process is over, and tells if it went well.
func (e *end) ends() error {
	for line := range e.lines {
		e.seen = append(e.seen, line)
	}
	return e.cmd.Wait()
}

func (e *end) never(what string) {
	e.t.Helper()
	for _, line := range e.seen {
		require.NotContains(e.t, line, what, e.name)
	}
}

// Several people talk through real sockets: rooms keep to themselves, names stay unique, one is killed and missed, one comes
// late, and one says goodbye.
func TestPeopleTalk(t *testing.T) {
	server := start(t, "server", "-listen", "127.0.0.1:0", "-silence", "2s")
	server.sees("listening on ")
	address := strings.TrimPrefix(server.seen[0], "listening on ")
	join := func(name, room string) *end {
		e := start(t, name, "-connect", address, "-name", name, "-room", room, "-silence", "2s")
		e.sees("* " + name)
		return e
	}
	ana := join("ana", "lobby")
	bo := join("bo", "lobby")
	ana.sees("* bo joined lobby")
	cy := join("cy", "attic")
	again := start(t, "ana again", "-connect", address, "-name", "ana", "-silence", "2s")
	again.sees("* ana2 joined lobby")

	ana.types("hello, “all” \x1b[2J")
	for _, e := range []*end{ana, bo, again} {
		e.sees("[lobby] ana: hello, “all” [2J")
	}
	bo.types("@bot count")
	ana.sees("[lobby] bot: 3 in lobby")
	bo.types("/join attic")
	cy.sees("* bo joined attic")
	ana.sees("* bo went to attic")
	bo.types("psst")
	cy.sees("[attic] bo: psst")
	cy.types("/nick cyrus")
	bo.sees("* cy is now cyrus")
	cy.types("/who")
	cy.sees("* in attic: bo, cyrus")
	cy.types("/who cellar")
	cy.sees(`! netcode: `)
	cy.types("/dance")
	cy.sees("! there are /join ROOM")

	require.NoError(t, bo.cmd.Process.Kill()) // no goodbye: silence alone tells
	cy.sees("* bo left (")
	late := join("dora", "attic")
	cy.sees("* dora joined attic")
	late.types("/who")
	late.sees("* in attic: cyrus, dora")
	late.never("psst")
	cy.types("last words")
	require.NoError(t, cy.in.Close())
	late.sees("[attic] cyrus: last words")
	late.sees("* cyrus left (")
	require.NoError(t, cy.ends())
	ana.types("/who")
	ana.sees("* in lobby: ana, ana2")
	ana.never("psst")

	require.NoError(t, server.cmd.Process.Kill())
	require.Error(t, ana.ends(), "a server that is gone is no good end")
}

func TestOneEndOrTheOther(t *testing.T) {
	for _, args := range [][]string{{}, {"-listen", "127.0.0.1:0", "-connect", "127.0.0.1:1"}, {"-connect", "no port"}, {"-what"}} {
		require.Error(t, run(context.Background(), args, strings.NewReader(""), &bytes.Buffer{}), args)
	}
}

func TestCleanIsSafeToPrint(t *testing.T) {
	require.Equal(t, "a [31mb", clean(" a \x1b[31mb\n\xff ", 100))
	require.Equal(t, "ab", word(" a b\t"))
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "limit")
		got := clean(text, limit)
		require.LessOrEqual(t, len(got), limit)
		require.Equal(t, got, clean(got, limit))
		require.NotContains(t, got, "\x1b")
	})
}

func TestNamesAreUnique(t *testing.T) {
	h := &hall{members: map[netcode.ClientID]*member{1: {name: "ana"}, 2: {name: "ana2"}, 3: {name: strings.Repeat("x", maxName)}}}
	require.Equal(t, "bo", h.free("bo"))
	require.Equal(t, "ana3", h.free("ana"))
	require.Equal(t, "guest", h.free(""))
	require.Equal(t, "bot2", h.free(botName), "nobody is taken for the bot")
	long := h.free(strings.Repeat("x", maxName))
	require.Equal(t, strings.Repeat("x", maxName-4)+"2", long)
}

// A server in clear does not listen where the internet may reach it, and says so by an error.
func TestAPublicServerInClearIsAnError(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	socket, err := udp.Listen(":0", udp.Config{})
	require.NoError(t, err)
	defer socket.Close()
	var refused *netcode.PlainError
	require.ErrorAs(t, serve(context.Background(), socket, netcode.Config{}, io.Discard), &refused)
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
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

// end is one running chat, server or client.
type end struct {
	t     *testing.T
	name  string
	in    io.WriteCloser
	lines chan string
	seen  []string
	kill  func()       // It says no goodbye.
	wait  func() error // Until it has ended.
}

// read takes in what an end prints.
func (e *end) read(out io.Reader) {
	e.t.Cleanup(func() {
		if e.t.Failed() {
			e.t.Logf("--- %s\n%s", e.name, strings.Join(e.seen, "\n"))
		}
	})
	go func() {
		defer close(e.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			e.lines <- scan.Text()
		}
	}()
}

// startProcess starts a chat in a process of its own.
func startProcess(t *testing.T, name string, args ...string) *end {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes and no sockets here")
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asChat+"=1")
	e := &end{t: t, name: name, lines: make(chan string, 1024), kill: func() { _ = cmd.Process.Kill() }, wait: cmd.Wait}
	var err error
	e.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(e.kill)
	e.read(out)
	return e
}

// cable is an end of a network in memory that goroutines share, and that may be cut.
type cable struct {
	*memory.Conn
	mu  *sync.Mutex // Of the network.
	cut bool
}

func (c *cable) Send(to transport.Addr, datagram []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil
	}
	return c.Conn.Send(to, datagram)
}

func (c *cable) Receive(buf []byte) (int, transport.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return 0, transport.Addr{}, nil
	}
	return c.Conn.Receive(buf)
}

// hotel runs chats in goroutines, on virtual time.
type hotel struct {
	t       *testing.T
	network *memory.Network
	mu      sync.Mutex
}

// start runs a chat.
func (h *hotel) start(name, address string, run func(ctx context.Context, socket transport.Conn, in io.Reader, out io.Writer) error) *end {
	ctx, stop := context.WithCancel(h.t.Context())
	h.mu.Lock()
	conn, err := h.network.Listen(transport.MustParseAddr(address))
	h.mu.Unlock()
	require.NoError(h.t, err)
	socket := &cable{Conn: conn, mu: &h.mu}
	in, typed := io.Pipe()
	printed, out := io.Pipe()
	ended := make(chan error, 1)
	e := &end{t: h.t, name: name, in: typed, lines: make(chan string, 1024), wait: func() error { return <-ended }}
	e.kill = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		socket.cut = true
		stop()
	}
	e.read(printed)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ended <- run(ctx, socket, in, out)
		_, _ = in.Close(), out.Close()
	}()
	h.t.Cleanup(func() { e.kill(); <-over })
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
	return e.wait()
}

func (e *end) never(what string) {
	e.t.Helper()
	for _, line := range e.seen {
		require.NotContains(e.t, line, what, e.name)
	}
}

// Several people talk: rooms keep to themselves, names stay unique, one is killed and missed, one comes late, and one says goodbye.
func TestPeopleTalk(t *testing.T) { synctest.Test(t, peopleTalk) }

func peopleTalk(t *testing.T) {
	h, config, port := &hotel{t: t, network: memory.NewNetwork()}, netcode.Config{TickRate: framesPerSecond, SilenceTimeout: 10 * time.Second}, 9000
	server := h.start("server", "127.0.0.1:9000", func(ctx context.Context, socket transport.Conn, _ io.Reader, out io.Writer) error {
		return serve(ctx, socket, config, "", out)
	})
	server.sees("listening on 127.0.0.1:9000")
	enter := func(name, room string) *end {
		port++
		return h.start(name, fmt.Sprint("127.0.0.1:", port), func(ctx context.Context, socket transport.Conn, in io.Reader, out io.Writer) error {
			return talk(ctx, socket, "127.0.0.1:9000", config, &Line{Name: name, Room: room}, "", in, out)
		})
	}
	join := func(name, room string) *end {
		e := enter(name, room)
		e.sees("* " + name)
		return e
	}
	ana := join("ana", "lobby")
	bo := join("bo", "lobby")
	ana.sees("* bo joined lobby")
	cy := join("cy", "attic")
	again := enter("ana", "")
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

	bo.kill() // no goodbye: silence alone tells
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

	server.kill()
	require.Error(t, ana.ends(), "a server that is gone is no good end")
}

// The program talks through real sockets.
func TestProcessesTalk(t *testing.T) {
	server := startProcess(t, "server", "-listen", "127.0.0.1:0", "-silence", "1h", "-inspect", "127.0.0.1:0")
	server.sees("listening on ")
	server.sees("look inside at http://127.0.0.1:")
	join := func(name string) *end {
		return startProcess(t, name, "-connect", strings.TrimPrefix(server.seen[0], "listening on "), "-name", name, "-silence", "1h", "-inspect", "127.0.0.1:0")
	}
	ana := join("ana")
	ana.sees("look inside at http://127.0.0.1:")
	ana.sees("* ana joined lobby")
	bo := join("bo")
	ana.sees("* bo joined lobby")
	bo.types("hello")
	ana.sees("[lobby] bo: hello")
	require.NoError(t, bo.in.Close())
	ana.sees("* bo left (")
	require.NoError(t, bo.ends())
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
	var refused *errs.PlainError
	require.ErrorAs(t, serve(context.Background(), socket, netcode.Config{}, "", io.Discard), &refused)
}

package main

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

// patience is the longest time that the test waits; it is no limit of speed.
const patience = 60 * time.Second

// lines is a log that may be looked at while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// find returns what the pattern's last match has in parentheses.
func (l *lines) find(pattern string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(l.text.String(), -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

func (l *lines) await(t *testing.T, pattern string) string {
	t.Helper()
	require.Eventually(t, func() bool { return l.find(pattern) != "" }, patience, 10*time.Millisecond, pattern)
	return l.find(pattern)
}

// A server and two clients over UDP: avatars move by what their clients steer, messages go both ways, and who leaves is gone.
func TestFirstGame(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	said := &lines{}
	defer log.SetOutput(log.Writer())
	log.SetOutput(said)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 3)
	go func() { ended <- serve(ctx, "127.0.0.1:0", "127.0.0.1:0") }()
	address := said.await(t, `listening on (\S+)`)
	page, err := http.Get(said.await(t, `look inside at (\S+)`))
	require.NoError(t, err)
	require.NoError(t, page.Body.Close())
	require.Equal(t, http.StatusOK, page.StatusCode)

	leaving, leave := context.WithCancel(ctx)
	defer leave()
	go func() { ended <- play(leaving, strings.Replace(address, "127.0.0.1", "localhost", 1), "") }()
	said.await(t, `server: client (1) shouts "hello"`)
	said.await(t, `client: (5) points`)
	require.Eventually(t, func() bool {
		x, _ := strconv.ParseFloat(said.find(`client: an entity at ([0-9.]+), 0.0`), 64)
		return x > 10
	}, patience, 10*time.Millisecond, "what it steers moves")

	leave()
	require.NoError(t, <-ended)
	said.await(t, `server: client (1) is gone: closed`)
	go func() { ended <- play(ctx, address, "") }()
	said.await(t, `server: client (2) shouts`)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
}

// Where no connection comes about, that is an error, which main exits with 1 for.
func TestNoConnectionIsAnError(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	defer log.SetOutput(log.Writer())
	log.SetOutput(&lines{})
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	other, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{}) // of another game: it refuses at once
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- systems.NewRunner(nil, systems.NewServer(other, socket, systems.WallClock()), 60).Run(ctx)
	}()
	err = play(ctx, socket.LocalAddr().String(), "")
	require.ErrorIs(t, err, errs.ReasonWrongProtocol)
	require.ErrorContains(t, err, "no connection to 127.0.0.1")
	stop()
	require.NoError(t, <-ended)
}

func TestWrongAddressesAreErrors(t *testing.T) {
	require.Error(t, play(context.Background(), "nowhere", ""))
	if runtime.GOOS != "js" && runtime.GOOS != "wasip1" {
		require.Error(t, serve(context.Background(), "nowhere", ""))
	}
}

// A page that cannot be shown is told before the server says that it listens.
func TestAWrongPageIsToldFirst(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	said := &lines{}
	defer log.SetOutput(log.Writer())
	log.SetOutput(said)
	require.ErrorContains(t, serve(context.Background(), "127.0.0.1:0", "nowhere"), "inspector")
	require.ErrorContains(t, play(context.Background(), "127.0.0.1:9", "nowhere"), "inspector")
	require.Empty(t, said.find("(listening)"))
}

// The flags that do not go together are wrong usage.
func TestFlagsThatDoNotGoTogether(t *testing.T) {
	for _, f := range []struct {
		listen, connect string
		fine            bool
	}{
		{listen: "here", fine: true}, {connect: "there", fine: true}, {}, {listen: "here", connect: "there"},
	} {
		require.Equal(t, f.fine, usageError(f.listen, f.connect) == "", "%+v", f)
	}
}

// A server in clear does not listen where the internet may reach it, and says so by an error.
func TestAPublicServerInClearIsAnError(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	var refused *errs.PlainError
	require.ErrorAs(t, serve(context.Background(), ":0", ""), &refused)
}

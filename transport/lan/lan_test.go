package lan_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport/lan"
)

// A game is found with all that it announces, and told of again when it has changed.
func TestAGameIsFound(t *testing.T) {
	games := make(chan lan.Game, 4)
	players := make(chan uint16, 1)
	players <- 1
	a, err := lan.Announce(0, func() lan.Game {
		n := <-players
		players <- n
		return lan.Game{Name: "Ann's arena", Join: "http://192.168.0.7:8080/", Players: n, Places: 16, Protocol: 0x123456789abcdef0}
	})
	require.NoError(t, err)
	defer a.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- lan.Find(ctx, a.Port(), func(g lan.Game) { games <- g }) }()
	first := <-games
	require.Equal(t, lan.Game{Name: "Ann's arena", Join: "http://192.168.0.7:8080/", Players: 1, Places: 16, Protocol: 0x123456789abcdef0}, first)
	<-players
	players <- 2
	require.EqualValues(t, 2, (<-games).Players)
	cancel()
	require.NoError(t, <-done)
	require.Empty(t, games)
}

// Only a whole question gets an answer, which is never longer.
func TestOnlyQuestionsAreAnswered(t *testing.T) {
	a, err := lan.Announce(0, func() lan.Game { return lan.Game{Name: "x", Join: strings.Repeat("j", lan.MaxJoin)} })
	require.NoError(t, err)
	defer a.Close()
	socket, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(a.Port())})
	require.NoError(t, err)
	defer socket.Close()
	ask := make([]byte, 200)
	copy(ask, "netcode lan ?\x01")
	wrong := append([]byte(nil), ask...)
	wrong[0] = 'N'
	for _, datagram := range [][]byte{{}, ask[:14], ask[:199], append(ask, 0), wrong, ask} { // The last one is right.
		_, err = socket.Write(datagram)
		require.NoError(t, err)
	}
	buffer := make([]byte, 2000)
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(time.Minute)))
	n, err := socket.Read(buffer)
	require.NoError(t, err)
	require.LessOrEqual(t, n, 200)
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = socket.Read(buffer)
	require.Error(t, err, "one answer")
}

// One machine that announces games without end fills no memory: at most MaxGames are told of.
func TestGamesAreBounded(t *testing.T) {
	socket, err := net.ListenUDP("udp4", nil)
	require.NoError(t, err)
	defer socket.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		var buffer [300]byte
		_, from, err := socket.ReadFromUDPAddrPort(buffer[:])
		for i := 0; err == nil && ctx.Err() == nil; i++ {
			g := lan.Game{Join: fmt.Sprint("game ", i%(2*lan.MaxGames)), Players: uint16(i / (20 * lan.MaxGames))}
			_, err = socket.WriteToUDPAddrPort(g.Append(nil), from)
			time.Sleep(50 * time.Microsecond)
		}
	}()
	games := map[string]bool{}
	require.NoError(t, lan.Find(ctx, socket.LocalAddr().(*net.UDPAddr).AddrPort().Port(), func(g lan.Game) {
		games[g.Join] = true
		if g.Players > 0 { // All have been announced several times.
			cancel()
		}
	}))
	require.Len(t, games, lan.MaxGames)
}

// Names are cut at a whole character; a Join that is too long is not announced.
func TestLongTexts(t *testing.T) {
	g := lan.Game{Name: "x" + strings.Repeat("é", 30), Join: "here"}
	read, err := lan.Parse(g.Append(nil))
	require.NoError(t, err)
	require.Equal(t, "x"+strings.Repeat("é", 19), read.Name)
	g.Join = strings.Repeat("x", lan.MaxJoin+1)
	_, err = lan.Parse(g.Append(nil))
	require.ErrorIs(t, err, lan.ErrMalformed)
}

func FuzzParse(f *testing.F) {
	for _, g := range []lan.Game{{Join: "a"}, {Name: "é", Join: "192.0.2.1:1", Players: 3, Places: 9, Protocol: 1 << 60}, {Name: strings.Repeat("n", lan.MaxName), Join: strings.Repeat("j", lan.MaxJoin)}} {
		f.Add(g.Append(nil))
	}
	f.Fuzz(func(t *testing.T, datagram []byte) {
		g, err := lan.Parse(datagram)
		if err != nil {
			require.Equal(t, lan.Game{}, g)
			return
		}
		require.LessOrEqual(t, len(g.Name), lan.MaxName)
		require.Equal(t, datagram, g.Append(nil), "one datagram for each game")
	})
}

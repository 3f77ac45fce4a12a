package guide_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// begin guide
func publicServer(listen, public, keyFile string, protocol *netcode.Protocol, world *ecs.World) (*systems.Runner, *secure.Server, error) {
	key, err := secure.ReadKey(keyFile)
	if err != nil {
		return nil, nil, err
	}
	socket, err := udp.Listen(listen, udp.Config{}) // ":9000"
	if err != nil {
		return nil, nil, err
	}
	conn, err := secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens(public)}) // "play.example.org:9000"
	if err != nil {
		return nil, nil, errors.Join(err, socket.Close())
	}
	server, err := netcode.NewServer(protocol, netcode.Config{})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	server.OnConnect(func(client netcode.ClientID) {
		user, data, _ := server.Proved(client)
		log.Printf("client %d is %s, %s", client, user, data)
	})
	return systems.NewRunner(world, systems.NewServer(server, conn, systems.WallClock()), 60), conn, nil
}

// end guide

// begin guide
func restartable(protocol *netcode.Protocol, secretFile string) (*netcode.Server, error) {
	secret, err := os.ReadFile(secretFile) // any 32 bytes or more that only the server reads
	if err != nil || len(secret) < 32 {
		return nil, errors.Join(err, errors.New("the secret of resets needs 32 bytes"))
	}
	return netcode.NewServer(protocol, netcode.Config{ResetKey: sha256.Sum256(secret)})
}

// end guide

func TestARestartableServerNeedsItsSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	_, err := restartable(netcode.NewProtocol(), file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, make([]byte, 31), 0o600))
	_, err = restartable(netcode.NewProtocol(), file)
	require.ErrorContains(t, err, "32 bytes")
	require.NoError(t, os.WriteFile(file, make([]byte, 32), 0o600))
	s, err := restartable(netcode.NewProtocol(), file)
	require.NoError(t, err)
	require.NotZero(t, s.Config().ResetKey)
}

// begin guide
func playerSocket(token []byte) (*secure.Client, string, error) {
	servers, err := secure.TokenServers(token) // "play.example.org:9000"
	if err != nil {
		return nil, "", err
	}
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return nil, "", err
	}
	conn, err := secure.Dial(socket, secure.ClientConfig{Token: token})
	return conn, servers[0], err
}

// end guide

// begin guide
func bounds(server *netcode.Server, inLAN func(transport.Addr) bool, report func(error)) {
	server.OnConnect(func(client netcode.ClientID) {
		if stats, ok := server.ClientStats(client); ok && inLAN(stats.Address) {
			report(server.SetBudget(client, 1<<20)) // bytes a second, at most
		} else {
			report(server.SetPacketSize(client, 1000)) // bytes of a packet, at most: its path may take less
		}
	})
	server.OnMigrate(func(client netcode.ClientID, _, to transport.Addr) { // the same session, id and entities
		if !inLAN(to) {
			report(server.SetBudget(client, 0)) // that of Config.SendBudget again
		}
	})
}

// end guide

// Each call is legal when it is made; others than those of the LAN have small packets.
func TestBounds(t *testing.T) {
	for _, lan := range []bool{true, false} {
		n := nettest.New(t, nettest.Config{Protocol: protocol(), Clients: 1})
		var home transport.Addr
		bounds(n.Server.Server, func(a transport.Addr) bool {
			if home == (transport.Addr{}) {
				home = a
			}
			return lan && a == home
		}, func(err error) { require.NoError(t, err) })
		require.True(t, n.RunUntil(5*time.Second, n.Connected))
		n.Run(time.Second)
		session := extend.OfServer(n.Server).Session(n.Clients[0].ID())
		require.Equal(t, map[bool]int{true: 1200, false: 1000}[lan], session.PacketSize())
		n.Rebind(n.Clients[0])
		n.Run(2 * time.Second)
		require.EqualValues(t, 1, n.Server.Stats().Migrated)
		stats, _ := n.Server.ClientStats(n.Clients[0].ID())
		require.NotEqual(t, home, stats.Address)
	}
}

// begin guide
// backend hands a connect token to each player who is logged in: POST /join.
func backend(key secure.Key, server string, login func(*http.Request) (user string, ok bool)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /join", func(w http.ResponseWriter, r *http.Request) {
		user, ok := login(r)
		if !ok {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		token, err := secure.Issue(key, secure.Token{
			User:    user,
			Servers: []string{server},
			Expires: time.Now().Add(time.Minute),
			Data:    []byte("red team"),
		})
		if err != nil {
			log.Print("issuing a token: ", err)
			http.Error(w, "try again later", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(token)
	})
	return mux
}

// end guide

func TestAPlayerJoinsAPublicServerWithATokenOfTheBackend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.key")
	key := secure.Key{1, 2, 3}
	require.NoError(t, writeKey(file, key))
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	serverWorld, clientWorld := ecs.New(), ecs.New()
	port := freePort(t)
	runner, conn, err := publicServer(":"+port, "127.0.0.1:"+port, file, protocol, serverWorld)
	require.NoError(t, err)
	defer conn.Close()
	web := httptest.NewTLSServer(backend(key, "127.0.0.1:"+port, func(r *http.Request) (string, bool) {
		return r.Header.Get("User"), r.Header.Get("User") != ""
	}))
	defer web.Close()
	_, status := askToken(t, web, "")
	require.Equal(t, http.StatusUnauthorized, status)
	token, status := askToken(t, web, "ada")
	require.Equal(t, http.StatusOK, status)

	socket, address, err := playerSocket(token)
	require.NoError(t, err)
	to, err := udp.Resolve(address)
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol, netcode.Config{HandshakeTimeout: time.Minute})
	require.NoError(t, err)
	player := systems.NewRunner(clientWorld, systems.NewClient(client, socket, systems.WallClock()), 60)
	defer socket.Close()
	require.NoError(t, client.Connect(to))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil && client.State() != netcode.Connected {
		runner.Step()
		player.Step()
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, netcode.Connected, client.State(), socket.Err())
	user, data, ok := conn.Proved(transport.Addr{Key: 1}) // The first session.
	require.True(t, ok)
	require.Equal(t, "ada", user)
	require.Equal(t, "red team", string(data))
}

func askToken(t *testing.T, web *httptest.Server, user string) ([]byte, int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/join", nil)
	require.NoError(t, err)
	if user != "" {
		r.Header.Set("User", user)
	}
	answer, err := web.Client().Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return b, answer.StatusCode
}

func writeKey(file string, key secure.Key) error {
	return os.WriteFile(file, []byte(key.Text()+"\n"), 0o600)
}

// freePort is a port of UDP that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	defer socket.Close()
	return fmt.Sprint(socket.LocalAddr().IP.Port())
}

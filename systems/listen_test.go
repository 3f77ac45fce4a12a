package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
)

// boundConn is a connection in clear that is bound to an address.
type boundConn struct {
	transport.Conn
	at transport.Addr
}

func (b boundConn) LocalAddr() transport.Addr { return b.at }

// A server in clear listens on loopback and private addresses alone, unless Config.Plain says so.
func TestAServerInClearListensOnPrivateAddressesAlone(t *testing.T) {
	now := func() time.Duration { return 0 }
	listen := func(socket systems.Socket, plain bool) (err error) {
		defer func() { err, _ = recover().(error) }()
		server, fault := netcode.NewServer(netcode.NewProtocol(), netcode.Config{Plain: plain})
		require.NoError(t, fault)
		systems.NewServer(server, socket, now)
		return nil
	}
	for text, public := range map[string]bool{
		"127.0.0.1:9000": false, "[::1]:9000": false, "10.1.2.3:9000": false, "192.168.1.2:9000": false, "172.16.0.1:1": false,
		"[fd00::1]:9000": false, "[fe80::1]:9000": false, "169.254.1.1:9000": false,
		"0.0.0.0:9000": true, "[::]:9000": true, "203.0.113.7:9000": true, "[2001:db8::1]:9000": true, "100.64.0.1:9000": true,
	} {
		socket := boundConn{at: transport.MustParseAddr(text)}
		err := listen(socket, false)
		require.NoError(t, listen(socket, true), text)
		encrypted, fault := secure.Listen(socket, secure.Config{Key: secure.Key{1}, Admit: secure.Tokens("a:1")})
		require.NoError(t, fault)
		require.NoError(t, listen(encrypted, false), text)
		require.NoError(t, listen(transport.Condition(encrypted, transport.Link{}, 1, now), false), text)
		joined := listen(transport.Join(encrypted, socket), false)
		require.Equal(t, public, joined != nil, "%s beside an encrypted one", text)
		if !public {
			require.NoError(t, err, text)
			require.NoError(t, listen(transport.Condition(socket, transport.Link{}, 1, now), false), text)
			continue
		}
		var refused *netcode.PlainError
		require.ErrorAs(t, err, &refused, text)
		require.Equal(t, socket.at, refused.Address)
		for _, word := range []string{text, "secure.Listen", "Config.Plain", "secure.Tokens"} {
			require.ErrorContains(t, err, word)
		}
		require.ErrorAs(t, listen(transport.Condition(socket, transport.Link{}, 1, now), false), &refused)
	}
	require.NoError(t, listen(struct{ systems.Socket }{}, false), "a socket of the game's own, without an address, is not judged")
}

package handover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
)

// TestMovesByConnectTokens moves players over encrypted lines, with a connect token for each move.
func TestMovesByConnectTokens(t *testing.T) {
	r := newRig(t, 8, 2, 3, transport.Link{Delay: 50 * time.Millisecond, Loss: .05})
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	wall := func() time.Time { return begin.Add(r.now) }
	key, err := secure.ParseKey("0101010101010101010101010101010101010101010101010101010101010101")
	require.NoError(t, err)
	r.listen = func(n *node) transport.Conn {
		conn, err := secure.Listen(n.conn, secure.Config{Key: key, Admit: secure.Tokens(n.address.String()), Now: r.clock, Wall: wall, Random: r.bytes(), Logger: quiet})
		require.NoError(t, err)
		return conn
	}
	r.dial = func(c transport.Conn, token []byte) (transport.Conn, error) {
		return secure.Dial(c, secure.ClientConfig{Token: token, Now: r.clock, Wall: wall, Random: r.bytes()})
	}
	r.token = func(server, user string) []byte {
		token, err := secure.Issue(key, secure.Token{User: user, Servers: []string{server}, Issued: wall(), Expires: wall().Add(time.Minute)})
		require.NoError(t, err)
		return token
	}
	r.start()
	require.True(t, r.run(10*time.Second, r.joined))
	r.wander(30, 0)
	require.Equal(t, map[handover.Outcome]int{handover.Moved: 30}, r.model.moved, "%v", r.model.errors)
	require.LessOrEqual(t, r.model.longest, 100*time.Millisecond+2*time.Second/30)
	r.model.checkMessages()
}

package secure

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// rig is a server and its clients on a network in memory, with a clock and a date of their own.
type rig struct {
	t       *testing.T
	network *memory.Network
	now     time.Duration
	date    time.Time // Of the server.
	key     Key
	config  Config
	server  *Server
	at      transport.Addr
	log     bytes.Buffer
	buf     []byte
	random  *rand.ChaCha8
}

// newRig makes a server with Tokens. change may be nil.
func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, network: memory.NewNetwork(), date: time.Unix(1_800_000_000, 0), buf: make([]byte, 2048)}
	r.random = rand.NewChaCha8([32]byte{1})
	r.key = Key{7}
	socket, err := r.network.Listen(transport.MustParseAddr("127.0.0.1:9000"))
	require.NoError(t, err)
	r.config = Config{
		Key: r.key, Admit: Tokens(), Now: func() time.Duration { return r.now }, Wall: func() time.Time { return r.date },
		Random: r.random, Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
	}
	if change != nil {
		change(&r.config)
	}
	r.server, err = Listen(socket, r.config)
	require.NoError(t, err)
	r.at = r.server.LocalAddr()
	return r
}

// token makes a token for the server of the rig. change may be nil.
func (r *rig) token(change func(*Token)) []byte {
	r.t.Helper()
	token := Token{User: "ada", Servers: []string{"127.0.0.1:9000"}, Issued: r.date, Expires: r.date.Add(time.Minute), Data: []byte("red team")}
	if change != nil {
		change(&token)
	}
	b, err := Issue(r.key, token)
	require.NoError(r.t, err)
	return b
}

// dial makes a client on the network of the rig, with a date of its own.
func (r *rig) dial(c ClientConfig) *Client {
	r.t.Helper()
	socket, err := r.network.Listen(transport.Addr{})
	require.NoError(r.t, err)
	return r.dialOver(socket, c)
}

func (r *rig) dialOver(socket transport.Conn, c ClientConfig) *Client {
	r.t.Helper()
	c.Now, c.Random = func() time.Duration { return r.now }, r.random
	if c.Wall == nil {
		c.Wall = func() time.Time { return r.date }
	}
	client, err := Dial(socket, c)
	require.NoError(r.t, err)
	return client
}

// keyedBy returns an address with the number of a session, as the server tells it.
func keyedBy(a transport.Addr, session uint64) transport.Addr {
	a.Key = session
	return a
}

// got is a datagram that an end gave out.
type got struct {
	from transport.Addr
	text string
}

// drain receives all that waits at an end. It returns the first error.
func (r *rig) drain(c transport.Conn) (all []got, err error) {
	for {
		n, from, fault := c.Receive(r.buf)
		if fault != nil {
			return all, fault
		}
		if n == 0 {
			return all, nil
		}
		all = append(all, got{from, string(r.buf[:n])})
	}
}

// join sends from the client until there is a session or an error.
func (r *rig) join(c *Client) error {
	for range 200 {
		if err := c.Send(r.at, []byte("hello")); err != nil {
			return err
		}
		if _, err := r.drain(r.server); err != nil {
			return err
		}
		if _, err := r.drain(c); err != nil {
			return err
		}
		if _, err := r.drain(r.server); err != nil {
			return err
		}
		if c.Open() {
			return nil
		}
		r.now += 100 * time.Millisecond
	}
	return c.Err()
}

package webtransport

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/quic-go/webtransport-go"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport/queued"
)

// flood is a server in a network in memory, in virtual time.
type flood struct {
	*testing.T
	simnet.PerfectRouter
	server *Server
	at     net.Addr
	pin    *tls.Config
}

func newFlood(t *testing.T, config Config) *flood {
	f := &flood{T: t}
	certificate, hash, err := NewCertificate(time.Now(), "10.0.0.1")
	require.NoError(t, err)
	config.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	f.pin = Pin(hash)
	socket := simnet.NewBlockingSimConn(&net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}, &f.PerfectRouter)
	f.at = socket.LocalAddr()
	f.server, err = serve(socket, config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.server.Close()) })
	return f
}

// from returns a client's end of QUIC at an address.
func (f *flood) from(ip net.IP) *quic.Transport {
	over := &quic.Transport{Conn: simnet.NewBlockingSimConn(&net.UDPAddr{IP: ip, Port: 4000}, &f.PerfectRouter)}
	f.Cleanup(func() {
		_ = over.Close()
		_ = over.Conn.Close()
	})
	return over
}

// connect opens QUIC connections from a host, each kept by PING, and no session.
func (f *flood) connect(ip net.IP, n int) (conns []*quic.Conn) {
	over := f.from(ip)
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		conn, err := over.Dial(ctx, f.at, http3.ConfigureTLSConfig(f.pin), &quic.Config{
			EnableDatagrams: true, EnableStreamResetPartialDelivery: true, KeepAlivePeriod: time.Second, MaxIdleTimeout: time.Hour,
		})
		cancel()
		if err == nil {
			conns = append(conns, conn)
		}
	}
	return conns
}

// play opens a session from a host, and returns the time that it took.
func (f *flood) play(ip net.IP) (*Conn, time.Duration) {
	over := f.from(ip)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	began := time.Now()
	c, err := dialOver(ctx, &webtransport.Transport{
		TLSClientConfig: f.pin,
		DialAddr: func(ctx context.Context, _ string, t *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return over.Dial(ctx, f.at, t, config)
		},
	}, "https://10.0.0.1/netcode", queued.Config{Idle: time.Hour})
	require.NoError(f, err, "the honest client has its place")
	took := time.Since(began)
	f.Cleanup(func() { require.NoError(f, c.Close()) })
	return c, took
}

// open returns the number of connections that have not ended.
func open(conns []*quic.Conn) (n int) {
	for _, c := range conns {
		if c.Context().Err() == nil {
			n++
		}
	}
	return n
}

// Connections that ask for no session take no place of those that do, however many there are, and end after Config.Idle, whatever PING says.
func TestConnectionsWithoutASession(t *testing.T) {
	for name, row := range map[string]struct {
		hosts, each int
		held        int // Of the server's 16.
	}{
		"16 of one host":        {1, 16, 16},
		"64 of one host":        {1, 64, 16},
		"8 of each of 16 hosts": {16, 8, 16},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFlood(t, Config{Config: queued.Config{Connections: 16, Idle: 30 * time.Second}})
				var conns []*quic.Conn
				for h := range row.hosts {
					conns = append(conns, f.connect(net.IPv4(203, 0, byte(h), 9), row.each)...)
				}
				synctest.Wait()
				require.Equal(t, row.held, f.server.Pending().Now)
				c, took := f.play(net.IPv4(198, 51, 100, 7))
				require.Less(t, took, time.Second)
				synctest.Wait()
				require.LessOrEqual(t, open(conns), 16)

				for range 31 { // The client plays on.
					time.Sleep(time.Second)
					require.NoError(t, c.Send(c.Server(), []byte{1}))
				}
				synctest.Wait()
				require.Zero(t, open(conns), "PING keeps none of them")
				require.Zero(t, f.server.Pending().Now)
				require.NoError(t, c.Err(), "it has a session")
			})
		})
	}
}

// A connection whose session has ended is one without a session again.
func TestAConnectionThatLosesItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlood(t, Config{Config: queued.Config{Idle: 5 * time.Second}})
		c, _ := f.play(net.IPv4(198, 51, 100, 7))
		synctest.Wait()
		require.Zero(t, f.server.Pending().Now)
		time.Sleep(6 * time.Second) // It says nothing.
		synctest.Wait()
		require.Error(t, c.Err())
		require.EqualValues(t, 1, f.server.Stats().Idle)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		require.Zero(t, f.server.Pending().Now)
		_, held := f.server.conns.Load(ipOf(&net.UDPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 4000}))
		require.False(t, held, "the connection has ended, too")
	})
}

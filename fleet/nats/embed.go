package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
)

// Limits of an embedded server; Embed.Change changes them.
const (
	embedMemory = 256 << 20
	embedStore  = 4 << 30
)

// embedded is a NATS server in this process.
type embedded struct {
	server *server.Server
	remove string // The folder that goes with it; empty: none.
}

// embed starts a NATS server.
func embed(ctx context.Context, c *Config) (*embedded, error) {
	e := &embedded{}
	o := &server.Options{
		ServerName: c.Server, NoSigs: true, NoLog: true, JetStream: true, StoreDir: c.Embed.Dir, DontListen: c.Embed.Listen == "",
		JetStreamMaxMemory: embedMemory, JetStreamMaxStore: embedStore, Authorization: c.Secret, TLSConfig: c.TLS, MaxPayload: 1 << 20,
		WriteDeadline: 2 * time.Second,
	}
	if c.TLS != nil {
		o.TLS, o.TLSTimeout = true, 2
	}
	if err := e.addresses(o, c); err != nil {
		return nil, err
	}
	if o.StoreDir == "" {
		dir, err := os.MkdirTemp("", "netcode-nats-")
		if err != nil {
			return nil, err
		}
		o.StoreDir, e.remove = dir, dir
	}
	if c.Embed.Change != nil {
		c.Embed.Change(o)
	}
	var err error
	if e.server, err = server.NewServer(o); err != nil {
		return nil, errors.Join(fmt.Errorf("nats: the embedded server: %w", err), e.close())
	}
	e.server.Start()
	until := 10 * time.Second
	if at, ok := ctx.Deadline(); ok {
		until = time.Until(at)
	}
	if !e.server.ReadyForConnections(until) && !o.DontListen {
		return nil, errors.Join(errors.New("nats: the embedded server does not get ready: is its port taken?"), e.close())
	}
	return e, nil
}

// addresses sets where the server listens, and its cluster.
func (e *embedded) addresses(o *server.Options, c *Config) (err error) {
	if c.Embed.Listen != "" {
		if o.Host, o.Port, err = hostPort(c.Embed.Listen); err != nil {
			return err
		}
	}
	if c.Embed.Cluster == "" {
		return nil
	}
	shortElections()
	o.Cluster.Name, o.Cluster.TLSConfig = c.Fleet, c.TLS
	if o.Cluster.Host, o.Cluster.Port, err = hostPort(c.Embed.Cluster); err != nil {
		return err
	}
	if c.Secret != "" {
		o.Cluster.Username, o.Cluster.Password = c.Fleet, c.Secret
	}
	for _, r := range c.Embed.Routes {
		route := &url.URL{Scheme: "nats-route", Host: r}
		if c.Secret != "" {
			route.User = url.UserPassword(c.Fleet, c.Secret)
		}
		o.Routes = append(o.Routes, route)
	}
	return nil
}

// hostPort splits an address; port 0 is any.
func hostPort(at string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(at)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%w: %q is no host and port", ErrConfig, at)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// close ends the server, and removes its folder.
func (e *embedded) close() error {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	if e.remove != "" {
		return os.RemoveAll(e.remove)
	}
	return nil
}

// connect connects to the cluster, or to the embedded server inside the process.
func (n *Node) connect() (err error) {
	c := &n.config
	options := append([]natsgo.Option{
		natsgo.Name(c.Fleet + "/" + c.Server), natsgo.MaxReconnects(-1), natsgo.ReconnectWait(50 * time.Millisecond),
		natsgo.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond), natsgo.ReconnectBufSize(1 << 20), natsgo.PingInterval(time.Second), natsgo.MaxPingsOutstanding(3),
		natsgo.FlusherTimeout(time.Second), natsgo.Timeout(2 * time.Second), natsgo.RetryOnFailedConnect(true),
		natsgo.ReconnectErrHandler(func(_ *natsgo.Conn, err error) { n.attemptFailed(err) }),
		natsgo.DisconnectErrHandler(func(*natsgo.Conn, error) { n.counters.disconnects.Add(1) }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { n.asyncError(err) }),
	}, c.Options...)
	if c.Secret != "" {
		options = append(options, natsgo.Token(c.Secret))
	}
	at := c.URL
	if n.embedded != nil {
		options = append(options, natsgo.InProcessServer(n.embedded.server))
		at = ""
	} else if c.TLS != nil {
		options = append(options, natsgo.Secure(c.TLS))
	}
	n.conn, err = natsgo.Connect(at, options...)
	return err
}

// attemptFailed takes an error of an attempt to connect. OnError is told once of attempts in a row that fail alike.
func (n *Node) attemptFailed(err error) {
	if errors.Is(err, natsgo.ErrNoServers) {
		return // NATS keeps no reason for the first attempt: another one follows.
	}
	if last := n.refusal.Swap(&err); last == nil || (*last).Error() != err.Error() {
		n.config.OnError(fmt.Errorf("nats: connecting: %w", err))
	}
}

// asyncError takes an error of the connection. A slow consumer is counted, and is no surprise.
func (n *Node) asyncError(err error) {
	if errors.Is(err, natsgo.ErrSlowConsumer) {
		n.counters.slow.Add(1)
		return
	}
	n.config.OnError(fmt.Errorf("nats: %w", err))
}

// NATS returns the URL at which others reach the embedded server: their Config.URL. Empty without one that listens.
func (n *Node) NATS() string {
	if n.embedded == nil || n.config.Embed.Listen == "" {
		return ""
	}
	return n.embedded.server.ClientURL()
}

package nats

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
)

// Bounds of what a fleet keeps about others, and of what others may send.
const (
	MaxName    = 64      // Bytes of the name of a fleet, a server or a match, and of a player's identity.
	MaxAddress = 256     // Bytes of Config.Address.
	MaxData    = 1024    // Bytes of Config.Data and MatchConfig.Data.
	MaxBody    = 1 << 16 // Bytes of an encoded message.
	MaxExtra   = 1 << 20 // Bytes of the game's own part of a checkpoint.

	maxServers    = 1024
	maxMatches    = 1 << 16
	maxPlayers    = 1 << 20
	maxCheckpoint = 64 << 20
)

// Config configures a process of a fleet. Server is needed; the rest has defaults.
type Config struct {
	// Fleet names the fleet: fleets of one NATS cluster that have other names know nothing of each other. Default "game".
	Fleet string
	// Server names this process, unlike all others of the fleet: letters, digits, '-' and '_', at most MaxName. A process that is started again may
	// have the same name: it waits until the lease of the former one is over.
	Server string
	// Address leads players to the process, for the directory: "play.example.org:9000".
	Address string
	// Data is the game's own, for the directory: a region, a build, a map.
	Data string

	// URL is that of a NATS cluster: "nats://10.0.0.1:4222,nats://10.0.0.2:4222". Empty: this process embeds a server of NATS.
	URL string
	// Embed configures the embedded server.
	Embed Embed
	// Secret is shared by all processes of the fleet and by the NATS servers that they embed. An embedded server that others than this machine
	// and its private network may reach does not start without one.
	Secret string
	// TLS encrypts the connection to URL, and those of an embedded server. Nil: in clear.
	TLS *tls.Config
	// Options are further options of the connection, as those of its credentials.
	Options []natsgo.Option
	// Replicas is the number of NATS servers that keep the directory, checkpoints and recordings. Default: 3 if there are three servers, else 1.
	Replicas int

	// Lease is for how long this process may simulate after its newest word to the directory, and so about the time until a match of a
	// process that died begins elsewhere; default 1.5 s, at least 500 ms. Alike in all processes.
	Lease time.Duration
	// Messages are the messages of the game between servers; nil: none.
	Messages *Messages
	// Orphan is called, in a goroutine of its own, with each match whose process died and that now belongs to this one. The function runs the match:
	// Orphan.Open, or Orphan.Refuse. Nil: this process takes over no match. See Node.TakeOver.
	Orphan func(o *Orphan)
	// Queue bounds the messages that wait for a loop, and those that wait to be sent; default 4096, and 4 MiB of them. A quarter of it may
	// come from one server. More are dropped and counted.
	Queue int
	// Patience bounds the wait of a message for its tick, NotBefore; default 2 s, then it is dropped and counted.
	Patience time.Duration
	// OnError is given errors that have no caller, in any goroutine. Nil drops them.
	OnError func(err error)
}

// Embed configures the NATS server in a process. The zero value is one that this process alone uses, whose data end with it.
type Embed struct {
	Listen string // Where other processes reach it, as their Config.URL: "127.0.0.1:4222"; port 0 chooses one. Empty: this process alone.
	Dir    string // Keeps checkpoints and recordings. Empty: a new folder, removed by Close.
	// Cluster leads the other NATS servers of the cluster to this one: "10.0.0.1:6222".
	Cluster string
	Routes  []string // The same of all servers of the cluster: three, or five.
	// Change changes the options before the server starts, for what is not here.
	Change func(o *server.Options)
}

// ErrConfig is the error of a configuration that cannot work.
var ErrConfig = errors.New("nats: the configuration is wrong")

// withDefaults returns the configuration with each field set, or an error.
func (c Config) withDefaults() (Config, error) {
	if c.Fleet == "" {
		c.Fleet = "game"
	}
	if c.Lease == 0 {
		c.Lease = 1500 * time.Millisecond
	}
	if c.Queue <= 0 {
		c.Queue = 4096
	}
	if c.Patience <= 0 {
		c.Patience = 2 * time.Second
	}
	if c.Messages == nil {
		c.Messages = NewMessages()
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	if c.Replicas == 0 {
		if c.Replicas = 1; len(c.Embed.Routes) >= 3 || strings.Count(c.URL, ",") >= 2 {
			c.Replicas = 3
		}
	}
	return c, c.check()
}

// check returns what is wrong.
func (c Config) check() error {
	switch {
	case !legalName(c.Fleet):
		return fmt.Errorf("%w: Fleet %q: letters, digits, '-' and '_', at most %d", ErrConfig, c.Fleet, MaxName)
	case !legalName(c.Server):
		return fmt.Errorf("%w: Server %q: letters, digits, '-' and '_', at most %d", ErrConfig, c.Server, MaxName)
	case len(c.Address) > MaxAddress || len(c.Data) > MaxData:
		return fmt.Errorf("%w: Address has %d bytes of at most %d, Data %d of %d", ErrConfig, len(c.Address), MaxAddress, len(c.Data), MaxData)
	case c.Lease < 500*time.Millisecond:
		return fmt.Errorf("%w: a Lease of %v: at least 500 ms", ErrConfig, c.Lease)
	case c.URL == "" && c.Secret == "" && (!private(c.Embed.Listen) || !private(c.Embed.Cluster)):
		return fmt.Errorf("%w: strangers may reach the embedded server at %q: give all processes a Secret, and TLS", ErrConfig, c.Embed.Listen+c.Embed.Cluster)
	case c.Embed.Cluster == "" && len(c.Embed.Routes) > 0:
		return fmt.Errorf("%w: Embed.Routes without Embed.Cluster", ErrConfig)
	}
	return nil
}

// legalName reports whether a name can be a part of a subject and of a key.
func legalName(name string) bool {
	if name == "" || len(name) > MaxName {
		return false
	}
	for _, r := range []byte(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		default:
			return false
		}
	}
	return true
}

// private reports whether an address to listen at is only reached from this machine or a private network. An empty one is.
func private(listen string) bool {
	if listen == "" {
		return true
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}

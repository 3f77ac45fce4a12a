package consistent

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// Config has the settings of a client. Zero fields mean the defaults.
type Config struct {
	// MaxHeld is the maximum number of bytes that a client holds back; default 1 MiB, at least 64 KiB.
	MaxHeld int
}

// feature is the registered feature of a protocol.
type feature struct{ config Config }

// Register makes clients show whole ticks only. Call it on both sides, before the first server or client of the protocol. It
// panics on a second call, on a frozen protocol, and on an invalid setting.
func Register(p *netcode.Protocol, config ...Config) {
	f := &feature{}
	if len(config) > 0 {
		f.config = config[0]
	}
	if f.config.MaxHeld == 0 {
		f.config.MaxHeld = 1 << 20
	}
	if f.config.MaxHeld < 1<<16 {
		panic(fmt.Sprintf("netcode: consistent.Register: MaxHeld is %d: it is at least %d", f.config.MaxHeld, 1<<16))
	}
	extend.OfProtocol(p).Extend(extend.Extension{Name: "consistent", State: f, ToClient: extend.FreeSection, Server: f, Client: f})
}

// Enable sets whether a client shows whole ticks only, which is the default. Switched on during a connection, it takes effect
// with the next complete tick. Without Register it does nothing.
func Enable(c *netcode.Client, on bool) {
	if f, ok := extend.ExtensionOf[*client](c); ok {
		f.enable(on)
	}
}

// Of returns the statistics of a client. ok is false without Register.
func Of(c *netcode.Client) (stats Stats, ok bool) {
	f, ok := extend.ExtensionOf[*client](c)
	if !ok {
		return stats, false
	}
	stats = f.stats
	stats.On, stats.Held = !f.off, len(f.bytes)
	return stats, true
}

// ServerOf returns a server's statistics about a client. ok is false if there is no such client, or without Register.
func ServerOf(s *netcode.Server, id netcode.ClientID) (stats ServerStats, ok bool) {
	f, ok := extend.ExtensionOf[*sender](extend.OfServer(s).Session(id))
	if !ok {
		return stats, false
	}
	stats = f.stats
	stats.Claimed = f.last
	return stats, true
}

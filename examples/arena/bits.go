package main

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
)

// ledger is the server's socket with an account of every datagram that leaves for the first client, also of those that
// the link will lose: in one process that client can be asked at once what they mean.
type ledger struct {
	systems.Socket
	client  *arenaClient // nil until there is one
	account *netcode.Attribution
}

// Send implements systems.Socket.
func (l *ledger) Send(to netip.AddrPort, datagram []byte) error {
	if l.client != nil && to == l.client.socket.LocalAddr() {
		l.client.net.Attribute(l.account, datagram)
	}
	return l.Socket.Send(to, datagram)
}

// bitLines is the account as a table: bits by reason, by component and by field, and their sum beside the bytes that left.
func bitLines(a *netcode.Attribution) string {
	var text strings.Builder
	total := float64(max(8*a.Bytes, 1))
	line := func(depth int, name string, bits uint64, note string) {
		if bits > 0 {
			fmt.Fprintf(&text, "%-28s %12d %6.2f %%  %s\n", strings.Repeat("  ", depth)+name, bits, 100*float64(bits)/total, note)
		}
	}
	line(0, "handshake", 8*a.Handshakes, "")
	line(0, "packet headers", 8*a.Headers, "sequence and acknowledgements")
	line(0, "batch headers", 8*a.Batches, "")
	line(0, "message headers", 8*a.Messages, "")
	line(0, "checksums", 8*a.Checksums, "")
	line(0, "keep-alive, credit, close", 8*a.Others, "")
	line(0, "unreadable", 8*a.Unreadable, "")
	for _, t := range a.Types {
		line(0, "message "+t.Name, 8*t.Bytes, fmt.Sprintf("%d of them", t.Count))
	}
	s := a.State
	line(0, "state: header", s.Header, "tick, part, which list")
	line(0, "state: which entities", s.List, "")
	line(0, "state: odd records", s.Heads, "spawns, other ages, other components")
	line(0, "state: despawns", s.Despawns, "")
	line(0, "state: which components", s.Changed, "")
	line(0, "state: padding", s.Padding, "")
	line(0, "state: not followed", s.Unknown, "")
	for i := range s.Components {
		component(line, &s.Components[i])
	}
	fmt.Fprintf(&text, "%-28s %12d %6.2f %%  of %d bytes in %d datagrams\n", "sum", a.Total(), 100*float64(a.Total())/total, a.Bytes, a.Datagrams)
	return text.String()
}

// component prints one component's lines.
func component(line func(depth int, name string, bits uint64, note string), c *snapshot.ComponentBits) {
	line(0, c.Name, c.Spawn+c.Whole+c.Delta, "")
	each := func(way int, bits uint64) string {
		return fmt.Sprintf("%d rows of %.1f bits", c.Rows[way], float64(bits)/float64(max(c.Rows[way], 1)))
	}
	line(1, "spawned", c.Spawn, each(snapshot.SpawnRows, c.Spawn))
	line(1, "whole", c.Whole, each(snapshot.WholeRows, c.Whole))
	line(1, "delta", c.Delta, each(snapshot.DeltaRows, c.Delta))
	line(1, "which fields", c.Changed, "of delta")
	for _, f := range c.Fields {
		line(1, "."+f.Name, f.Bits, "")
	}
}

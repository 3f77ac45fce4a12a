package main

import (
	"fmt"
	"strings"

	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// ledger is the server's socket with an account of every datagram that leaves for the first client, also of those that
// the link will lose: in one process that client can be asked at once what they mean.
type ledger struct {
	systems.Socket
	client  *crowdClient // nil until there is one
	account *inspect.Attribution
}

// Send implements systems.Socket.
func (l *ledger) Send(to transport.Addr, datagram []byte) error {
	if l.client != nil && to == l.client.socket.LocalAddr() {
		l.account.Add(l.client.net, datagram)
	}
	return l.Socket.Send(to, datagram)
}

// Bits tells where the bits of all datagrams to the first client went, twice over: by reason, and by component.
type Bits struct {
	Datagrams  uint64          `json:"datagrams"`
	Bytes      uint64          `json:"bytes"`
	Reasons    Reasons         `json:"reasons"` // their sum is 8 * Bytes
	Components []ComponentBits `json:"components"`
}

// Reasons are bits by what they are for.
type Reasons struct {
	Spawn    uint64 `json:"spawn"`    // values of entities that the client did not know
	Delta    uint64 `json:"delta"`    // values, as what differs from what it had
	Absolute uint64 `json:"absolute"` // other values that travelled whole
	Records  uint64 `json:"records"`  // which entities and which of their components the values are of
	Despawns uint64 `json:"despawns"`
	Header   uint64 `json:"header"`   // handshakes, headers of packets, batches, messages and snapshots, checksums
	Messages uint64 `json:"messages"` // what messages hold: the game's, and netcode's own
	Unread   uint64 `json:"unread"`   // what could not be followed
}

// ComponentBits are a component's: the sum of the three ways, and of WhichFields and Fields, is the same.
type ComponentBits struct {
	Name         string      `json:"name"`
	Spawn        uint64      `json:"spawn"`
	Delta        uint64      `json:"delta"`
	Absolute     uint64      `json:"absolute"`
	SpawnRows    uint64      `json:"spawn_rows"`
	DeltaRows    uint64      `json:"delta_rows"`
	AbsoluteRows uint64      `json:"absolute_rows"`
	WhichFields  uint64      `json:"which_fields"` // of Delta
	Fields       []FieldBits `json:"fields"`
}

// FieldBits is one field's part.
type FieldBits struct {
	Name string `json:"name"`
	Bits uint64 `json:"bits"`
}

// bitsOf sorts an account by reason and by component.
func bitsOf(a *inspect.Attribution) *Bits {
	s := a.State
	b := &Bits{Datagrams: a.Datagrams, Bytes: a.Bytes}
	r := &b.Reasons
	r.Header = 8*(a.Handshakes+a.Headers+a.Batches+a.Messages+a.Checksums) + s.Header + s.Padding
	r.Messages = 8 * a.Others
	for _, t := range a.Types {
		r.Messages += 8 * t.Bytes
	}
	r.Records, r.Despawns, r.Unread = s.List+s.Heads+s.Changed, s.Despawns, 8*a.Unreadable+s.Unknown
	for i := range s.Components {
		c := &s.Components[i]
		r.Spawn, r.Delta, r.Absolute = r.Spawn+c.Spawn, r.Delta+c.Delta, r.Absolute+c.Whole
		one := ComponentBits{
			Name: c.Name, Spawn: c.Spawn, Delta: c.Delta, Absolute: c.Whole, WhichFields: c.Changed, Fields: []FieldBits{},
			SpawnRows: c.Rows[format.SpawnRows], DeltaRows: c.Rows[format.DeltaRows], AbsoluteRows: c.Rows[format.WholeRows],
		}
		for _, f := range c.Fields {
			one.Fields = append(one.Fields, FieldBits{f.Name, f.Bits})
		}
		b.Components = append(b.Components, one)
	}
	return b
}

// bitTable prints lines of bits.
type bitTable struct {
	text  strings.Builder
	total float64
}

// line prints a line, unless there is nothing to say.
func (t *bitTable) line(depth int, name string, bits uint64, note string) {
	if bits > 0 {
		t.always(depth, name, bits, note)
	}
}

func (t *bitTable) always(depth int, name string, bits uint64, note string) {
	fmt.Fprintf(&t.text, "%-28s %12d %6.2f %%  %s\n", strings.Repeat("  ", depth)+name, bits, 100*float64(bits)/t.total, note)
}

// bitLines is the account as a table: bits by reason, and once more in their parts, by header, message, component and field.
func bitLines(a *inspect.Attribution) string {
	t := &bitTable{total: float64(max(8*a.Bytes, 1))}
	b := bitsOf(a)
	fmt.Fprintf(&t.text, "%-28s %12s %8s\n", "by reason", "bits", "share")
	r := &b.Reasons
	t.always(0, "spawn", r.Spawn, "values of entities that it did not know")
	t.always(0, "delta", r.Delta, "values, as what differs")
	t.always(0, "absolute", r.Absolute, "other values, whole")
	t.always(0, "which rows", r.Records, "the entities and components that these are of")
	t.always(0, "despawns", r.Despawns, "")
	t.always(0, "header", r.Header, "of packets, messages and snapshots; checksums")
	t.always(0, "messages", r.Messages, "what they hold")
	t.line(0, "unread", r.Unread, "")
	fmt.Fprintf(&t.text, "%-28s %12d %6.2f %%  of %d bytes in %d datagrams\n\n", "sum", a.Total(), 100*float64(a.Total())/t.total, a.Bytes, a.Datagrams)
	fmt.Fprintf(&t.text, "%-28s %12s %8s\n", "the same, in parts", "bits", "share")
	t.headers(a)
	s := a.State
	t.line(0, "state: header", s.Header, "tick, part, which list")
	t.line(0, "state: which entities", s.List, "")
	t.line(0, "state: odd records", s.Heads, "spawns, other ages, other components")
	t.line(0, "state: despawns", s.Despawns, "")
	t.line(0, "state: which components", s.Changed, "")
	t.line(0, "state: padding", s.Padding, "")
	t.line(0, "state: not followed", s.Unknown, "")
	for i := range b.Components {
		t.component(&b.Components[i])
	}
	return t.text.String()
}

// headers prints what is no state.
func (t *bitTable) headers(a *inspect.Attribution) {
	t.line(0, "handshake", 8*a.Handshakes, "")
	t.line(0, "packet headers", 8*a.Headers, "sequence and acknowledgements")
	t.line(0, "batch headers", 8*a.Batches, "")
	t.line(0, "message headers", 8*a.Messages, "")
	t.line(0, "checksums", 8*a.Checksums, "")
	t.line(0, "keep-alive, credit, close", 8*a.Others, "")
	t.line(0, "unreadable", 8*a.Unreadable, "")
	for _, m := range a.Types {
		t.line(0, "message "+m.Name, 8*m.Bytes, fmt.Sprintf("%d of them", m.Count))
	}
}

// component prints one component's lines: its bits by reason, and the same by field.
func (t *bitTable) component(c *ComponentBits) {
	t.line(0, c.Name, c.Spawn+c.Absolute+c.Delta, "")
	each := func(rows, bits uint64) string {
		return fmt.Sprintf("%d rows of %.1f bits", rows, float64(bits)/float64(max(rows, 1)))
	}
	t.line(1, "spawn", c.Spawn, each(c.SpawnRows, c.Spawn))
	t.line(1, "delta", c.Delta, each(c.DeltaRows, c.Delta))
	t.line(1, "absolute", c.Absolute, each(c.AbsoluteRows, c.Absolute))
	t.line(1, "which fields", c.WhichFields, "of delta")
	for _, f := range c.Fields {
		t.line(1, "."+f.Name, f.Bits, "")
	}
}

package netcode

import (
	"fmt"
	"reflect"
	"sort"
	"sync"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// Protocol is what both ends must agree on before they talk: which components travel and how, and which messages
// there are. Build it once with NewProtocol, Replicate and Handle, on server and client alike; the order of those
// calls does not matter. The first NewServer or NewClient freezes it, and from then on any number of servers and
// clients, on any goroutines, may share it.
type Protocol struct {
	components []*quantize.Plan
	rows       map[*quantize.Plan]snapshot.RowOptions // looked up only
	messages   message.Registry
	handled    []handled
	roles      [1 << 8]role           // By number, once frozen.
	naming     [1 << 8]*quantize.Plan // Likewise, of types whose fields name entities.
	raws       []*RawMessage
	rawOf      [1 << 8]*RawMessage // By number, once frozen.

	tables *delta.Tables // Nil: those that ship.

	extensions []Extension
	extended   []any           // Their states.
	plans      []extensionPlan // Of their packet sections.
	sections   wire.MessageType
	upstream   bool // Clients send state: an extension's Upstream.
	described  described
	settings   [][]any // Of components, by row, once frozen.

	freezing sync.Once
	frozen   bool
	unpacked bool

	schema *snapshot.Schema
	canon  canon.Description
}

// NewProtocol makes an empty protocol: no components, no messages.
func NewProtocol() *Protocol { return &Protocol{rows: map[*quantize.Plan]snapshot.RowOptions{}} }

// Hash is the number that both ends must share to talk: FNV-1a 64 over the canonical descriptions of everything in
// the protocol (PROTOCOL.md gives the text). It does not depend on the order of registration. Asking freezes the
// protocol.
func (p *Protocol) Hash() uint64 {
	p.freeze()
	return p.canon.Hash
}

// Description lists the entries of the canonical description in their order: the text that Hash is computed over. Asking
// freezes the protocol.
func (p *Protocol) Description() (entries []string) {
	p.freeze()
	for _, e := range p.canon.Entries {
		entries = append(entries, e.Text)
	}
	return entries
}

// Schema lists the components in the protocol's canonical order, by wire name: a component's place is its row
// number. Asking freezes the protocol.
func (p *Protocol) Schema() *snapshot.Schema {
	p.freeze()
	return p.schema
}

// Messages lists the message types, with their numbers. Asking freezes the protocol.
func (p *Protocol) Messages() *message.Registry {
	p.freeze()
	return &p.messages
}

// Debug turns packing off: every component and message travels byte by byte, each field at the size and with the value
// that it has in memory, so that a dump of packets can be read by eye. Call it on both sides, in any order with Replicate
// and Handle: the hash tells a protocol with packing from one without, and a server refuses the other kind. Packets are
// several times as large, so it is for finding faults and not for play. Debug panics on a frozen protocol.
func (p *Protocol) Debug() {
	if p.frozen {
		panic("netcode: Debug: the protocol is frozen: turn packing off before the first NewServer or NewClient")
	}
	p.unpacked = true
}

// UseTables makes state travel in prefix codes that were trained on recordings of the user's own game, in place of those
// that ship, which know motion in general. Call it on both sides, in any order with Replicate and Handle: the hash
// tells protocols with other tables. Components that the tables do not know travel in what the same training made of fields
// of their kind. UseTables panics on a frozen protocol; NewServer and NewClient do where a component that the tables know has
// other fields now, in number or kind. Steps and ranges may change: the codes then fit less well, until they are trained anew.
func (p *Protocol) UseTables(tables *delta.Tables) {
	if p.frozen {
		panic("netcode: UseTables: the protocol is frozen: choose the tables before the first NewServer or NewClient")
	}
	p.tables = tables
}

// freeze ends registration: it puts the components in order, gives the messages their numbers and computes the hash.
func (p *Protocol) freeze() {
	p.freezing.Do(func() {
		p.frozen = true
		sort.Slice(p.components, func(a, b int) bool { return p.components[a].Name() < p.components[b].Name() })
		sort.Slice(p.handled, func(a, b int) bool { return p.handled[a].of.Name < p.handled[b].of.Name })
		if p.unpacked {
			p.turnPackingOff()
		}
		p.messages.Freeze()
		for _, h := range p.handled {
			p.roles[h.of.ID()] = h.role
		}
		p.numberRaws()
		p.noteNaming()
		p.schema = format.NewSchema(p.components)
		p.setTables()
		for row, plan := range p.components {
			p.schema.SetOptions(row, p.rows[plan])
		}
		p.freezeExtensions()
		p.canon.Entries = append(p.describe(), p.described.behind...)
		for row := range p.components {
			p.canon.Entries[1+row].Text += p.described.components[row]
		}
		p.canon = canon.New(p.canon.Entries)
	})
}

// setTables makes state travel in the chosen codes, or in those that ship. With packing off there are none.
func (p *Protocol) setTables() {
	if p.unpacked {
		return
	}
	var source delta.TableSource = delta.Shipped()
	if p.tables != nil {
		source = p.tables.Over(source)
	}
	switch err := p.schema.SetTables(delta.Ready(source)); {
	case err == nil:
	case p.tables != nil:
		panic(fmt.Sprintf("netcode: UseTables: these tables were trained for another protocol, or for what this one was before a component changed: train them anew (%v)", err))
	default:
		panic(fmt.Sprintf("netcode: %v", err))
	}
}

// describeTables is what the canonical description says of the tables: the sum of those that ship and, behind a plus, of
// those that were chosen.
func (p *Protocol) describeTables() string {
	text := fmt.Sprintf("%016x", delta.Shipped().Hash())
	if p.tables != nil && !p.unpacked {
		text += fmt.Sprintf("+%016x", p.tables.Hash())
	}
	return text
}

// turnPackingOff makes every type travel in the debug encoding.
func (p *Protocol) turnPackingOff() {
	for _, plan := range p.components {
		plan.Debug()
	}
	for _, own := range p.plans {
		own.plan.Debug()
	}
	p.messages.Debug()
}

// answers returns nil for a question that was registered with that answer, and else says what is wrong.
func (p *Protocol) answers(q, r reflect.Type) error {
	of := p.messages.ByGoType(q)
	for _, h := range p.handled {
		switch {
		case of == nil || h.of != of:
		case h.role == alone:
			return fmt.Errorf("%w: %s is no question: it was registered with Handle", ErrQuestion, q)
		case h.role == answer:
			return fmt.Errorf("%w: %s is no question: it is the answer to one", ErrQuestion, q)
		case h.answer != r:
			return fmt.Errorf("%w: %s is answered by %s, not by %s", ErrQuestion, q, h.answer, r)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s: give it to Answer on both sides", ErrNotRegistered, q)
}

// MustBeOpen panics when it is too late to register.
func (p *Protocol) MustBeOpen(call string, t fmt.Stringer) {
	if p == nil {
		panic(fmt.Sprintf("netcode: %s[%s]: the protocol is nil: make it with NewProtocol", call, t))
	}
	if p.frozen {
		panic(fmt.Sprintf("netcode: %s[%s]: the protocol is frozen: register everything before the first NewServer or NewClient, and before Schema and Hash", call, t))
	}
}

package netcode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// mostOlder is the most protocols that Support takes: a Join is tried with the checksum of each.
const mostOlder = 8

// older is the protocol of an older build with which the ends of this one play. Both ends of such a session speak it: the newer end leaves
// out what it lacks. It is made once, when the protocol freezes. A nil older is a session between equal builds.
type older struct {
	canon   canon.Description
	unknown snapshot.Mask // Rows that it lacks.
	grown   snapshot.Mask // Rows that have fewer fields there,
	forms   snapshot.Mask // and those that stand for them.
	types   peer.Types
	nobody  wire.MessageType // No type of it. Messages that it lacks have this number there.
}

// Support lets the ends of this protocol play with ends of an older build, whose protocol was description, as Protocol.Description
// lists it; package schema reads it from a lock file. Give it to the newer build alone. The newer end then speaks the older protocol: components, fields of
// components and messages that the older build lacks are left out. The older build needs no change.
//
// All entries of the older build must be here unchanged, but for messages, which may be gone. Else the first NewServer or NewClient panics
// and names the entry. A component that has more fields takes a second place among the components of the protocol, and
// memory of one more at the server; it has neither bands nor is it written by clients. A client reads zero from a field that an older server lacks.
//
// Support panics on a frozen protocol, and on more than 8 builds. A description that is the protocol's own changes nothing.
func (p *Protocol) Support(description []string) {
	if p.frozen {
		panic("netcode: Support: the protocol is frozen: name the older builds before the first NewServer or NewClient")
	}
	if len(p.supported) == mostOlder {
		panic(fmt.Sprintf("netcode: Support: at most %d older builds are supported: leave out the oldest", mostOlder))
	}
	p.supported = append(p.supported, description)
}

// freezeOlder compares the protocols of older builds with this one.
func (p *Protocol) freezeOlder() {
	for _, description := range p.supported {
		o := p.compareOlder(description)
		if o.canon.Hash != p.canon.Hash && p.olderOf(o.canon.Hash) == nil {
			p.older = append(p.older, o)
		}
	}
}

// compareOlder makes the plan for one older build.
func (p *Protocol) compareOlder(description []string) *older {
	o := &older{}
	here, theirs := map[string]string{}, map[string]bool{}
	for _, e := range p.canon.Entries {
		here[kindAndName(e.Text)] = e.Text
	}
	var messages []string
	writes := false
	for _, text := range description {
		kind, name := canon.NameOf(text)
		o.canon.Entries = append(o.canon.Entries, canon.Entry{Kind: kind, Name: name, Text: text})
		of, have := here[kindAndName(text)]
		theirs[kindAndName(text)] = true
		switch {
		case have && of != text && kind == kindComponent && p.formOf(text) >= 0:
			o.grown, o.forms = o.grown.With(rowOf(p.schema, name)), o.forms.With(p.formOf(text))
		case have && of != text:
			panic(fmt.Sprintf("netcode: Support: %s %s differs from that of the older build: there it is %s, here %s: leave it as it was and add another type beside it, or do not support that build", kind, name, text, of))
		case !have && kind != kindMessage:
			panic(fmt.Sprintf("netcode: Support: %s %s of the older build is not here: keep it registered, or do not support that build", kind, name))
		case kind == kindMessage:
			messages = append(messages, name)
		case kind == kindComponent:
			writes = writes || isWritten(text)
		}
	}
	o.canon = canon.New(o.canon.Entries)
	for _, e := range p.canon.Entries {
		switch {
		case theirs[kindAndName(e.Text)]:
		case e.Kind != kindComponent && e.Kind != kindMessage:
			panic(fmt.Sprintf("netcode: Support: the older build does not have %s: only components, their fields and messages can be left out", kindAndName(e.Text)))
		case e.Kind == kindComponent:
			o.unknown = o.unknown.With(rowOf(p.schema, e.Name))
		}
	}
	if p.upstream && !writes {
		panic("netcode: Support: clients of the older build write no component: only components, their fields and messages can be left out")
	}
	o.number(p, messages)
	return o
}

// addForms gives a component that has fewer fields in an older build another row, behind its own, with these fields.
func (p *Protocol) addForms() {
	var all []*quantize.Plan
	for _, plan := range p.components {
		all = append(all, plan)
		if forms := p.formsOf(plan); forms != nil {
			all = append(all, forms...)
			p.forms = append(p.forms, bandedPlan{base: plan, bands: forms, beyond: make([]float32, len(forms))})
		}
	}
	if len(all) > snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Support: %d components have fewer fields in older builds, and each takes a place among the components, of which there are at most %d%s",
			len(p.forms), snapshot.MaxRows, snapshot.MoreRows))
	}
	p.components = all
}

// formsOf compiles a component as older builds have it, where it has fewer fields there.
func (p *Protocol) formsOf(plan *quantize.Plan) (forms []*quantize.Plan) {
	if slices.ContainsFunc(p.banded, func(of bandedPlan) bool { return of.base == plan || slices.Contains(of.bands, plan) }) {
		return nil
	}
	for _, text := range slices.Concat(p.supported...) {
		if kind, name := canon.NameOf(text); kind != kindComponent || name != plan.Name() || isWritten(text) {
			continue
		}
		form, err := quantize.CompileOlder(plan.Type(), plan.Name(), canon.Fields(text))
		same := func(other *quantize.Plan) bool { return slices.Equal(other.Fields(), form.Fields()) }
		if err != nil || same(plan) || slices.ContainsFunc(forms, same) {
			continue // One that cannot be compiled is refused by compareOlder.
		}
		p.rows[form] = snapshot.RowOptions{Importance: p.rows[plan].Importance}
		forms = append(forms, form)
	}
	return forms
}

// formOf returns the row that stands for a component of an older build, -1 if there is none. What is behind its fields must be as it was.
func (p *Protocol) formOf(text string) int {
	for rows := p.schema.Older; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		of := rowOf(p.schema, p.schema.Plan(row).Name())
		if describePlan(kindComponent, p.schema.Plan(row)).Text+p.described.components[of] == text {
			return row
		}
	}
	return -1
}

// isWritten reports whether clients write the component of an entry.
func isWritten(text string) bool { return strings.HasPrefix(canon.Behind(text), "[") }

// kindAndName returns the begin of an entry, which names it.
func kindAndName(text string) string {
	name, _, _ := strings.Cut(text, "{")
	return name
}

// rowOf returns the row of a component.
func rowOf(s *snapshot.Schema, name string) (row int) {
	for s.Plan(row).Name() != name {
		row++
	}
	return row
}

// number numbers message types for the older build, which has those of the names, in their order.
func (o *older) number(p *Protocol, names []string) {
	ours := p.messages.Types()
	if most := max(len(ours), len(names)); wire.FirstUserMessage+wire.MessageType(most) > wire.MaxMessageType {
		panic(fmt.Sprintf("netcode: Support: with %d message types no number is left for those that one end lacks", most))
	}
	unknown := wire.FirstUserMessage + wire.MessageType(len(ours))
	o.nobody = wire.FirstUserMessage + wire.MessageType(len(names))
	for i := range o.types.In {
		o.types.In[i], o.types.Out[i] = unknown, o.nobody
	}
	last := len(o.types.In) - 1 // No message has this number, so it stays malformed.
	o.types.In[last], o.types.Out[last] = wire.MessageType(last), wire.MessageType(last)
	for n, name := range names {
		for _, t := range ours {
			if there := wire.FirstUserMessage + wire.MessageType(n); t.Name == name {
				o.types.In[there], o.types.Out[t.ID()] = t.ID(), there
			}
		}
	}
}

// olderOf returns the plan for an older build whose protocol has this hash, nil if it is none.
func (p *Protocol) olderOf(hash uint64) *older {
	for _, o := range p.older {
		if o.canon.Hash == hash {
			return o
		}
	}
	return nil
}

// hashWith returns the hash of the protocol that a session speaks.
func (p *Protocol) hashWith(o *older) uint64 {
	if o == nil {
		return p.canon.Hash
	}
	return o.canon.Hash
}

// known lists what a client says in its Hellos, one after the other: its own protocol, and those of older builds.
func (p *Protocol) known() []handshake.Protocol {
	all := []handshake.Protocol{{Hash: p.canon.Hash, Digest: p.canon.Digest}}
	for _, o := range p.older {
		all = append(all, handshake.Protocol{Hash: o.canon.Hash, Digest: o.canon.Digest})
	}
	return all
}

// lacks reports whether the other end lacks a message type of this end.
func (o *older) lacks(t wire.MessageType) bool {
	return o != nil && t >= wire.FirstUserMessage && o.types.Out[t] == o.nobody
}

// state is a configuration of state for the session.
func (o *older) state(c snapshot.Config) snapshot.Config {
	if o != nil {
		c.Unknown, c.Older = o.unknown.Union(o.grown), o.forms
	}
	return c
}

// conn is a configuration of packets for the session.
func (o *older) conn(c peer.ConnConfig) peer.ConnConfig {
	if o != nil {
		c.Types = &o.types
	}
	return c
}

// leaveOut drops a message that the other end lacks. The asker of a question is told.
func (l *connection) leaveOut(p *peer.Post, name string) error {
	l.stats.LeftOut++
	if p.Flags&wire.FlagCall != 0 {
		return fmt.Errorf("%w: %s", ErrLeftOut, name)
	}
	return nil
}

// Protocol returns the hash of the protocol that the session speaks: that of the client's build, see Protocol.Support.
func (c *Session) Protocol() uint64 { return c.server.protocol.hashWith(c.link.older) }

// SharedRows returns the components that the client's build has too. An extension that sends rows to the client numbers them by their
// place among these.
func (c *Session) SharedRows() snapshot.Mask { return c.server.protocol.rowsWith(c.link.older) }

// SharedRows returns the components that the server's build has too, see Session.SharedRows.
func (c *Client) SharedRows() snapshot.Mask { return c.protocol.rowsWith(c.link.older) }

// rowsWith returns the rows that a session knows.
func (p *Protocol) rowsWith(o *older) snapshot.Mask {
	rows := snapshot.AllRows().Below(p.schema.Rows()).Minus(p.schema.Older)
	if o != nil {
		rows = rows.Minus(o.unknown)
	}
	return rows
}

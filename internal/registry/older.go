package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// mostOlder bounds the protocols of Support: a Join is checked with the checksum of each.
const mostOlder = 8

// Older is another protocol that ends of this build also speak: that of an older build, or the plain variant of one. Both
// ends of such a session speak it: the newer end omits everything that it lacks. It is made once, by the freeze. A nil Older
// means a session between equal builds.
type Older struct {
	canon   canon.Description
	unknown snapshot.Mask    // Rows that the older build lacks.
	grown   snapshot.Mask    // Rows with fewer fields in the older build.
	forms   snapshot.Mask    // The rows that replace those of grown.
	types   *peer.Types      // Nil in the plain variant of this build.
	plain   bool             // The plain variant, which servers alone speak.
	nobody  wire.MessageType // A number without a type in the older build. Message types that it lacks have this number.
}

// Support lets sessions speak the protocol of an older build. It panics on a frozen protocol and on too many builds.
func (r *Registry) Support(description []string) {
	r.mustBeOpenTo("Support", "name the older builds")
	if len(r.supported) == mostOlder {
		panic(fmt.Sprintf("netcode: Support: at most %d older builds are supported: leave out the oldest", mostOlder))
	}
	r.supported = append(r.supported, description)
}

// freezeOlder compares the protocols of older builds with this one.
func (r *Registry) freezeOlder() {
	for _, description := range r.supported {
		o := r.compareOlder(description)
		if o.canon.Hash != r.Canon.Hash && r.OlderOf(o.canon.Hash) == nil {
			r.Older = append(r.Older, o)
		}
	}
}

// compareOlder makes the Older for one build. It panics on differences that are not supported.
func (r *Registry) compareOlder(description []string) *Older {
	o := &Older{types: &peer.Types{}}
	here, theirs := map[string]string{}, map[string]bool{}
	for _, e := range r.Canon.Entries {
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
		case have && of != text && kind == kindComponent && r.formOf(text) >= 0:
			o.grown, o.forms = o.grown.With(rowOf(r.Schema, name)), o.forms.With(r.formOf(text))
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
	for _, e := range r.Canon.Entries {
		switch {
		case theirs[kindAndName(e.Text)]:
		case e.Kind != kindComponent && e.Kind != kindMessage:
			panic(fmt.Sprintf("netcode: Support: the older build does not have %s: only components, their fields and messages can be left out", kindAndName(e.Text)))
		case e.Kind == kindComponent:
			o.unknown = o.unknown.With(rowOf(r.Schema, e.Name))
		}
	}
	if r.Upstream && !writes {
		panic("netcode: Support: clients of the older build write no component: only components, their fields and messages can be left out")
	}
	o.number(r.Messages.Types(), messages)
	return o
}

// addForms adds a row for each component that has fewer fields in an older build, behind the component's own row.
func (r *Registry) addForms() {
	var all []*quantize.Plan
	for _, plan := range r.components {
		all = append(all, plan)
		if forms := r.formsOf(plan); forms != nil {
			all = append(all, forms...)
			r.forms = append(r.forms, bandedPlan{base: plan, bands: forms, beyond: make([]float32, len(forms))})
		}
	}
	if len(all) > snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Support: %d components have fewer fields in older builds, and each takes a place among the components, of which there are at most %d%s",
			len(r.forms), snapshot.MaxRows, snapshot.MoreRows))
	}
	r.components = all
}

// formsOf compiles the forms of a component that have fewer fields in older builds.
func (r *Registry) formsOf(plan *quantize.Plan) (forms []*quantize.Plan) {
	if slices.ContainsFunc(r.banded, func(of bandedPlan) bool { return of.base == plan || slices.Contains(of.bands, plan) }) {
		return nil
	}
	for _, text := range slices.Concat(r.supported...) {
		if kind, name := canon.NameOf(text); kind != kindComponent || name != plan.Name() || isWritten(text) {
			continue
		}
		form, err := quantize.CompileOlder(plan.Type(), plan.Name(), canon.Fields(text))
		same := func(other *quantize.Plan) bool { return slices.Equal(other.Fields(), form.Fields()) }
		if err != nil || same(plan) || slices.ContainsFunc(forms, same) {
			continue // compareOlder refuses a form that cannot be compiled.
		}
		r.rows[form] = snapshot.RowOptions{Importance: r.rows[plan].Importance}
		forms = append(forms, form)
	}
	return forms
}

// formOf returns the row with a component's form of an older build, -1 without one. The text behind its fields must be
// unchanged.
func (r *Registry) formOf(text string) int {
	for rows := r.Schema.Older; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		of := rowOf(r.Schema, r.Schema.Plan(row).Name())
		if describePlan(kindComponent, r.Schema.Plan(row)).Text+r.described.components[of] == text {
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

// rowOf returns the row of a component. There must be one.
func rowOf(s *snapshot.Schema, name string) (row int) {
	for s.Plan(row).Name() != name {
		row++
	}
	return row
}

// number maps the message types to the numbers of the older build, which has the types of names, in their order.
func (o *Older) number(ours []*message.Type, names []string) {
	if most := max(len(ours), len(names)); wire.FirstUserMessage+wire.MessageType(most) > wire.MaxMessageType {
		panic(fmt.Sprintf("netcode: Support: with %d message types no number is left for those that one end lacks", most))
	}
	unknown := wire.FirstUserMessage + wire.MessageType(len(ours))
	o.nobody = wire.FirstUserMessage + wire.MessageType(len(names))
	for i := range o.types.In {
		o.types.In[i], o.types.Out[i] = unknown, o.nobody
	}
	last := len(o.types.In) - 1 // No message has this number: it stays malformed.
	o.types.In[last], o.types.Out[last] = wire.MessageType(last), wire.MessageType(last)
	for n, name := range names {
		for _, t := range ours {
			if there := wire.FirstUserMessage + wire.MessageType(n); t.Name == name {
				o.types.In[there], o.types.Out[t.ID()] = t.ID(), there
			}
		}
	}
}

// OlderOf returns the Older with this hash, nil without one.
func (r *Registry) OlderOf(hash uint64) *Older {
	for _, o := range append(r.Older[:len(r.Older):len(r.Older)], r.plains...) {
		if o.canon.Hash == hash {
			return o
		}
	}
	return nil
}

// HashWith returns the hash of the protocol that a session speaks.
func (r *Registry) HashWith(o *Older) uint64 {
	if o == nil {
		return r.Canon.Hash
	}
	return o.canon.Hash
}

// Speaks returns the protocols that a client offers in its Hellos, in order: its own, then those of older builds.
func (r *Registry) Speaks() []handshake.Protocol {
	all := []handshake.Protocol{{Hash: r.Canon.Hash, Digest: r.Canon.Digest}}
	for _, o := range r.Older {
		all = append(all, handshake.Protocol{Hash: o.canon.Hash, Digest: o.canon.Digest})
	}
	return all
}

// Knows returns the protocols that a server speaks, in order: those of Speaks, then their plain variants.
func (r *Registry) Knows() []handshake.Protocol {
	all := r.Speaks()
	for _, o := range r.plains {
		all = append(all, handshake.Protocol{Hash: o.canon.Hash, Digest: o.canon.Digest})
	}
	return all
}

// Lacks reports whether the other end lacks a message type of this end.
func (o *Older) Lacks(t wire.MessageType) bool {
	return o != nil && o.types != nil && t >= wire.FirstUserMessage && o.types.Out[t] == o.nobody
}

// Local returns this end's number of a message type in packets of the session.
func (o *Older) Local(t wire.MessageType) wire.MessageType {
	if o == nil || t < wire.FirstUserMessage {
		return t
	}
	return o.types.In[t]
}

// State returns the configuration of state for the session.
func (o *Older) State(c snapshot.Config) snapshot.Config {
	if o != nil {
		c.Unknown, c.Older, c.Plain = o.unknown.Union(o.grown), o.forms, o.plain
	}
	return c
}

// Conn returns the configuration of packets for the session.
func (o *Older) Conn(c peer.ConnConfig) peer.ConnConfig {
	if o != nil {
		c.Types = o.types
	}
	return c
}

// RowsWith returns the rows that a session knows.
func (r *Registry) RowsWith(o *Older) snapshot.Mask {
	rows := snapshot.AllRows().Below(r.Schema.Rows()).Minus(r.Schema.Older)
	if o != nil {
		rows = rows.Minus(o.unknown)
	}
	return rows
}

package registry

import (
	"fmt"
	"io"
	"strings"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// Kinds of entries in a canonical description.
const (
	kindLimits    = "limits"
	kindComponent = "component"
	kindMessage   = "message"
	kindSection   = "section"
)

// limitOfRows returns the limit on components for the description. It depends on the count, so that a protocol of at most
// 64 components has the same description in every build.
func limitOfRows(components int) int {
	if components <= 64 {
		return 64
	}
	return snapshot.MaxRows
}

// describe returns the entries of limits, components and messages in canonical order. The lists are sorted by wire name.
func (r *Registry) describe() []canon.Entry {
	entries := make([]canon.Entry, 0, 1+len(r.components)+len(r.Handled))
	limits := fmt.Sprintf("%s netcode{version:%d;acks:33;rows:%d;entities:%d;window:%d..%d;packet:%d..%d;reliable:%d;credit:%d;fragments:%d", kindLimits,
		peer.Version, limitOfRows(len(r.components)-r.Schema.Older.Count()), snapshot.MaxEntities, peer.MinWindow, peer.MaxWindow, peer.MinSessionPacket, peer.MaxSessionPacket,
		peer.ReliableWindow, peer.InitialCredit, peer.MaxFragments)
	limits += ";tables:" + r.describeTables()
	if r.unpacked {
		limits += ";unpacked"
	}
	limits += "}"
	entries = append(entries, canon.Entry{Kind: kindLimits, Name: "netcode", Text: limits})
	for row, plan := range r.components {
		if !r.Schema.Older.Has(row) {
			e := describePlan(kindComponent, plan)
			e.Text += r.described.components[row]
			entries = append(entries, e)
		}
	}
	entries = append(entries, r.described.before...)
	for _, m := range r.Handled {
		entries = append(entries, describeMessage(m))
	}
	return entries
}

// describePlan returns the entry of one type.
func describePlan(kind string, plan *quantize.Plan) canon.Entry {
	text := plan.Describe(append([]byte(kind), ' '))
	return canon.Entry{Kind: kind, Name: plan.Name(), Text: string(text)}
}

// describeMessage returns the entry of one message type. Questions and answers are marked at the end.
func describeMessage(m Handled) canon.Entry {
	text := m.Type.Describe([]byte(kindMessage + " "))
	switch m.Role {
	case Question:
		text = append(text, "[question]"...)
	case Answer:
		text = append(text, "[answer]"...)
	}
	return canon.Entry{Kind: kindMessage, Name: m.Type.Name, Text: string(text)}
}

// describeTables returns the tables' part of the description: the hash of the shipped tables and, after a plus, of the
// chosen tables.
func (r *Registry) describeTables() string {
	text := fmt.Sprintf("%016x", delta.Shipped().Hash())
	if r.tables != nil && !r.unpacked {
		text += fmt.Sprintf("+%016x", r.tables.Hash())
	}
	return text
}

// WriteSchema writes the canonical description as a text, one line for each field.
func (r *Registry) WriteSchema(w io.Writer) error {
	var supports []uint64
	for _, o := range r.Older {
		supports = append(supports, o.canon.Hash)
	}
	return r.Canon.WriteLock(w, supports, func(b *strings.Builder, kind, name string) {
		if kind == kindComponent {
			writeOptions(b, r.Schema.Options(rowOf(r.Schema, name)))
		}
	})
}

// writeOptions writes the options of a component, one line each.
func writeOptions(b *strings.Builder, o snapshot.RowOptions) {
	if o.Every > 1 {
		fmt.Fprintf(b, "option every %d\n", o.Every)
	}
	if o.Once {
		b.WriteString("option once\n")
	}
	if o.Marked {
		b.WriteString("option marked\n")
	}
	if o.Importance != 0 {
		fmt.Fprintf(b, "option importance %v\n", float64(o.Importance)/snapshot.NormalWeight)
	}
}

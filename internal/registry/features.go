package registry

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// FreeSection lets the registry choose the type of a packet section.
const FreeSection wire.MessageType = 255

// Feature is the part of an extension that changes the protocol. The fields are those of extend.Extension.
type Feature struct {
	Name               string             // Unique.
	Kind               string             // The kind of the entries that it describes.
	BeforeMessages     bool               // Its entries precede those of messages.
	ToServer, ToClient wire.MessageType   // The types of its packet sections; once frozen, the chosen types.
	Upstream           bool               // Clients send state.
	Freeze             func(at *Freezing) // May be nil.
}

// featureName is the name of a feature in errors.
type featureName string

// String implements fmt.Stringer.
func (n featureName) String() string { return string(n) }

// featurePlan is a plan made by Plan.
type featurePlan struct {
	call string
	plan *quantize.Plan
}

// described has the parts of the canonical description that features add.
type described struct {
	before, behind []canon.Entry // Before and behind the messages.
	components     []string      // By row.
}

// Extend adds a feature. It panics on a name that is taken and on a frozen protocol.
func (r *Registry) Extend(f Feature) {
	r.MustBeOpen("Extend", featureName(f.Name))
	if slices.ContainsFunc(r.Features, func(other Feature) bool { return other.Name == f.Name }) {
		fail("Extend", featureName(f.Name), "the protocol has this extension")
	}
	r.Features = append(r.Features, f)
	r.Upstream = r.Upstream || f.Upstream
}

// Plan compiles a type of a packet section. call is the name of the feature's function.
func (r *Registry) Plan(call string, t reflect.Type, o *Options) *quantize.Plan {
	if o.Last != "" {
		fail(call, t, "%s is an option of messages, for Handle and Answer", o.Last)
	}
	plan := compileEvents(call, t, o.Name)
	for _, other := range r.plans {
		if other.call == call {
			mustDiffer(call, t, o.Name, other.plan.Type(), other.plan.Name())
		}
	}
	r.plans = append(r.plans, featurePlan{call, plan})
	return plan
}

// freezeFeatures calls Freeze of the features, once the rows are known.
func (r *Registry) freezeFeatures() {
	r.described = described{components: make([]string, r.Schema.Rows())}
	r.settings = make([][]any, r.Schema.Rows())
	r.chooseSections()
	for i := range r.Features {
		if f := &r.Features[i]; f.Freeze != nil {
			f.Freeze(&Freezing{Registry: r, Unpacked: r.unpacked, of: f})
		}
	}
	byKind := func(a, b canon.Entry) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	}
	slices.SortStableFunc(r.described.before, byKind)
	slices.SortStableFunc(r.described.behind, byKind)
}

// chooseSections assigns types to packet sections with FreeSection, in the order of their features' names.
func (r *Registry) chooseSections() {
	byName := make([]*Feature, len(r.Features))
	for i := range r.Features {
		byName[i] = &r.Features[i]
	}
	slices.SortFunc(byName, func(a, b *Feature) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range byName {
		var chosen []string
		for _, way := range [...]struct {
			name string
			of   *wire.MessageType
		}{{"to server", &f.ToServer}, {"to client", &f.ToClient}} {
			if *way.of == FreeSection {
				*way.of = r.freeSection(f.Name)
				chosen = append(chosen, fmt.Sprintf("%s:%d", way.name, *way.of))
			}
		}
		if chosen != nil {
			text := fmt.Sprintf("%s %s{%s}", kindSection, f.Name, strings.Join(chosen, ";"))
			r.described.behind = append(r.described.behind, canon.Entry{Kind: kindSection, Name: f.Name, Text: text})
		}
	}
}

// freeSection returns the next free type of a packet section.
func (r *Registry) freeSection(name string) wire.MessageType {
	r.sections = max(r.sections, wire.MessageInput) + 1
	if r.sections >= wire.FirstUserMessage {
		fail("Extend", featureName(name), "too many packet sections: a protocol has at most %d of them", wire.FirstUserMessage-wire.MessageInput-1)
	}
	return r.sections
}

// Freezing is the registry during the freeze, for one feature.
type Freezing struct {
	*Registry
	Unpacked bool // Packing is off.

	of *Feature
}

// Describe adds an entry to the canonical description, in the form "kind name{...}".
func (f *Freezing) Describe(name, text string) {
	list := &f.described.behind
	if f.of.BeforeMessages {
		list = &f.described.before
	}
	*list = append(*list, canon.Entry{Kind: f.of.Kind, Name: name, Text: text})
}

// DescribeComponent appends a text to the entry of a component, behind its fields.
func (f *Freezing) DescribeComponent(row int, text string) { f.described.components[row] += text }

// Set stores a setting of a component.
func (f *Freezing) Set(row int, setting any) { f.settings[row] = append(f.settings[row], setting) }

// Settings returns the settings of a component, none for an unknown row.
func (r *Registry) Settings(row int) []any {
	if row < 0 || row >= len(r.settings) {
		return nil
	}
	return r.settings[row]
}

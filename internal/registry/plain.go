package registry

import (
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/internal/canon"
)

// Plain makes servers take clients of the plain profile.
func (r *Registry) Plain() {
	r.mustBeOpenTo("Plain", "take plain clients")
	r.plain = true
}

// freezePlain makes the plain variants of this build and of the older ones.
func (r *Registry) freezePlain() {
	if !r.plain {
		return
	}
	if r.unpacked {
		panic("netcode: Plain: packing is off (Debug), and the plain profile is packed: use one of both")
	}
	r.plains = append(r.plains, plainOf(&Older{canon: r.Canon}))
	for _, o := range r.Older {
		r.plains = append(r.plains, plainOf(o))
	}
}

// plainOf returns the plain variant of a protocol. Its first entry, the limits, has "plain" in place of the tables.
func plainOf(o *Older) *Older {
	p := *o
	entries := slices.Clone(o.canon.Entries)
	limits, _, _ := strings.Cut(entries[0].Text, ";tables:")
	entries[0].Text = limits + ";plain}"
	p.canon, p.plain = canon.New(entries), true
	return &p
}

// PlainCanon returns the description of the plain variant of this build, nil if servers do not take plain clients.
func (r *Registry) PlainCanon() *canon.Description {
	if len(r.plains) == 0 {
		return nil
	}
	return &r.plains[0].canon
}

// Plain reports whether a session is with a client of the plain profile.
func (o *Older) Plain() bool { return o != nil && o.plain }

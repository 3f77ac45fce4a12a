package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Change is one difference between two locks.
type Change struct {
	Entry  string // "component Position"
	What   string // "the field X was f32 and is f32half"
	Breaks string // whom it breaks; empty: nobody
	WayOut string // alternative, if it breaks somebody
}

// String returns the change as a line of text.
func (c Change) String() string {
	if c.Breaks == "" {
		return fmt.Sprintf("compatible  %s: %s", c.Entry, c.What)
	}
	return fmt.Sprintf("BREAKS      %s: %s\n            breaks: %s\n            way out: %s", c.Entry, c.What, c.Breaks, c.WayOut)
}

// bothRefused describes whom a change of the protocol hash breaks.
const bothRefused = "a client of one build is refused by a server of the other, whichever is older"

// Values of Change.WayOut.
const (
	together = "release server and clients together"
	support  = "give the lock file of the older build to schema.Support in the newer one"
)

// Compare returns the changes from one lock to another, in the order of the old one, nil without changes. Builds play together if
// no change breaks anybody. If one lock supports the other, which freezing has checked, no change does.
func Compare(before, after *Lock) (changes []Change) {
	renamed := map[*Entry]bool{}
	for i := range before.Entries {
		e := &before.Entries[i]
		now := after.find(e.Kind, e.Name)
		if now != nil {
			changes = append(changes, compareEntry(e, now, before.grows(e, now))...)
			continue
		}
		c := Change{Entry: e.String(), What: "it is gone", Breaks: bothRefused, WayOut: "keep it registered until no player has the old build, or " + together}
		if e.Kind == "message" {
			c.WayOut = support + ", or " + together
		}
		if to := renamedTo(e, before, after); to != nil && !renamed[to] {
			renamed[to] = true
			c.What = fmt.Sprintf("it has the wire name %s now", to.Name)
			c.WayOut = fmt.Sprintf("keep the wire name: register the type with netcode.Named(%q)", e.Name)
		}
		changes = append(changes, c)
	}
	for i := range after.Entries {
		if e := &after.Entries[i]; before.find(e.Kind, e.Name) == nil && !renamed[e] {
			c := Change{Entry: e.String(), What: "it is new", Breaks: bothRefused, WayOut: together}
			if e.Kind == "component" || e.Kind == "message" {
				c.WayOut = support + ", or " + together
			}
			changes = append(changes, c)
		}
	}
	if slices.Contains(after.Supports, before.Hash) || slices.Contains(before.Supports, after.Hash) {
		for i := range changes {
			if c := &changes[i]; c.Breaks != "" {
				c.What, c.Breaks = c.What+", and left out between the two builds", ""
			}
		}
	}
	return changes
}

// renamedTo returns the new entry that has the fields of an old one and another name, nil if there is none. An entry without
// fields cannot be recognised.
func renamedTo(e *Entry, before, after *Lock) *Entry {
	for i := range after.Entries {
		now := &after.Entries[i]
		if len(e.Fields) > 0 && now.Kind == e.Kind && before.find(now.Kind, now.Name) == nil && slices.Equal(now.Fields, e.Fields) && now.Behind == e.Behind {
			return now
		}
	}
	return nil
}

// grows reports whether now is a component with all fields of e, in order, and more, so that Protocol.Support can omit the new
// ones.
func (l *Lock) grows(e, now *Entry) bool {
	at := 0
	for _, field := range now.Fields {
		if at < len(e.Fields) && e.Fields[at] == field {
			at++
		}
	}
	banded := slices.ContainsFunc(l.Entries, func(of Entry) bool { return of.Behind == " of "+e.Name })
	return e.Kind == "component" && at == len(e.Fields) && e.Behind == now.Behind && !strings.HasPrefix(e.Behind, "[") && !strings.HasPrefix(e.Behind, " of ") && !banded
}

// compareEntry returns the changes of an entry that both locks have. grows is the result of Lock.grows.
func compareEntry(e, now *Entry, grows bool) (changes []Change) {
	breaks := func(what, wayOut string) {
		changes = append(changes, Change{Entry: e.String(), What: what, Breaks: bothRefused, WayOut: wayOut + ", or " + together})
	}
	if what := compareFields(e.Fields, now.Fields); what != "" {
		switch {
		case grows:
			breaks(what, support)
		case e.Kind != "limits":
			breaks(what, fmt.Sprintf("leave %s as it was, and add another type beside it", e.Name))
		case strings.HasPrefix(what, "the field tables "):
			breaks("state has other prefix codes: "+what, "give UseTables the tables of the old build, and keep its version of netcode")
		default:
			breaks(what, "keep the version of netcode, and call Debug in both builds or in none")
		}
	}
	if e.Behind != now.Behind {
		breaks(fmt.Sprintf("it was sent %s and is sent %s", orWord(e.Behind, "plainly"), orWord(now.Behind, "plainly")), fmt.Sprintf("leave %s as it was, and add another type beside it", e.Name))
	}
	if !slices.Equal(e.Options, now.Options) {
		changes = append(changes, Change{Entry: e.String(), What: fmt.Sprintf("its options were %s and are %s: only the server asks for them",
			orWord(strings.Join(e.Options, ", "), "none"), orWord(strings.Join(now.Options, ", "), "none"))})
	}
	return changes
}

// orWord returns text, or word if text is empty.
func orWord(text, word string) string {
	return cmp.Or(strings.TrimSpace(text), word)
}

// compareFields describes how a list of fields changed; "" if it did not.
func compareFields(before, after []string) string {
	at := 0
	for at < len(before) && at < len(after) && before[at] == after[at] {
		at++
	}
	switch {
	case at == len(before) && at == len(after):
		return ""
	case at == len(before):
		return fmt.Sprintf("it has the new field %s at the end", strings.Join(after[at:], ", "))
	case at == len(after):
		return fmt.Sprintf("it has lost the field %s at the end", strings.Join(before[at:], ", "))
	case len(before) == len(after) && sameFields(before, after):
		return fmt.Sprintf("its fields have another order, from %s on", before[at])
	}
	path, was, _ := strings.Cut(before[at], ":")
	for _, field := range after {
		if now, kind, _ := strings.Cut(field, ":"); now == path {
			if kind == was {
				return fmt.Sprintf("it has the new field %s before the end", after[at])
			}
			return fmt.Sprintf("the field %s was %s and is %s", path, was, kind)
		}
	}
	return fmt.Sprintf("the field %s is gone, or has another name: %s stands there", before[at], after[at])
}

// sameFields reports whether two lists have the same fields in any order.
func sameFields(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

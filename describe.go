package netcode

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// Kinds of entries, as they stand in a canonical description.
const (
	kindLimits    = "limits"
	kindComponent = "component"
	kindMessage   = "message"
	kindSection   = "section"
)

// kinds lists the kinds in the order of their entries.
func (p *Protocol) kinds() (kinds []string) {
	for _, e := range p.entries {
		if !slices.Contains(kinds, e.kind) {
			kinds = append(kinds, e.kind)
		}
	}
	return kinds
}

// entry is one line of the canonical description of a protocol: "component Position{X:f32;Y:f32}". The first entry
// holds the limits that shape what travels, then come the components, the messages and what extensions describe, each by
// wire name.
type entry struct {
	kind string
	name string
	text string
}

// describe lists the entries of limits, components and messages in canonical order; the lists are sorted by wire name.
func (p *Protocol) describe() []entry {
	entries := make([]entry, 0, 1+len(p.components)+len(p.handled))
	limits := fmt.Sprintf("%s netcode{version:%d;acks:33;rows:%d;entities:%d;window:%d..%d;packet:%d..%d;reliable:%d;credit:%d;fragments:%d", kindLimits,
		peer.Version, snapshot.MaxRows, snapshot.MaxEntities, MinWindow, MaxWindow, MinPacketSize, MaxPacketSize,
		peer.ReliableWindow, peer.InitialCredit, peer.MaxFragments)
	limits += ";tables:" + p.describeTables()
	if p.unpacked {
		limits += ";unpacked"
	}
	limits += "}"
	entries = append(entries, entry{kindLimits, "netcode", limits})
	for _, plan := range p.components {
		entries = append(entries, describePlan(kindComponent, plan))
	}
	entries = append(entries, p.described.before...)
	for _, m := range p.handled {
		entries = append(entries, describeMessage(m))
	}
	return entries
}

// describePlan is the entry of one type.
func describePlan(kind string, plan *quantize.Plan) entry {
	text := plan.Describe(append([]byte(kind), ' '))
	return entry{kind, plan.Name(), string(text)}
}

// describeMessage is the entry of one message type. Questions and answers say so after the rest.
func describeMessage(m handled) entry {
	text := m.of.Describe([]byte(kindMessage + " "))
	switch m.role {
	case question:
		text = append(text, "[question]"...)
	case answer:
		text = append(text, "[answer]"...)
	}
	return entry{kindMessage, m.of.Name, string(text)}
}

// digest gives one 32-bit hash for each entry and one 64-bit hash over all of them, FNV-1a both; in the latter a line
// feed follows each entry.
func digest(entries []entry) (peer.Digest, uint64) {
	var each []uint32
	whole := fnv.New64a()
	for _, e := range entries {
		one := fnv.New32a()
		_, _ = one.Write([]byte(e.text))
		each = append(each, one.Sum32())
		_, _ = whole.Write([]byte(e.text))
		_, _ = whole.Write([]byte{'\n'})
	}
	return peer.NewDigest(each), whole.Sum64()
}

// firstDifference is what a refusal says to a client whose protocol is another one: the place of the first entry that
// differs and our description of it, "3 component Position{...}". The description is empty where the client has an
// entry more. It is cut to what a refusal may carry.
func (p *Protocol) firstDifference(theirs peer.Digest) string {
	place, _ := p.digest.FirstDifference(theirs)
	detail := strconv.Itoa(place)
	if place < len(p.entries) {
		detail += " " + p.entries[place].text
	}
	return detail
}

// difference says in words where a client's protocol first differs, for the server's log. The server has the hashes of the client's
// entries and not their text, so it finds out from their order which end lacks an entry.
func (p *Protocol) difference(theirs peer.Digest) string {
	place, found := p.digest.FirstDifference(theirs)
	switch {
	case !found || place >= peer.MaxDigest:
		return "the protocols differ beyond what a handshake can tell"
	case place >= len(p.entries):
		last := p.entries[len(p.entries)-1]
		return fmt.Sprintf("the client has %d entries and the server %d: those behind %s %q are not here", theirs.Types(), len(p.entries), last.kind, last.name)
	}
	ours := p.entries[place]
	kindAndName := fmt.Sprintf("%s %q", ours.kind, ours.name)
	switch {
	case place >= theirs.Len() || contains(p.digest, place+1, theirs.At(place)):
		return "the client does not have " + kindAndName
	case contains(theirs, place+1, p.digest.At(place)):
		return "the client registered a type that the server did not: in the order of kinds and wire names it comes just before " + kindAndName
	}
	return fmt.Sprintf("%s differs, or the client does not have it: here it is %s", kindAndName, ours.text)
}

// contains reports whether a hash is in a digest, at a place or behind it.
func contains(d peer.Digest, from int, hash uint32) bool {
	for i := from; i < d.Len(); i++ {
		if d.At(i) == hash {
			return true
		}
	}
	return false
}

// explain turns the detail of a WrongProtocol refusal into a sentence that names the first type, and where possible
// the first field, that differs. The detail comes from the server and is treated as any text from afar.
func (p *Protocol) explain(detail string) string {
	number, theirs, _ := strings.Cut(detail, " ")
	place, err := strconv.Atoi(number)
	if err != nil || place < 0 {
		return "the server refused without a readable reason"
	}
	var ours entry
	if place < len(p.entries) {
		ours = p.entries[place]
	}
	kind, name := splitEntry(theirs)
	switch {
	case theirs == "" && ours.text == "":
		return "the protocols differ beyond what a handshake can tell"
	case theirs == "":
		return fmt.Sprintf("the server does not have %s %q", ours.kind, ours.name)
	case ours.text == "" || p.sortsBefore(kind, name, ours):
		return fmt.Sprintf("the client does not have %s %q", kind, name)
	case kind != ours.kind || name != ours.name:
		return fmt.Sprintf("the server does not have %s %q", ours.kind, ours.name)
	}
	return fmt.Sprintf("%s %q differs: %s", kind, name, firstField(theirs, ours.text))
}

// splitEntry takes kind and name off the front of an entry's text. A wire name may hold any character but the brace
// that opens the list of fields is the first one after it, as Describe writes it.
func splitEntry(text string) (kind, name string) {
	kind, rest, _ := strings.Cut(text, " ")
	name, _, _ = strings.Cut(rest, "{")
	return kind, name
}

// sortsBefore tells if an entry of that kind and name stands before ours in the canonical order.
func (p *Protocol) sortsBefore(kind, name string, ours entry) bool {
	if kind != ours.kind {
		return slices.Index(p.kinds(), kind) < slices.Index(p.kinds(), ours.kind)
	}
	return name < ours.name
}

// firstField names the first field in which two descriptions of one type differ.
func firstField(theirs, ours string) string {
	server, client := fieldsOf(theirs), fieldsOf(ours)
	for i := range max(len(server), len(client)) {
		switch {
		case i >= len(server):
			return fmt.Sprintf("the client has the field %s more", client[i])
		case i >= len(client):
			return fmt.Sprintf("the server has the field %s more", server[i])
		case server[i] != client[i]:
			if a, b := strings.CutPrefix(server[i], "tables:"); b && strings.HasPrefix(client[i], "tables:") {
				return fmt.Sprintf("the server codes state with the tables %s, the client with %s: give UseTables the same file on both sides",
					a, strings.TrimPrefix(client[i], "tables:"))
			}
			return fmt.Sprintf("the server has the field %s, the client %s", server[i], client[i])
		}
	}
	if server, client := behindFields(theirs), behindFields(ours); server != client {
		return fmt.Sprintf("the server has it %s, the client %s", inWords(server), inWords(client))
	}
	return "the server's description was cut off"
}

// fieldsOf splits "Name{A:f32;B:f32}[both ways;Unreliable 0]" into its fields.
func fieldsOf(text string) []string {
	_, list, _ := strings.Cut(text, "{")
	if end := strings.LastIndexByte(list, '}'); end >= 0 {
		list = list[:end]
	}
	if list == "" {
		return nil
	}
	return strings.Split(list, ";")
}

// behindFields is what follows the fields: how a message travels.
func behindFields(text string) string {
	return text[strings.LastIndexByte(text, '}')+1:]
}

// inWords says how a type travels: only that of a component which the server alone writes says nothing.
func inWords(behind string) string {
	if behind == "" {
		return "without WrittenBy"
	}
	return "as " + behind
}

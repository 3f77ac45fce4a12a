package canon

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/internal/peer"
)

// Entry is one line of the canonical description of a protocol, such as "component Position{X:f32;Y:f32}". The first entry has
// the limits that determine packets. Then come components, entries of extensions, and messages, each kind sorted by wire name.
type Entry struct {
	Kind string // First word.
	Name string // Wire name.
	Text string // The line.
}

// Description is the entries of a protocol and their hashes.
type Description struct {
	Entries []Entry     // In canonical order.
	Digest  peer.Digest // One hash per entry.
	Hash    uint64      // Hash of all entries.
}

// New computes the hashes of entries.
func New(entries []Entry) Description {
	d := Description{Entries: entries}
	d.Digest, d.Hash = digest(entries)
	return d
}

// digest returns a 32-bit hash for each entry and a 64-bit hash of all, both FNV-1a. For the latter a line feed follows each
// entry.
func digest(entries []Entry) (peer.Digest, uint64) {
	var each []uint32
	whole := fnv.New64a()
	for _, e := range entries {
		one := fnv.New32a()
		_, _ = one.Write([]byte(e.Text))
		each = append(each, one.Sum32())
		_, _ = whole.Write([]byte(e.Text))
		_, _ = whole.Write([]byte{'\n'})
	}
	return peer.NewDigest(each), whole.Sum64()
}

// FirstDifference returns the text of a refusal for a client with another protocol: the index of the first entry that differs and
// our description of it, such as "3 component Position{...}". The description is empty if the client has an additional entry.
func (d *Description) FirstDifference(theirs peer.Digest) string {
	place, _ := d.Digest.FirstDifference(theirs)
	detail := strconv.Itoa(place)
	if place < len(d.Entries) {
		detail += " " + d.Entries[place].Text
	}
	return detail
}

// Difference describes the first difference of a client's protocol, for the server's log. The server has only the hashes of the
// client's entries, so it finds from their order which end lacks an entry.
func (d *Description) Difference(theirs peer.Digest) string {
	place, found := d.Digest.FirstDifference(theirs)
	switch {
	case !found || place >= peer.MaxDigest:
		return "the protocols differ beyond what a handshake can tell"
	case place >= len(d.Entries):
		last := d.Entries[len(d.Entries)-1]
		return fmt.Sprintf("the client has %d entries and the server %d: those behind %s %q are not here", theirs.Types(), len(d.Entries), last.Kind, last.Name)
	}
	ours := d.Entries[place]
	kindAndName := fmt.Sprintf("%s %q", ours.Kind, ours.Name)
	switch {
	case place >= theirs.Len() || contains(d.Digest, place+1, theirs.At(place)):
		return "the client does not have " + kindAndName
	case contains(theirs, place+1, d.Digest.At(place)):
		return "the client registered a type that the server did not: in the order of kinds and wire names it comes just before " + kindAndName
	}
	return fmt.Sprintf("%s differs, or the client does not have it: here it is %s", kindAndName, ours.Text)
}

// contains reports whether a digest contains a hash from an index on.
func contains(d peer.Digest, from int, hash uint32) bool {
	for i := from; i < d.Len(); i++ {
		if d.At(i) == hash {
			return true
		}
	}
	return false
}

// Explain turns the detail of a refusal for another protocol into a sentence that names the first type that differs, and its first
// different field if possible. The detail comes from the server and is untrusted.
func (d *Description) Explain(detail string) string {
	number, theirs, _ := strings.Cut(detail, " ")
	place, err := strconv.Atoi(number)
	if err != nil || place < 0 {
		return "the server refused without a readable reason"
	}
	var ours Entry
	if place < len(d.Entries) {
		ours = d.Entries[place]
	}
	kind, name := NameOf(theirs)
	switch {
	case theirs == "" && ours.Text == "":
		return "the protocols differ beyond what a handshake can tell"
	case theirs == "":
		return fmt.Sprintf("the server does not have %s %q", ours.Kind, ours.Name)
	case ours.Text == "" || d.sortsBefore(kind, name, ours):
		return fmt.Sprintf("the client does not have %s %q", kind, name)
	case kind != ours.Kind || name != ours.Name:
		return fmt.Sprintf("the server does not have %s %q", ours.Kind, ours.Name)
	}
	return fmt.Sprintf("%s %q differs: %s", kind, name, firstField(theirs, ours.Text))
}

// WriteLock writes the description as a lock file. options, unless it is nil, adds lines behind an entry.
func (d *Description) WriteLock(w io.Writer, supports []uint64, options func(b *strings.Builder, kind, name string)) error {
	var b strings.Builder
	b.WriteString("# The protocol of a game, by Protocol.WriteSchema. Change the game, and not this file.\n")
	fmt.Fprintf(&b, "schema 1 %016x\n", d.Hash)
	for _, hash := range supports {
		fmt.Fprintf(&b, "supports %016x\n", hash)
	}
	for _, e := range d.Entries {
		kind, name := NameOf(e.Text)
		fmt.Fprintf(&b, "\n%s %s #%08x {\n", kind, name, ID(kind, name))
		for _, field := range Fields(e.Text) {
			fmt.Fprintf(&b, "\t%s\n", field)
		}
		fmt.Fprintf(&b, "}%s\n", Behind(e.Text))
		if options != nil {
			options(&b, kind, name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NameOf returns kind and name from the start of an entry's text. The first brace begins the fields, since a wire name has none.
func NameOf(text string) (kind, name string) {
	kind, rest, _ := strings.Cut(text, " ")
	name, _, _ = strings.Cut(rest, "{")
	return kind, name
}

// ID returns a number for an entry that depends on kind and wire name only: FNV-1a 32 of both.
func ID(kind, name string) uint32 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(kind + " " + name))
	return sum.Sum32()
}

// sortsBefore reports whether an entry of this kind and name precedes ours in canonical order.
func (d *Description) sortsBefore(kind, name string, ours Entry) bool {
	if kind != ours.Kind {
		return slices.Index(d.kinds(), kind) < slices.Index(d.kinds(), ours.Kind)
	}
	return name < ours.Name
}

// kinds returns the kinds in canonical order.
func (d *Description) kinds() (kinds []string) {
	for _, e := range d.Entries {
		if !slices.Contains(kinds, e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// firstField describes the first field that differs between two descriptions of one type.
func firstField(theirs, ours string) string {
	server, client := Fields(theirs), Fields(ours)
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
	const predicted = " predicted" // As predict.Register describes a component.
	switch server, client := Behind(theirs), Behind(ours); {
	case server == client:
	case strings.Replace(server, predicted, "", 1) == client:
		return "the server predicts it (predict.Register), the client does not"
	case strings.Replace(client, predicted, "", 1) == server:
		return "the client predicts it (predict.Register), the server does not"
	default:
		return fmt.Sprintf("the server has it %s, the client %s", inWords(server), inWords(client))
	}
	return "the server's description was cut off"
}

// Fields splits "component Name{A:f32;B:f32}[owner]" into its fields. Nested braces belong to their field.
func Fields(text string) (fields []string) {
	_, list, _ := strings.Cut(text, "{")
	if end := strings.LastIndexByte(list, '}'); end >= 0 {
		list = list[:end]
	}
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ';':
			if depth == 0 {
				fields, from = append(fields, list[from:i]), i+1
			}
		}
	}
	if list == "" {
		return nil
	}
	return append(fields, list[from:])
}

// Behind returns the text after the fields: how a message is sent.
func Behind(text string) string {
	return text[strings.LastIndexByte(text, '}')+1:]
}

// inWords describes how a type is sent. A component that only the server writes has no such text.
func inWords(behind string) string {
	if behind == "" {
		return "without WrittenBy"
	}
	return "as " + strings.TrimSpace(behind)
}

package netcode

import (
	"fmt"
	"io"
	"strings"

	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/snapshot"
)

// WriteSchema writes the canonical description of a protocol as a text to read and to compare line by line: each field is a line. Options
// of components that only the server asks for are in it too. Package schema compares such texts, and keeps one in a file.
// WriteSchema freezes the protocol. The error is that of w.
func WriteSchema(w io.Writer, p *Protocol) error {
	p.freeze()
	var b strings.Builder
	b.WriteString("# The protocol of a game, by netcode.WriteSchema. Change the game, and not this file.\n")
	fmt.Fprintf(&b, "schema 1 %016x\n", p.canon.Hash)
	for _, o := range p.older {
		fmt.Fprintf(&b, "supports %016x\n", o.canon.Hash)
	}
	for _, e := range p.canon.Entries {
		kind, name := canon.NameOf(e.Text)
		fmt.Fprintf(&b, "\n%s %s #%08x {\n", kind, name, canon.ID(kind, name))
		for _, field := range canon.Fields(e.Text) {
			fmt.Fprintf(&b, "\t%s\n", field)
		}
		fmt.Fprintf(&b, "}%s\n", canon.Behind(e.Text))
		if kind == kindComponent {
			writeOptions(&b, p.schema.Options(rowOf(p.schema, name)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOptions writes the options of a component, each as a line.
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

package js

import (
	"fmt"
	"strings"
)

// object is the type of a row as a tree: what its paths have in common is one object.
type object struct {
	names []string // in order
	of    map[string]*object
	array bool   // its names are indexes
	leaf  string // the type, if it is a field
}

// rowType returns the TypeScript type of fields such as "Pos[0].X:f32". The field of a scalar has the path "value".
func rowType(fields []string) (string, error) {
	root := &object{}
	for _, f := range fields {
		path, kind, found := strings.Cut(f, ":")
		if !found {
			if strings.HasPrefix(f, "~") || f == "unpacked" {
				continue // an extrapolation of the component's own; packing that is off
			}
			return "", fmt.Errorf("js: a field without a kind: %q", f)
		}
		leaf, err := kindType(kind)
		if err != nil {
			return "", err
		}
		if path == "value" && len(fields) == 1 {
			return leaf, nil
		}
		root.put(strings.ReplaceAll(path, "[", ".["), leaf)
	}
	return root.String(), nil
}

// put adds a field to the tree.
func (o *object) put(path, leaf string) {
	name, rest, more := strings.Cut(path, ".")
	if o.of == nil {
		o.of = map[string]*object{}
	}
	o.array = strings.HasPrefix(name, "[")
	child := o.of[name]
	if child == nil {
		child = &object{}
		o.of[name] = child
		o.names = append(o.names, name)
	}
	if more {
		child.put(rest, leaf)
	} else {
		child.leaf = leaf
	}
}

// String returns the type.
func (o *object) String() string {
	switch {
	case o.leaf != "":
		return o.leaf
	case o.array:
		return "Array<" + o.of[o.names[0]].String() + ">"
	}
	var b strings.Builder
	b.WriteString("{")
	for _, name := range o.names {
		fmt.Fprintf(&b, " %s: %s;", name, o.of[name])
	}
	b.WriteString(" }")
	return b.String()
}

// kindType returns the TypeScript type of a field of a kind, as in "u16[0,100]" or "list8(Kind:u16 Count:u8)".
func kindType(kind string) (string, error) {
	if inner, is := strings.CutPrefix(kind, "list"); is {
		_, fields, _ := strings.Cut(strings.TrimSuffix(inner, ")"), "(")
		element, err := rowType(strings.Split(fields, " "))
		return "Array<" + element + ">", err
	}
	switch bare, _, _ := strings.Cut(kind, "~"); {
	case bare == "bool":
		return "boolean", nil
	case bare == "entity":
		return "EntityID | null", nil
	case strings.HasPrefix(bare, "text"):
		return "string", nil
	case strings.HasPrefix(bare, "quat"):
		return "[number, number, number, number]", nil
	case strings.HasPrefix(bare, "u64"), strings.HasPrefix(bare, "i64"):
		return "bigint", nil
	case strings.HasPrefix(bare, "u"), strings.HasPrefix(bare, "i"), strings.HasPrefix(bare, "f32"), strings.HasPrefix(bare, "f64"):
		return "number", nil
	}
	return "", fmt.Errorf("js: a field of kind %q, which the JavaScript client does not know", kind)
}

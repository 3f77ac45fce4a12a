package js

import (
	"fmt"
	"regexp"
	"strings"
)

// layoutType returns the TypeScript type of a message that a method of its type writes: of its layout (PROTOCOL.md, section 8, Serialized
// messages). What a branch has is optional. A layout that depends on data in a way without a form has the type any.
func layoutType(layout string) (string, error) {
	p := &layoutParser{text: layout}
	root := &object{}
	p.entries(root, "", false)
	if p.at < len(p.text) {
		p.fail()
	}
	if p.open {
		return "any", nil
	}
	return root.String(), p.err
}

// layoutParser reads a layout.
type layoutParser struct {
	text string
	at   int
	open bool // it depends on data
	err  error
}

// Forms of a layout.
const (
	layoutPath   = `^[^:;{}|?]*:`
	layoutArray  = `^\[(\.\.)?\d+\]`
	layoutAgain  = `^\^\d+`
	layoutScalar = `^(bool|rune|string|[iuf]\d+)(packed|half|axis|any)?(\d+)?(\[[^\]]*\])?`
	layoutWhen   = `^(\*|[-\d.,]+):`
)

func (p *layoutParser) rest() string { return p.text[p.at:] }

func (p *layoutParser) fail() {
	if p.err == nil {
		p.err = fmt.Errorf("js: a layout that is not understood at %.20q", p.rest())
	}
	p.at = len(p.text)
}

func (p *layoutParser) eat(s string) bool {
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *layoutParser) match(form string) []string {
	m := regexp.MustCompile(form).FindStringSubmatch(p.rest())
	if m != nil {
		p.at += len(m[0])
	}
	return m
}

// entries reads values into an object, up to one of the characters ends.
func (p *layoutParser) entries(to *object, ends string, optional bool) {
	for !p.ended(ends) {
		if p.eat("...") {
			p.open = true
			p.at = len(p.text)
			return
		}
		path := p.match(layoutPath)
		if path == nil {
			p.fail()
			return
		}
		name := strings.TrimSuffix(path[0], ":")
		kind := p.kind(to)
		if optional {
			name += "?"
		}
		if name == "[]" { // An element by itself has no name.
			p.open = true
		}
		to.put(strings.ReplaceAll(name, "[", ".["), kind)
		if !p.eat(";") && !p.ended(ends) {
			p.fail()
		}
	}
}

func (p *layoutParser) ended(ends string) bool {
	return p.at >= len(p.text) || strings.ContainsRune(ends, rune(p.text[p.at]))
}

// kind reads a kind and returns its type. Branches add their values to the object around.
func (p *layoutParser) kind(around *object) string {
	switch {
	case p.eat("whole{"), p.eat("{"):
		return p.nested("}")
	case p.match(layoutAgain) != nil:
		return "any" // a value within itself
	case p.match(layoutArray) != nil:
		if p.eat("?{") {
			return "Array<" + p.nested("}") + ">"
		}
		return "Array<" + p.kind(&object{}) + ">"
	}
	m := p.match(layoutScalar)
	if m == nil {
		p.fail()
		return "any"
	}
	typ := map[bool]string{true: "bigint", false: "number"}[strings.HasSuffix(m[1], "64") && m[1][0] != 'f']
	switch m[1] {
	case "bool":
		typ = "boolean"
	case "rune", "string":
		typ = "string"
	}
	if !p.eat("?") {
		return typ
	}
	return p.choice(typ, around)
}

func (p *layoutParser) nested(end string) string {
	inner := &object{}
	p.entries(inner, end, false)
	if !p.eat(end) {
		p.fail()
	}
	return inner.String()
}

// choice reads what stands behind a question mark: an optional value, or branches.
func (p *layoutParser) choice(typ string, around *object) string {
	switch {
	case p.ended(";}|"):
		p.open = true
		return "any"
	case !p.eat("{"):
		return p.kind(&object{}) + " | null"
	}
	if typ != "boolean" {
		p.branches(around)
		return typ
	}
	before := p.at
	one := &object{}
	p.entries(one, "|}", false)
	if p.eat("}") {
		return one.String() + " | null"
	}
	p.at = before
	p.branches(around)
	return typ
}

// branches reads alternatives, each with its condition unless they are of a boolean. Their values are optional.
func (p *layoutParser) branches(around *object) {
	for p.err == nil && !p.open {
		p.match(layoutWhen)
		p.entries(around, "|}", true)
		if p.eat("}") {
			return
		}
		if !p.eat("|") {
			p.fail()
		}
	}
}

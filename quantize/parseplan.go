package quantize

import (
	"errors"
	"fmt"
	"github.com/arche-netcode/netcode/wire"
	"reflect"
	"strconv"
	"strings"
)

// ErrDescription says that a text is not one that Plan.Describe writes.
var ErrDescription = errors.New("wire: malformed description")

// maxDescription bounds a component's description in bytes.
const maxDescription = 1 << 18

// ParsePlan makes a plan from its canonical text, as Describe writes it and nothing else: for programs that have
// recordings of a game but not its types. Such a plan has no Type, and Quantise and Dequantise
// panic, which need memory of one. All that works on lanes works. A component with an extrapolation function of its own
// keeps the function's name, but NewDelta wants the function: see ErrExtrapolation. The errors wrap ErrDescription, or are
// those of Compile.
func ParsePlan(text string) (*Plan, error) {
	if len(text) > maxDescription {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrDescription, len(text), maxDescription)
	}
	name, rest, ok := strings.Cut(text, "{")
	fields, ended := strings.CutSuffix(rest, "}")
	if !ok || !ended {
		return nil, fmt.Errorf("%w: %.60q is not of the form name{fields}", ErrDescription, text)
	}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	c := compiler{root: name, plan: &Plan{name: name}}
	unpacked := false
	for n, field := range strings.Split(fields, ";") {
		var err error
		extrapolator, own := strings.CutPrefix(field, "~")
		switch {
		case field == "" && n == 0 && (fields == "" || strings.HasPrefix(fields, "~")):
		case field == "unpacked" && n == 0:
			unpacked = true
		case own && len(c.plan.ops) == 0 && c.plan.extrapolator == "" && wire.IsName(extrapolator):
			c.plan.extrapolator = extrapolator
		case field == "" && own, field == "" && c.plan.extrapolator != "" && len(c.plan.ops) == 0:
		default:
			err = c.described(field)
		}
		if err != nil {
			return nil, err
		}
	}
	c.finish()
	c.plan.spans = nil
	if unpacked {
		c.plan.Debug()
	}
	if again := string(c.plan.Describe(nil)); again != text {
		return nil, fmt.Errorf("%w: %.200q is written %.200q", ErrDescription, text, again)
	}
	return c.plan, nil
}

// described compiles a field from "path:kind".
func (c *compiler) described(field string) error {
	path, kind, ok := strings.Cut(field, ":")
	if !ok || path == "" {
		return fmt.Errorf("%w: %.60q is no field", ErrDescription, field)
	}
	kind, word, chosen := strings.Cut(kind, "~")
	c.tag = tag{}
	if chosen {
		var err error
		if c.tag.extrapolate, err = parseExtrapolate(word); err != nil {
			return fmt.Errorf("%w: %w", ErrDescription, err)
		}
	}
	if kind == "entity" {
		return c.ref(op{kind: opID, size: 4, path: path, text: kind})
	}
	if width, ok := strings.CutPrefix(kind, "quat"); ok {
		n, err := strconv.ParseUint(width, 10, 8)
		if err != nil {
			return fmt.Errorf("%w: %.60q is no kind", ErrDescription, kind)
		}
		c.tag.mode, c.tag.bits = tagQuat, int(n)
		return c.quat(path, 0, c.tag)
	}
	t, detail := numberType(kind)
	if t == nil {
		return fmt.Errorf("%w: %.60q is no kind", ErrDescription, kind)
	}
	if err := c.tag.detail(detail); err != nil {
		return err
	}
	return c.scalar(t, path, 0, c.tag, detail)
}

// numberType takes the type off the front of a kind.
func numberType(kind string) (t reflect.Type, detail string) {
	for _, t := range []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
		reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	} {
		name := strings.NewReplacer("uint", "u", "int", "i", "float", "f").Replace(t.Name())
		if detail, ok := strings.CutPrefix(kind, name); ok {
			return t, detail
		}
	}
	return nil, ""
}

// detail reads what stands behind a type: "[min,max]", "[min,max,step]", "angle10", "half", "axis" or nothing.
func (t *tag) detail(text string) error {
	width, angle := strings.CutPrefix(text, "angle")
	switch {
	case text == "":
		return nil
	case text == "half":
		t.mode = tagHalf
		return nil
	case text == "axis":
		t.mode = tagAxis
		return nil
	case angle:
		if n, err := strconv.ParseUint(width, 10, 8); err == nil {
			t.mode, t.bits = tagAngle, int(n)
			return nil
		}
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		part := strings.Split(text[1:len(text)-1], ",")
		if len(part) == 2 || len(part) == 3 {
			t.mode, t.min, t.max = tagBounds, part[0], part[1]
			if len(part) == 3 {
				t.step = part[2]
			}
			return nil
		}
	}
	return fmt.Errorf("%w: %.60q is no kind", ErrDescription, text)
}

// Legal reports whether a row is one that Quantise could have made: the check for lanes that come from a file.
func (p *Plan) Legal(lanes []uint32) bool {
	if len(lanes) != len(p.lanes) {
		return false
	}
	for i := range p.lanes {
		if uint64(lanes[i])>>p.lanes[i].bits != 0 {
			return false
		}
	}
	return p.LegalRow(lanes)
}

// fields returns the plan's fields for going through memory, which takes a type.
func (p *Plan) fields() []op {
	if p.typ == nil {
		panic("wire: the plan " + p.name + " was parsed from its description: it has no memory to look at")
	}
	return p.ops
}

package quantize

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/wire"
)

// tagMode is the encoding that a tag selects.
type tagMode uint8

const (
	tagNone   tagMode = iota // exact value
	tagBounds                // min, max and, for floats, step
	tagAngle
	tagQuat
	tagHalf
	tagAxis
	tagEntity
	tagShort
)

// tag is a parsed net tag. Bounds remain text: their meaning depends on the field's type.
type tag struct {
	mode           tagMode
	min, max, step string
	bits           int
	extrapolate    extrapolateKind
	event          eventKind
}

// Words of a tag that have a value; tagKeys is their number.
const (
	keyMin = iota
	keyMax
	keyStep
	keyBits
	keyExtrapolate
	tagKeys
)

// tagWords is the words of a tag, sorted by position but not interpreted.
type tagWords struct {
	kind   string
	values [tagKeys]string
	event  eventKind
}

// tagModeOf returns the encoding that a word without a value selects, else tagNone.
func tagModeOf(word string) tagMode {
	switch word {
	case "angle":
		return tagAngle
	case "quat":
		return tagQuat
	case "half":
		return tagHalf
	case "axis":
		return tagAxis
	case "entity":
		return tagEntity
	case "short":
		return tagShort
	}
	return tagNone
}

// splitTag splits a tag into words and refuses unknown and duplicate ones.
func splitTag(text string) (tagWords, error) {
	var w tagWords
	keys := [tagKeys]string{"min", "max", "step", "bits", "extrapolate"}
	for _, word := range strings.Split(text, ",") {
		key, value, hasValue := strings.Cut(word, "=")
		switch at := indexOf(keys[:], key); {
		case key == "event" && w.event == eventNone && (!hasValue || value == "count"):
			w.event = eventBits
			if hasValue {
				w.event = eventCount
			}
		case hasValue && at >= 0:
			if value == "" || w.values[at] != "" {
				return w, fmt.Errorf("net:%q gives %s twice or without a value", text, key)
			}
			w.values[at] = value
		case w.kind != word && tagModeOf(word) != tagNone:
			if w.kind != "" {
				return w, fmt.Errorf("net:%q contradicts itself", text)
			}
			w.kind = word
		default:
			return w, fmt.Errorf("net:%q: unknown or repeated word %q: there are min=, max=, step=, bits=, extrapolate=, angle, quat, half, axis, entity, short, event, event=count, and - alone", text, word)
		}
	}
	return w, nil
}

// parseTag parses a tag and refuses unknown, duplicate or contradictory words.
func parseTag(text string) (tag, error) {
	if text == "" {
		return tag{}, nil
	}
	w, err := splitTag(text)
	if err != nil {
		return tag{}, err
	}
	t := tag{mode: tagModeOf(w.kind), event: w.event, min: w.values[keyMin], max: w.values[keyMax], step: w.values[keyStep]}
	if guess := w.values[keyExtrapolate]; guess != "" {
		if t.extrapolate, err = parseExtrapolate(guess); err != nil {
			return t, fmt.Errorf("net:%q: %w", text, err)
		}
	}
	bounds := t.min != "" || t.max != "" || t.step != ""
	needsBits := t.mode == tagAngle || t.mode == tagQuat
	switch {
	case w.kind != "" && bounds:
		return t, fmt.Errorf("net:%q contradicts itself", text)
	case needsBits != (w.values[keyBits] != ""):
		return t, fmt.Errorf("net:%q: bits go with angle or quat, and these need bits", text)
	case bounds && (t.min == "" || t.max == ""):
		return t, fmt.Errorf("net:%q needs both min and max", text)
	case bounds:
		t.mode = tagBounds
	}
	if !needsBits {
		return t, nil
	}
	n, err := strconv.ParseUint(w.values[keyBits], 10, 8)
	if err != nil {
		return t, fmt.Errorf("net:%q: bits must be a small number", text)
	}
	t.bits = int(n)
	return t, nil
}

// indexOf returns the index of key in keys, or -1.
func indexOf(keys []string, key string) int {
	for i, k := range keys {
		if k == key {
			return i
		}
	}
	return -1
}

// number parses a finite float of the field's width.
func (o *op) number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, int(o.size)*8)
	if err != nil || v-v != 0 {
		return 0, fmt.Errorf("%q is no finite number of %d bits", text, o.size*8)
	}
	return v, nil
}

// compileFixed sets o to a bounded float. The step is reduced a little if it does not divide the range, so that both
// bounds are exact values.
func (o *op) compileFixed(t tag) error {
	if t.step == "" {
		return errors.New("a float with min and max needs a step")
	}
	low, err := o.number(t.min)
	if err != nil {
		return err
	}
	high, err := o.number(t.max)
	if err != nil {
		return err
	}
	step, err := strconv.ParseFloat(t.step, 64)
	if err != nil || !(step > 0 && step <= math.MaxFloat64) {
		return fmt.Errorf("step %q is no finite number above zero", t.step)
	}
	if !(low < high) || math.IsInf(high-low, 0) {
		return fmt.Errorf("min %s must be below max %s", t.min, t.max)
	}
	count := math.Ceil((high-low)/step - 1e-6)
	if !(count >= 1 && count <= math.MaxUint32) {
		return fmt.Errorf("max - min must be 1 to 2^32-1 steps, not %g", count)
	}
	o.kind, o.text = opFixed32, "f32["
	if o.size == 8 {
		o.kind, o.text = opFixed64, "f64["
	}
	o.min, o.max, o.count = low, high, uint64(count)
	o.step, o.scale = (high-low)/count, count/(high-low)
	if !o.holds(math.Max(math.Abs(low), math.Abs(high))) {
		return fmt.Errorf("a float of %d bits near %g cannot hold steps of %g", o.size*8, math.Max(math.Abs(low), math.Abs(high)), o.step)
	}
	o.text += formatFloat(low, o.size) + "," + formatFloat(high, o.size) + "," + formatFloat(o.step, 8) + "]"
	return nil
}

// compileAngle sets o to an angle.
func (o *op) compileAngle(t tag) error {
	if t.bits < 1 || t.bits > 32 {
		return fmt.Errorf("an angle has 1 to 32 bits, not %d", t.bits)
	}
	o.kind, o.text = opAngle32, "f32angle"
	if o.size == 8 {
		o.kind, o.text = opAngle64, "f64angle"
	}
	o.text += strconv.Itoa(t.bits)
	o.count = 1<<t.bits - 1
	turn := float64(uint64(1) << t.bits)
	o.step, o.scale = 2*math.Pi/turn, turn/(2*math.Pi)
	if !o.holds(math.Pi) {
		return fmt.Errorf("a float of %d bits cannot hold an angle in %d", o.size*8, t.bits)
	}
	return nil
}

// holds reports whether the field's floats up to this magnitude are much closer together than a step, so that a decoded
// value quantises to the same lane.
func (o *op) holds(magnitude float64) bool {
	if o.size == 4 {
		m := float32(magnitude)
		return float64(m)-float64(math.Nextafter32(m, 0)) <= o.step*0.99
	}
	// Quantisation uses 64 bits too, and its own rounding needs a margin.
	return (magnitude-math.Nextafter(magnitude, 0))*16 <= o.step
}

// compileRange sets o to a bounded integer.
func (o *op) compileRange(t tag) error {
	if t.step != "" {
		return errors.New("an integer has no step")
	}
	low, err := o.integer(t.min)
	if err != nil {
		return err
	}
	high, err := o.integer(t.max)
	if err != nil {
		return err
	}
	if low >= high {
		return fmt.Errorf("min %s must be below max %s", t.min, t.max)
	}
	o.kind, o.low, o.count = opRange, low, high-low
	o.text = integerText(o) + "[" + o.integerValue(low) + "," + o.integerValue(high) + "]"
	return nil
}

// integer parses an integer of the field's type and inverts its sign bit.
func (o *op) integer(text string) (uint64, error) {
	width := int(o.size) * 8
	if o.signed {
		o.flip = 1 << 63
		if v, err := strconv.ParseInt(text, 10, width); err == nil {
			return uint64(v) ^ o.flip, nil
		}
	} else if v, err := strconv.ParseUint(text, 10, width); err == nil {
		return v, nil
	}
	return 0, fmt.Errorf("%q is no %s", text, integerText(o))
}

// integerValue is the inverse of integer.
func (o *op) integerValue(v uint64) string {
	if o.signed {
		return strconv.FormatInt(int64(v^o.flip), 10)
	}
	return strconv.FormatUint(v, 10)
}

// integerText returns an integer type's canonical name.
func integerText(o *op) string {
	if o.signed {
		return "i" + strconv.Itoa(int(o.size)*8)
	}
	return "u" + strconv.Itoa(int(o.size)*8)
}

// formatFloat returns the shortest text that parses to v in size bytes.
func formatFloat(v float64, size uint8) string {
	return strconv.FormatFloat(v, 'g', -1, int(size)*8)
}

// ErrDescription means that a text is not in the format of Plan.Describe.
var ErrDescription = errors.New("wire: malformed description")

// maxDescription bounds a component's description in bytes.
const maxDescription = 1 << 18

// ParsePlan returns the plan of a canonical text of Describe, for programs that read recordings of a game without
// having its types. Such a plan has no Type, and Quantise and Dequantise panic. All functions on lanes work. A
// component's own extrapolation function is known by name only; NewDelta needs the function itself, see
// ErrExtrapolation. The errors wrap ErrDescription, or are those of Compile.
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
	c.closeDescribed()
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
	if tail, err := c.describedTail(path, kind); tail {
		return err
	}
	if n := len(c.plan.ops); n > 0 && c.plan.ops[n-1].tail != nil {
		return fmt.Errorf("%w: %.60q stands behind a text or a list", ErrDescription, field)
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

// numberType splits a kind into its type and the rest.
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

// detail parses the text after a type: "[min,max]", "[min,max,step]", "angle10", "half", "axis",
// "short" or "".
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
	case text == "short":
		t.mode = tagShort
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

// Legal reports whether Quantise can produce the row. It checks lanes that come from a file.
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

// fields returns the plan's fields. It panics if the plan has no Go type.
func (p *Plan) fields() []op {
	if p.typ == nil {
		panic("wire: the plan " + p.name + " was parsed from its description: it has no memory to look at")
	}
	return p.ops
}

package quantize

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arche-netcode/netcode/wire"
)

// maxLanes bounds a row in words; 2048 are far more than a packet has room for.
const maxLanes = 2048

// maxName bounds a wire name in bytes.
const maxName = 255

// Compile compiles a component type into a plan under its wire name. It supports booleans, sized integers, floats,
// arrays, structs, named types of these, wire.Text and wire.List, also in unexported fields. Blank fields and those
// tagged `net:"-"` are not sent. The errors name the type and the field, and tell why it cannot be sent or what is
// wrong with its tag. Tags:
//
//	net:"min=-512,max=512,step=0.002"   float within bounds, in steps of at most this size
//	net:"min=0,max=100"                 integer within bounds
//	net:"angle,bits=10"                 float in radians, any turn; decoded within [-pi, pi), rounded
//	net:"quat,bits=9"                   four float32 x, y, z, w: a rotation, smallest three
//	net:"half"                          float in 16 bits, IEEE 754 binary16, up to +-65504
//	net:"axis"                          float within [-1, 1] in 8 bits, steps of 1/127
//	net:"short"                         unsigned integer of at most 32 bits that is mostly small: where it is sent whole,
//	                                    0 to 3 take 3 bits, to 11 5, to 27 7, the largest 63
//	net:"entity"                        two uint32, an entity of this world or a NetworkID: see Plan.Refs
//	net:"...,extrapolate=previous"      how both ends extrapolate the field from earlier versions: none (sent
//	                                    whole), previous (unchanged) or linear; the default depends on its kind
//	net:"event", net:"event=count"      in inputs only: a key press, which is in the input of exactly one tick. Over the
//	                                    frames since the last tick, event ORs the bits of a bool or of an unsigned
//	                                    integer without bounds, event=count adds an integer of at most 32 bits
//	net:"-"                             is not sent and is never touched on the receiver
//
// A tag on an array or a wire.List applies to each element. A type whose first field embeds Arche's ecs.Relation has
// one additional field, its target: see Plan.Target.
func Compile(t reflect.Type, name string) (*Plan, error) {
	if t == nil {
		return nil, errors.New("wire: no type to compile")
	}
	root := rootName(t)
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("wire: %s: %w", root, err)
	}
	c := compiler{root: root, plan: &Plan{name: name, typ: t}}
	if err := c.compile(t); err != nil {
		return nil, err
	}
	return c.plan, nil
}

// compile compiles the whole type.
func (c *compiler) compile(t reflect.Type) error {
	if err := c.value(t, "", 0, ""); err != nil {
		return err
	}
	if isRelation(t) && c.sends("target") {
		if err := c.target(); err != nil {
			return err
		}
	}
	return c.close()
}

// rootName returns the name of a type in errors.
func rootName(t reflect.Type) string {
	if t.Name() == "" {
		return t.String()
	}
	return t.Name()
}

// checkName refuses names that would make the canonical text ambiguous.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the wire name is empty")
	case len(name) > maxName:
		return fmt.Errorf("the wire name is longer than %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune("{};:", r) }):
		return fmt.Errorf("the wire name %q holds a character that names may not", name)
	}
	return nil
}

// compiler builds one plan.
type compiler struct {
	root   string
	plan   *Plan
	tag    tag        // of the current field
	found  []tailSpec // texts and lists, which follow all other fields
	scale  int        // of CompileCoarse; 0: steps as tagged
	coarse int        // number of fields made coarser
	some   bool       // compile only some fields, see CompileOlder
	fields []string
}

// fail returns an error that names the field.
func (c *compiler) fail(path, format string, args ...any) error {
	where := c.root
	if path != "" && path[0] != '[' {
		where += "."
	}
	return fmt.Errorf("wire: %s%s: %s", where, path, fmt.Sprintf(format, args...))
}

// NotFieldsError means that a type cannot be sent field by field: it is not plain data, or too large.
type NotFieldsError struct{ text string }

// Error implements error.
func (e *NotFieldsError) Error() string { return e.text }

// value compiles the value at offset: a field, or the whole component if path is empty.
func (c *compiler) value(t reflect.Type, path string, offset uintptr, tagText string) error {
	if !c.sends(path) {
		return nil
	}
	if isTail(t) {
		c.found = append(c.found, tailSpec{t, path, offset, tagText})
		return nil
	}
	tag, err := parseTag(tagText)
	if err != nil {
		return c.fail(path, "%v", err)
	}
	if c.scale > 1 && tag.steps() {
		tag.coarsen(c.scale)
		c.coarse++
	}
	c.tag = tag
	if tag.mode == tagEntity && isEntity(t) {
		return c.entity(t, path, offset)
	}
	if wire.IsHandle(t) {
		return c.fail(path, `%s: a component tags the field net:"entity"; %s; net:"-" keeps the field here`, handlesAreLocal, useNetworkID)
	}
	if tag.mode == tagQuat && isQuat(t) {
		return c.quat(path, offset, tag)
	}
	if tag.mode == tagQuat && !quatsWithin(t) {
		return c.fail(path, "the tag net:%q does not go with %s: a rotation is [4]float32 or a struct of four float32, x, y, z, w", tagText, t)
	}
	switch t.Kind() {
	case reflect.Struct:
		if tag.mode != tagNone || tag.extrapolate != extrapolateUsual || tag.event != eventNone {
			return c.fail(path, "the tag net:%q does not go with %s", tagText, t)
		}
		return c.structure(t, path, offset)
	case reflect.Array:
		return c.array(t, path, offset, tagText)
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		if path == "" {
			path = "value"
		}
		return c.scalar(t, path, offset, tag, tagText)
	}
	return &NotFieldsError{c.fail(path, "%s", wire.NotPlain(t)).Error()}
}

// structure compiles the fields of a struct in the order of their declaration.
func (c *compiler) structure(t reflect.Type, path string, offset uintptr) error {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := f.Tag.Get("net")
		if f.Name == "_" || tag == "-" {
			continue
		}
		name := f.Name
		if path != "" {
			name = path + "." + name
		}
		if err := c.value(f.Type, name, offset+f.Offset, tag); err != nil {
			return err
		}
	}
	return nil
}

// array compiles each element.
func (c *compiler) array(t reflect.Type, path string, offset uintptr, tag string) error {
	for i := 0; i < t.Len(); i++ {
		before, found := len(c.plan.ops), len(c.found)
		name := path + "[" + strconv.Itoa(i) + "]"
		if err := c.value(t.Elem(), name, offset+uintptr(i)*t.Elem().Size(), tag); err != nil {
			return err
		}
		if len(c.plan.ops) == before && len(c.found) == found {
			return nil // the element has nothing to send, so no element has
		}
	}
	return nil
}

// add appends a field and its lanes.
func (c *compiler) add(o op, lanes ...lane) error {
	if err := o.expectBy(c.tag.extrapolate, len(lanes)); err != nil {
		return c.fail(o.path, "%v", err)
	}
	if err := c.event(&o, lanes); err != nil {
		return c.fail(o.path, "%v", err)
	}
	o.lane = len(c.plan.lanes)
	for i := range lanes {
		lanes[i].op = uint16(len(c.plan.ops))
	}
	c.plan.ops = append(c.plan.ops, o)
	c.plan.lanes = append(c.plan.lanes, lanes...)
	if len(c.plan.lanes) > maxLanes {
		return &NotFieldsError{c.fail(o.path, "there are more than %d words, one for each element of an array", maxLanes).Error()}
	}
	return nil
}

// finish counts bits and merges adjacent fields into spans.
func (c *compiler) finish() {
	p := c.plan
	p.floats = true
	p.floatRows = p.onlyFloatRows()
	for _, l := range p.lanes[:p.fixed] {
		p.bits += int(l.bits)
		p.widths = append(p.widths, l.bits)
		p.floats = p.floats && l.check == checkFloat32
	}
	p.varies = p.refs != nil
	for _, ref := range p.refs {
		if ref < p.fixed {
			p.bits += maxRefBits - 64
		}
	}
	for _, l := range p.lanes[:p.fixed] {
		if l.short {
			p.varies = true
			p.bits += wire.VarBits(l.max) - int(l.bits)
		}
	}
	for i := range p.ops {
		o := &p.ops[i]
		if o.tail == nil {
			p.addSpan(o.offset, o.bytes())
			continue
		}
		p.floats = false
		p.bits += o.mostBits(false)
		for _, s := range o.tailSpans() {
			p.addSpan(s.offset, s.size)
		}
	}
}

// addSpan adds a range of sent bytes and merges it with the previous one if they are adjacent.
func (p *Plan) addSpan(offset, size uintptr) {
	if size == 0 {
		return // a target: it has no memory
	}
	if n := len(p.spans); n > 0 && p.spans[n-1].offset+p.spans[n-1].size == offset {
		p.spans[n-1].size += size
		return
	}
	p.spans = append(p.spans, span{offset: offset, size: size})
}

// scalar compiles a boolean, an integer or a float.
func (c *compiler) scalar(t reflect.Type, path string, offset uintptr, tag tag, tagText string) error {
	o := op{offset: offset, path: path, size: uint8(t.Size())}
	var err error
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		if tag.mode == tagNone {
			o.kind, o.text = opBool, "bool"
			return c.add(o, lane{bits: 1, max: 1})
		}
	case kind == reflect.Float32 || kind == reflect.Float64:
		switch tag.mode {
		case tagNone:
			return c.float(o)
		case tagBounds:
			if err = o.compileFixed(tag); err == nil {
				return c.add(o, numberLanes(o.count)...)
			}
		case tagAngle:
			if err = o.compileAngle(tag); err == nil {
				return c.add(o, numberLanes(o.count)...)
			}
		case tagHalf:
			o.compileHalf()
			return c.add(o, numberLanes(o.count)...)
		case tagAxis:
			o.compileAxis()
			return c.add(o, numberLanes(o.count)...)
		}
	default:
		o.signed = kind >= reflect.Int8 && kind <= reflect.Int64
		switch tag.mode {
		case tagNone:
			return c.integer(o)
		case tagBounds:
			if err = o.compileRange(tag); err == nil {
				return c.add(o, numberLanes(o.count)...)
			}
		case tagShort:
			if !o.signed && o.size <= 4 {
				return c.integer(o)
			}
			err = fmt.Errorf("the tag net:%q goes with uint8, uint16 and uint32, not with %s", tagText, t)
		}
	}
	if err == nil {
		err = fmt.Errorf("the tag net:%q does not go with %s", tagText, t)
	}
	return c.fail(path, "%v", err)
}

// float compiles a float that is sent exactly.
func (c *compiler) float(o op) error {
	if o.size == 4 {
		o.kind, o.text = opFloat32, "f32"
		return c.add(o, lane{bits: 32, max: math.MaxUint32, check: checkFloat32})
	}
	o.kind, o.text = opFloat64, "f64"
	return c.add(o, lane{bits: 32, max: math.MaxUint32}, lane{bits: 32, max: math.MaxUint32, check: checkFloat64})
}

// integer compiles an integer that is sent with its whole range.
func (c *compiler) integer(o op) error {
	width := uint(o.size) * 8
	o.text = integerText(&o)
	o.count = ^uint64(0) >> (64 - width)
	if o.signed {
		o.flip = 1 << (width - 1)
	}
	o.kind = opInt8 + opKind(bits.TrailingZeros8(o.size))
	lanes := numberLanes(o.count)
	if c.tag.mode == tagShort {
		o.text += "short"
		lanes[0].short = true
	}
	return c.add(o, lanes...)
}

// numberLanes returns the lanes of a number from 0 to count.
func numberLanes(count uint64) []lane {
	if count <= math.MaxUint32 {
		return []lane{checked(lane{bits: width(count), max: count}, checkMax)}
	}
	high := checked(lane{bits: width(count) - 32, max: count}, checkMax64)
	return []lane{{bits: 32, max: math.MaxUint32}, high}
}

// checked sets the check of l if its bits allow illegal values.
func checked(l lane, check laneCheck) lane {
	if l.max&(l.max+1) != 0 {
		l.check = check
	}
	return l
}

// width returns the number of bits for numbers up to count.
func width(count uint64) uint8 { return uint8(bits.Len64(count)) }

// isQuat reports whether t is four float32: an array, or a struct of exactly four such fields.
func isQuat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() == 4 && t.Elem().Kind() == reflect.Float32
	case reflect.Struct:
		if t.NumField() != 4 {
			return false
		}
		for i := 0; i < 4; i++ {
			f := t.Field(i)
			if f.Type.Kind() != reflect.Float32 || f.Name == "_" || f.Tag.Get("net") != "" {
				return false
			}
		}
		return true
	}
	return false
}

// quatsWithin reports whether t is an array of rotations, or of arrays of them.
func quatsWithin(t reflect.Type) bool {
	return t.Kind() == reflect.Array && (isQuat(t.Elem()) || quatsWithin(t.Elem()))
}

// quat compiles four float32 as a rotation.
func (c *compiler) quat(path string, offset uintptr, tag tag) error {
	if tag.bits < minQuatBits || tag.bits > maxQuatBits {
		return c.fail(path, "a quaternion has %d to %d bits a component, not %d", minQuatBits, maxQuatBits, tag.bits)
	}
	if path == "" {
		path = "value"
	}
	n := uint8(tag.bits)
	count := uint64(1)<<n - 1
	o := op{kind: opQuat, size: 4, offset: offset, path: path, text: "quat" + strconv.Itoa(tag.bits), count: count}
	o.step = math.Sqrt2 / float64(count)
	o.scale = float64(count) / math.Sqrt2
	o.slack = o.step / 8
	part := lane{bits: n, max: count}
	return c.add(o, lane{bits: 2, max: 3}, part, part, lane{bits: n, max: count, check: checkQuat})
}

// eventKind selects how the values of an event field are merged over several frames.
type eventKind uint8

const (
	eventNone  eventKind = iota // state, not an event
	eventBits                   // OR of the bits
	eventCount                  // sum of the values
)

// eventWords returns the words after a tilde in the canonical text.
func eventWords() [3]string { return [3]string{"", "event", "count"} }

// eventLane is one lane of an event field.
type eventLane struct {
	lane  int
	count bool
	zero  uint32 // lane of the value 0
	top   uint32 // largest lane value
}

// event makes a field an event, according to its tag.
func (c *compiler) event(o *op, lanes []lane) error {
	k := c.tag.event
	first, e := len(c.plan.lanes), eventLane{count: k == eventCount}
	switch {
	case k == eventNone:
		return nil
	case c.tag.extrapolate != extrapolateUsual:
		return errors.New("an event is not extrapolated")
	case k == eventBits && (o.kind == opBool || o.kind <= opInt64 && !o.signed):
		for i := range lanes {
			e.lane = first + i
			c.plan.events = append(c.plan.events, e)
		}
	case k == eventBits:
		return errors.New("event is for booleans and for the bits of unsigned integers without bounds; event=count adds integers")
	case o.kind == opBool || o.kind > opRange:
		return errors.New("event=count is for integers")
	case len(lanes) > 1:
		return errors.New("event=count is for integers of at most 32 bits")
	case o.flip < o.low || o.flip-o.low > o.count:
		return errors.New("event=count needs bounds with 0 between them")
	default:
		e.lane, e.zero, e.top = first, uint32(o.flip-o.low), uint32(o.count)
		c.plan.events = append(c.plan.events, e)
	}
	o.text += "~" + eventWords()[k]
	return nil
}

// ErrEvents means that a type other than an input has event fields.
var ErrEvents = errors.New("the tag event is for inputs: register the type with input.Register")

// Events reports whether the plan has event fields: those tagged `net:"event"` or `net:"event=count"`.
func (p *Plan) Events() bool { return len(p.events) > 0 }

// MergeEvents merges the event fields of other into row: the OR of bits, and the sum of counts, clamped to the field's
// bounds. Other fields do not change. Both rows come from Quantise or ReadRun.
func (p *Plan) MergeEvents(row, other []uint32) {
	for _, e := range p.events {
		if !e.count {
			row[e.lane] |= other[e.lane]
			continue
		}
		sum := int64(row[e.lane]) + int64(other[e.lane]) - int64(e.zero)
		row[e.lane] = uint32(min(max(sum, 0), int64(e.top)))
	}
}

// SubtractEvents is the inverse of MergeEvents: it takes the event fields of other from those of row.
func (p *Plan) SubtractEvents(row, other []uint32) {
	for _, e := range p.events {
		if !e.count {
			row[e.lane] &^= other[e.lane]
			continue
		}
		rest := int64(row[e.lane]) - int64(other[e.lane]) + int64(e.zero)
		row[e.lane] = uint32(min(max(rest, 0), int64(e.top)))
	}
}

// ClearEvents sets the event fields of a row to the value 0. Other fields do not change.
func (p *Plan) ClearEvents(row []uint32) {
	for _, e := range p.events {
		row[e.lane] = e.zero
	}
}

package collections

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/arche-netcode/netcode/quantize"
)

// Kind says how elements are found.
type Kind uint8

// The kinds.
const (
	List Kind = iota // by where they stand
	Set              // by themselves
	Map              // by their keys
)

// String returns the kind's name in the canonical text.
func (k Kind) String() string {
	switch k {
	case List:
		return "list"
	case Set:
		return "set"
	case Map:
		return "map"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Limits of limits.
const (
	MaxElements     = 1 << 16 // elements of one collection at most
	MaxBytes        = 1 << 20 // bytes of one collection at most
	MaxElementBytes = 1 << 10 // bytes of one element at most

	maxLanes        = 256
	maxRefs         = 32 // bits of a veil
	defaultElements = 1 << 10
	defaultBytes    = 64 << 10
)

// Limits bounds one collection of one entity. Zero in a field takes its default. Both ends must agree.
type Limits struct {
	Elements int // 1 to MaxElements; default 1024
	Bytes    int // of the elements as they travel, 1 to MaxBytes; default 64 KiB
}

// Def is one type of collection, as both ends registered it. Once it has its number it does not change and may be used by
// any number of goroutines.
type Def struct {
	name   string
	kind   Kind
	plan   *quantize.Plan // of an element: of a map, the key's fields and then the value's
	key    *quantize.Plan // nil for a list
	keys   int            // lanes of the key; 0 for a list
	limits Limits
	most   int // elements, by both limits
	number int
}

// NewDef compiles a type of collection. key is nil for a list, the element itself for a set, and for a map the type of the
// element's first field. The error says which field cannot travel, or which limit is out of its range.
func NewDef(kind Kind, name string, element, key reflect.Type, limits Limits) (*Def, error) {
	d := &Def{name: name, kind: kind, limits: limits}
	if d.limits.Elements == 0 {
		d.limits.Elements = defaultElements
	}
	if d.limits.Bytes == 0 {
		d.limits.Bytes = defaultBytes
	}
	switch {
	case d.limits.Elements < 1 || d.limits.Elements > MaxElements:
		return nil, fmt.Errorf("it holds 1 to %d elements, not %d", MaxElements, limits.Elements)
	case d.limits.Bytes < 1 || d.limits.Bytes > MaxBytes:
		return nil, fmt.Errorf("it holds 1 to %d bytes, not %d", MaxBytes, limits.Bytes)
	}
	if key != nil {
		plan, err := compile(key, "key")
		if err != nil && kind == Map {
			return nil, fmt.Errorf("the key: %w", err)
		}
		if err != nil {
			return nil, err
		}
		if len(plan.Refs()) > 0 {
			return nil, fmt.Errorf("a key of kind entity would be another one for each client: leave out the tag of %s", key)
		}
		d.key, d.keys = plan, plan.Lanes()
	}
	if kind == Map && element.Kind() == reflect.Struct && element.NumField() == 2 {
		if err := mustBeValue(element.Field(1).Type); err != nil {
			return nil, err
		}
	}
	var err error
	if d.plan, err = compile(element, "element"); err != nil {
		return nil, err
	}
	return d, d.measure()
}

// mustBeValue refuses what cannot be the value of a map, in the words of the value's own type.
func mustBeValue(t reflect.Type) error {
	plan, err := quantize.Compile(t, "value")
	if err == nil {
		err = plan.CheckHandles()
	}
	if err != nil {
		return fmt.Errorf("the value: %w", err)
	}
	return nil
}

// compile refuses what cannot be an element or a key.
func compile(t reflect.Type, what string) (*quantize.Plan, error) {
	plan, err := quantize.Compile(t, what)
	if err != nil {
		return nil, err
	}
	if err := plan.CheckHandles(); err != nil {
		return nil, err
	}
	switch {
	case plan.Events():
		return nil, quantize.ErrEvents
	case plan.Lanes() == 0:
		return nil, fmt.Errorf("nothing of %s travels", t)
	case len(plan.Refs()) > maxRefs:
		return nil, fmt.Errorf("%s names more than %d entities", t, maxRefs)
	case plan.Lanes() > maxLanes || bytesOf(plan) > MaxElementBytes:
		return nil, fmt.Errorf("%s is larger than %d words or %d bytes", t, maxLanes, MaxElementBytes)
	}
	return plan, nil
}

// bytesOf returns the most that an element takes.
func bytesOf(plan *quantize.Plan) int { return (plan.Bits() + 7) / 8 }

// measure finds out how many elements there may be.
func (d *Def) measure() error {
	d.most = min(d.limits.Elements, d.limits.Bytes*8/max(d.plan.Bits(), 1))
	if d.most == 0 {
		return fmt.Errorf("an element of %d bytes does not fit into %d", bytesOf(d.plan), d.limits.Bytes)
	}
	return nil
}

// Name returns the wire name.
func (d *Def) Name() string { return d.name }

// Kind returns how elements are found.
func (d *Def) Kind() Kind { return d.kind }

// Number returns its place among those of the protocol.
func (d *Def) Number() int { return d.number }

// Plan returns the fields of an element.
func (d *Def) Plan() *quantize.Plan { return d.plan }

// Key returns the fields of a key, which are the first ones of an element; nil for a list.
func (d *Def) Key() *quantize.Plan { return d.key }

// Most returns how many elements a collection holds at most.
func (d *Def) Most() int { return d.most }

// Limits returns what was asked for, with defaults.
func (d *Def) Limits() Limits { return d.limits }

// Settle gives it its place among those of the protocol, and turns packing off if asked to. Elements then take more bytes,
// but as many of them are allowed as before.
func (d *Def) Settle(number int, debug bool) {
	d.number = number
	if debug {
		d.plan.Debug()
	}
}

// Describe appends the canonical text, which says everything that two ends must agree on:
//
//	inventory{list;most:1024;element{Slot:u8;Count:u16}}
func (d *Def) Describe(dst []byte) []byte {
	dst = append(append(append(dst, d.name...), '{'), d.kind.String()...)
	dst = strconv.AppendInt(append(dst, ";most:"...), int64(d.most), 10)
	if d.keys > 0 {
		dst = strconv.AppendInt(append(dst, ";key:"...), int64(d.keys), 10)
	}
	return append(d.plan.Describe(append(dst, ';')), '}')
}

package collections

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/arche-netcode/netcode/quantize"
)

// kind selects how elements are identified.
type kind uint8

// The kinds.
const (
	kindList kind = iota // by index
	kindSet              // by value
	kindMap              // by key
)

// String returns the kind's name in the canonical text.
func (k kind) String() string {
	switch k {
	case kindList:
		return "list"
	case kindSet:
		return "set"
	case kindMap:
		return "map"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// The largest limits.
const (
	maxElements     = 1 << 16 // elements of one collection at most
	maxBytes        = 1 << 20 // bytes of one collection at most
	maxElementBytes = 1 << 10 // bytes of one element at most

	maxLanes        = 256
	maxRefs         = 32 // bits of a mask of hidden fields
	defaultElements = 1 << 10
	defaultBytes    = 64 << 10
)

// limits bounds one collection of one entity. Zero means the default. Both ends must agree.
type limits struct {
	Elements int // 1 to maxElements; default 1024
	Bytes    int // of the elements as they are sent, 1 to maxBytes; default 64 KiB
}

// definition is one type of collection, as both ends registered it. After Settle it does not change and is safe for use by
// several goroutines.
type definition struct {
	name   string
	kind   kind
	plan   *quantize.Plan // of an element: of a map, the key's fields and then the value's
	key    *quantize.Plan // nil for a list
	keys   int            // lanes of the key; 0 for a list
	limits limits
	most   int // maximum number of elements, by both limits
	number int
}

// newDefinition compiles a type of collection. key is nil for a list, the element itself for a set, and for a map the type of the
// element's first field. The error names the field that cannot be sent, or the limit out of its range.
func newDefinition(kind kind, name string, element, key reflect.Type, limits limits) (*definition, error) {
	d := &definition{name: name, kind: kind, limits: limits}
	if d.limits.Elements == 0 {
		d.limits.Elements = defaultElements
	}
	if d.limits.Bytes == 0 {
		d.limits.Bytes = defaultBytes
	}
	switch {
	case d.limits.Elements < 1 || d.limits.Elements > maxElements:
		return nil, fmt.Errorf("it holds 1 to %d elements, not %d", maxElements, limits.Elements)
	case d.limits.Bytes < 1 || d.limits.Bytes > maxBytes:
		return nil, fmt.Errorf("it holds 1 to %d bytes, not %d", maxBytes, limits.Bytes)
	}
	if key != nil {
		plan, err := compile(key, "key")
		if err != nil && kind == kindMap {
			return nil, fmt.Errorf("the key: %w", err)
		}
		if err != nil {
			return nil, err
		}
		if plan.Fixed() < plan.Lanes() {
			return nil, fmt.Errorf("the key: %s has a text or a list, whose length differs: use a number that stands for it, or an array", key)
		}
		if len(plan.Refs()) > 0 {
			return nil, fmt.Errorf("a key of kind entity would be another one for each client: leave out the tag of %s", key)
		}
		d.key, d.keys = plan, plan.Lanes()
	}
	if kind == kindMap && element.Kind() == reflect.Struct && element.NumField() == 2 {
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

// mustBeValue refuses a type that cannot be the value of a map. The error names the fields of that type.
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

// compile compiles an element or a key, and refuses types that cannot be one.
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
	case plan.Lanes() > maxLanes || bytesOf(plan) > maxElementBytes:
		return nil, fmt.Errorf("%s is larger than %d words or %d bytes", t, maxLanes, maxElementBytes)
	}
	return plan, nil
}

// bytesOf returns the largest size of an element in bytes.
func bytesOf(plan *quantize.Plan) int { return (plan.Bits() + 7) / 8 }

// measure computes the largest number of elements by both limits.
func (d *definition) measure() error {
	d.most = min(d.limits.Elements, d.limits.Bytes*8/max(d.plan.Bits(), 1))
	if d.most == 0 {
		return fmt.Errorf("an element of %d bytes does not fit into %d", bytesOf(d.plan), d.limits.Bytes)
	}
	return nil
}

// Name returns the wire name.
func (d *definition) Name() string { return d.name }

// Kind returns the kind.
func (d *definition) Kind() kind { return d.kind }

// Number returns its place among those of the protocol.
func (d *definition) Number() int { return d.number }

// Plan returns the fields of an element.
func (d *definition) Plan() *quantize.Plan { return d.plan }

// Key returns the fields of a key, which are the first ones of an element; nil for a list.
func (d *definition) Key() *quantize.Plan { return d.key }

// Most returns the largest number of elements.
func (d *definition) Most() int { return d.most }

// Limits returns the limits, with defaults.
func (d *definition) Limits() limits { return d.limits }

// Settle sets the number, the definition's place among those of the protocol, and turns packing off if debug is set. The limits in
// elements stay the same then.
func (d *definition) Settle(number int, debug bool) {
	d.number = number
	if debug {
		d.plan.Debug()
	}
}

// Describe appends the canonical text, with everything that two ends must agree on:
//
//	inventory{list;most:1024;element{Slot:u8;Count:u16}}
func (d *definition) Describe(dst []byte) []byte {
	dst = append(append(append(dst, d.name...), '{'), d.kind.String()...)
	dst = strconv.AppendInt(append(dst, ";most:"...), int64(d.most), 10)
	if d.keys > 0 {
		dst = strconv.AppendInt(append(dst, ";key:"...), int64(d.keys), 10)
	}
	return append(d.plan.Describe(append(dst, ';')), '}')
}

package quantize

import (
	"fmt"
	"github.com/arche-netcode/netcode/wire"
	"reflect"
	"strconv"
	"strings"
)

// Outside says of a value of the plan's Type what the fault of its quantising does not: the number that is out of range, and the bounds of
// its tag, as "300, and its tag allows -100 to 100". It is empty for other faults.
func (p *Plan) Outside(v reflect.Value, fault Fault) string {
	for i := range p.ops {
		if o := &p.ops[i]; fault.Reason == wire.OutOfRange && o.path == fault.field {
			return o.outsideOf(fieldBy(v, o.path))
		}
	}
	return ""
}

// outsideOf says what number a field has and which its tag allows; empty for a field without bounds.
func (o *op) outsideOf(v reflect.Value) string {
	low, high := "", ""
	switch o.kind {
	case opFixed32, opFixed64:
		low, high = formatFloat(o.min, o.size), formatFloat(o.max, o.size)
	case opHalf32, opHalf64:
		low, high = formatFloat(-wire.MaxHalf, 8), formatFloat(wire.MaxHalf, 8)
	case opAxis32, opAxis64:
		low, high = "-1", "1"
	case opRange:
		least, most := o.low^o.flip, (o.low+o.count)^o.flip
		low, high = strconv.FormatUint(least, 10), strconv.FormatUint(most, 10)
		if o.signed {
			low, high = strconv.FormatInt(int64(least), 10), strconv.FormatInt(int64(most), 10)
		}
	default:
		return ""
	}
	number := ""
	switch {
	case v.CanFloat():
		number = formatFloat(v.Float(), uint8(v.Type().Size()))
	case v.CanInt():
		number = strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		number = strconv.FormatUint(v.Uint(), 10)
	}
	return fmt.Sprintf("%s, and its tag allows %s to %s", number, low, high)
}

// fieldBy returns the field of a value that a path leads to, as compile names fields: "Vel.X", "A[2]", or "value" for the value itself.
func fieldBy(v reflect.Value, path string) reflect.Value {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch v.Kind() {
		case reflect.Struct:
			v = v.FieldByName(step)
		case reflect.Array:
			i, _ := strconv.Atoi(step)
			v = v.Index(i)
		}
	}
	return v
}

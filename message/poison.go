package message

import (
	"math"
	"reflect"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// poisonByte is the value of every byte of a poisoned number.
const (
	poisonByte       = 0xDB
	poisonInt  int64 = -0x24242424_24242425 // the same bytes
)

// poison overwrites a value after its handler returned, and everything it refers to. It is for debug builds: a game
// that keeps the value sees nonsense at once, instead of another message now and then.
func poison[T any](m *T) { poisonValue(reflect.ValueOf(m).Elem()) }

func poisonValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			poisonValue(v.Field(i))
		}
		return
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			poisonValue(v.Index(i))
		}
		return
	}
	if !v.CanSet() {
		v = settable(v)
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(poisonInt)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(poisonByte * 0x0101_0101_0101_0101)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.NaN())
	case reflect.String:
		v.SetString("poisoned: a message is good until its handler returns")
	default:
		v.SetZero()
	}
}

// poisonContext overwrites a context after its handler returned; End and the scratch memory stay.
func poisonContext(c *Context) {
	*c = Context{
		End: c.End, Sender: math.MaxUint32, Local: math.MaxUint32 - 1, Received: time.Duration(math.MinInt64),
		Tick: tick.Tick(math.MinInt64), NotBefore: tick.Tick(math.MinInt64),
		Entity: wire.NetworkID{Index: math.MaxUint32, Generation: math.MaxUint32},
		Call:   math.MaxUint16, Type: math.MaxUint8, Stage: math.MaxUint8, Channel: math.MaxUint8, scratch: c.scratch,
	}
}

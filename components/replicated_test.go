package components_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
)

// The bridge compares Replicated byte by byte, which padding would spoil.
func TestReplicatedHasNoPadding(t *testing.T) {
	var bytes func(reflect.Type) uintptr
	bytes = func(typ reflect.Type) (n uintptr) {
		if typ.Kind() != reflect.Struct {
			return typ.Size()
		}
		for i := range typ.NumField() {
			n += bytes(typ.Field(i).Type)
		}
		return n
	}
	typ := reflect.TypeFor[components.Replicated]()
	require.Equal(t, typ.Size(), bytes(typ))
	require.EqualValues(t, 12, typ.Size())
}

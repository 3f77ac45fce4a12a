package quantize

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The bytes of a world's hash are the same whichever way they are collected: whole spans, field by field, and by the
// plain twin.
func TestAppendFieldsBothWays(t *testing.T) {
	testAppendFields[layoutBody](t)
	testAppendFields[layoutMixed](t)
	testAppendFields[layoutSmall](t)
	testAppendFields[padded](t)
	testAppendFields[body](t)
	testAppendFields[faulty](t)
}

func testAppendFields[T any](t *testing.T) {
	t.Helper()
	p := mustCompile[T](t, "Value")
	random := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		var v T
		src := make([]byte, 4096)
		randomBytes(random, src, 100)
		_, ok := twinGet(src, reflect.ValueOf(&v).Elem(), false)
		require.True(t, ok)
		want := p.appendEachField([]byte{7}, unsafe.Pointer(&v))
		require.Equal(t, want, p.AppendFields([]byte{7}, unsafe.Pointer(&v)))
		require.Equal(t, want[1:], twinPut(nil, reflect.ValueOf(v)))
	}
}

package main

import (
	"go/format"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInstrumentReportsEachFunction(t *testing.T) {
	source := "package a\n\ntype T[K any] struct{}\n\nfunc (t *T[K]) Get() int {\n\treturn 1\n}\n\nfunc assembly()\n\nfunc _() {}\n\nfunc f() { assembly() }\n"
	got, err := instrument("a/b.go", []byte(source))
	require.NoError(t, err)
	formatted, err := format.Source(got)
	require.NoError(t, err, "it is Go")
	require.Contains(t, string(formatted), `walktrace.Enter("a/b.go:T.Get")`)
	require.Contains(t, string(formatted), `walktrace.Enter("a/b.go:f")`)
	require.NotContains(t, string(formatted), `"a/b.go:assembly"`, "it has no body")
	same, err := instrument("a/c.go", []byte("package a\n\ntype U int\n"))
	require.NoError(t, err)
	require.Equal(t, "package a\n\ntype U int\n", string(same), "no import that nobody uses")
}

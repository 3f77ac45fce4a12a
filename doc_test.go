package netcode_test

import (
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// audiences is for whom the package comment says that the methods of a server and a client are; a method that is named twice
// has both.
func audiences(text string) map[string][]string {
	found := map[string][]string{}
	heading := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "//"), " ")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			heading = title
		}
		if !strings.HasPrefix(line, "  ") {
			continue // only lists say for whom a method is
		}
		for _, part := range strings.Split(line, "[")[1:] {
			if name, _, ok := strings.Cut(part, "]"); ok && strings.Contains(name, ".") {
				found[name] = append(found[name], heading)
			}
		}
	}
	return found
}

// The comments of Server and Client name the audience of each method, once, and no method that does not exist.
func TestTypeCommentsNameEveryMethodOnce(t *testing.T) {
	found := map[string][]string{}
	for _, file := range []string{"server.go", "client.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		maps.Copy(found, audiences(string(text)))
	}
	for of, end := range map[string]reflect.Type{"Server": reflect.TypeFor[*netcode.Server](), "Client": reflect.TypeFor[*netcode.Client]()} {
		for m := range end.NumMethod() {
			name := of + "." + end.Method(m).Name
			require.Len(t, found[name], 1, "%s in the lists of the type's comment", name)
			require.Contains(t, []string{"Methods for games", "Methods for the systems", "Methods for extensions"}, found[name][0], name)
			delete(found, name)
		}
	}
	require.Empty(t, found, "no such method")
}

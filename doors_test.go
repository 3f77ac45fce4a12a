package netcode_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
)

// doorNames is the largest number of names that package netcode exports (ADR 97).
const doorNames = 70

// exportedIn lists the names that the files of a package export at the top level.
func exportedIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		syntax, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range syntax.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							add(name)
						}
					}
				}
			}
		}
	}
	return names
}

// Games see a door of a size that one can learn.
func TestTheDoorOfGamesIsSmall(t *testing.T) {
	names := exportedIn(t, ".")
	require.Contains(t, names, "NewServer")
	require.LessOrEqual(t, len(names), doorNames, "%v", names)
}

// A server and a client have no method of those that systems and features call, which are in internal/steps and extend.
func TestGamesSeeNeitherStepsNorHooks(t *testing.T) {
	hidden := func(inner reflect.Type, shown ...string) (names []string) {
		for i := range inner.NumMethod() {
			if name := inner.Method(i).Name; !strings.Contains(strings.Join(shown, " "), name) {
				names = append(names, name)
			}
		}
		return names
	}
	for outer, names := range map[reflect.Type][]string{
		reflect.TypeFor[*netcode.Server]():   append(hidden(reflect.TypeFor[steps.Server]()), hidden(reflect.TypeFor[extend.Server](), "ID", "Tick")...),
		reflect.TypeFor[*netcode.Client]():   append(hidden(reflect.TypeFor[steps.Client]()), hidden(reflect.TypeFor[extend.Client](), "ID", "Tick")...),
		reflect.TypeFor[*netcode.Protocol](): hidden(reflect.TypeFor[extend.Protocol](), "Schema"),
	} {
		require.NotEmpty(t, names)
		for _, name := range names {
			_, seen := outer.MethodByName(name)
			require.False(t, seen, "%v has %s", outer, name)
		}
	}
}

// The doors open for ends, for types that embed one, and for nothing else.
func TestDoorsOpenForEndsAlone(t *testing.T) {
	p := netcode.NewProtocol()
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	embedded := struct{ *netcode.Server }{r.Server.Server}
	require.NotNil(t, extend.OfServer(r.Server.Server))
	require.NotNil(t, extend.OfServer(embedded))
	require.NotNil(t, steps.OfServer(embedded))
	require.NotNil(t, extend.OfClient(c.Client))
	require.Nil(t, extend.OfServer(c.Client), "a client is no server")
	require.Nil(t, extend.OfClient(r.Server.Server))
	require.Nil(t, steps.OfServer((*netcode.Server)(nil)))
	require.Nil(t, extend.OfServer(nil))
	require.Nil(t, extend.OfServer(struct{ *netcode.Server }{}), "a type that embeds a nil server")
	require.Nil(t, steps.OfClient(&struct{ *netcode.Client }{}))
	require.Nil(t, netcode.ServerOf(struct{ *netcode.Server }{}))
	require.Nil(t, extend.OfServer(r.Server.Server).Session(99), "no such client")
	require.PanicsWithValue(t, "netcode: the protocol is nil: make it with NewProtocol", func() { extend.OfProtocol((*netcode.Protocol)(nil)) })
	_, ok := extend.ExtensionOf[*rig.Rig]((*netcode.Client)(nil))
	require.False(t, ok)
}

// An option of registrations does nothing for a message, and one of messages nothing for a registration: both are told.
func TestAnOptionOfTheOtherKindIsRefused(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Handle[chat](p, nil)
	r := rig.New(t, p, netcode.Config{})
	for _, option := range []netcode.Option{netcode.Named("other"), netcode.FromClient(), netcode.Once(), netcode.Importance(2)} {
		require.ErrorIs(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &chat{1}, option), errs.ErrMisuse)
	}
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &chat{1}, netcode.Option{}))
	for _, option := range []netcode.Option{netcode.About(netcode.NetworkID{Index: 1, Generation: 1}), netcode.AtOnce(), netcode.NotBefore(3), netcode.Within(1)} {
		require.PanicsWithValue(t, "netcode: Handle[netcode_test.chat]: About, NotBefore, AtOnce, AfterAllState and Within are for Send and Call: they are of one message",
			func() { netcode.Handle[chat](netcode.NewProtocol(), nil, option) })
	}
}

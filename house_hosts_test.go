package netcode_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// hostUsers lists the packages that count by the host behind an address, nested modules too, and what they limit by it.
func hostUsers() map[string]string {
	return map[string]string{
		"fleet/supervisor":         "requests and connections of backends",
		"internal/admission":       "places, handshakes, decisions and players that are away",
		"internal/handshake":       "names the work of a datagram",
		"internal/link":            "connections that share a line",
		"transport/internal/turns": "turns in the queue of received datagrams",
		"transport/lan":            "answers to questions",
		"transport/queued":         "connections of WebSocket and WebTransport",
		"transport/secure":         "sessions, handshakes and Resets",
	}
}

// hostExempt lists the files that read the bytes of an address for something else than a limit.
func hostExempt() map[string]string {
	return map[string]string{
		"fleet/nats/config.go":        "the address that the game gives to listen at",
		"fleet/nats/embed.go":         "the addresses that the game gives to listen at and to dial",
		"examples/web/site/pages.go":  "the name of this machine in a request",
		"inspect/live/handler.go":     "the name of this machine in a request",
		"internal/proof/cookie.go":    "a cookie signs the whole address",
		"transport/udp/local_unix.go": "the kernel takes it",
		"transport/udp/send_unix.go":  "the socket takes it",
	}
}

// hostFaults returns the places of a tree that cut or count addresses by themselves, and the packages that import internal/hosts.
func hostFaults(tree fs.FS) (faults []string, users []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); entry.IsDir() && name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || base == "bench") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || path.Dir(name) == "internal/hosts" {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, source, 0)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if strings.HasSuffix(strings.Trim(i.Path.Value, `"`), "/"+houseHosts) {
				users = append(users, path.Dir(name))
			}
		}
		if hostExempt()[name] == "" {
			faults = append(faults, hostFaultsOf(set, file)...)
		}
		return nil
	})
	slices.Sort(users)
	return faults, slices.Compact(users), err
}

// hostFaultsOf returns the places of a file: prefixes, masks, the bytes of an address, and maps by address.
func hostFaultsOf(set *token.FileSet, file *ast.File) (faults []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		fault := ""
		switch n := n.(type) {
		case *ast.CallExpr:
			selector, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch selector.Sel.Name {
			case "PrefixFrom", "Masked", "CIDRMask", "IPMask", "IPv4Mask", "As16", "As4", "AsSlice", "SplitHostPort":
				fault = selector.Sel.Name
			case "Prefix":
				if len(n.Args) == 1 {
					fault = "Prefix"
				}
			}
		case *ast.MapType:
			if key, ok := n.Key.(*ast.SelectorExpr); ok && fmt.Sprint(key.X) == "netip" && key.Sel.Name == "Addr" {
				fault = "map by netip.Addr"
			}
		}
		if fault != "" {
			faults = append(faults, fmt.Sprintf("%v: %s", set.Position(n.Pos()), fault))
		}
		return true
	})
	return faults
}

// TestLimitsCountHosts checks that no package cuts an address by itself: internal/hosts alone says which host is behind it. It lists the
// packages that do, so that a new limit that forgets it is seen.
func TestLimitsCountHosts(t *testing.T) {
	faults, users, err := hostFaults(os.DirFS("."))
	require.NoError(t, err)
	require.Empty(t, faults, "count by internal/hosts, or name the file in hostExempt with a reason")
	require.Equal(t, slices.Sorted(maps.Keys(hostUsers())), users)
	for name := range hostExempt() {
		require.FileExists(t, name)
	}
	for _, fault := range []string{
		"m := map[netip.Addr]int{}; _ = m", "ip.Prefix(64)", "netip.PrefixFrom(ip, 24)", "ip.As16()", "net.CIDRMask(24, 32)", "p.Masked()", "net.SplitHostPort(text)",
	} {
		tree := fstest.MapFS{"x/x.go": {Data: []byte("package x\n\nfunc f() { " + fault + " }\n")}}
		faults, _, err := hostFaults(tree)
		require.NoError(t, err)
		require.Len(t, faults, 1, fault)
	}
}

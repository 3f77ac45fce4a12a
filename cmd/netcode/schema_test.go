package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/usage"
)

type (
	hull struct{ Strength uint16 }
	sail struct{ Angle int8 }
)

// lockOf writes the lock file of a protocol.
func lockOf(t *testing.T, register func(p *netcode.Protocol)) string {
	t.Helper()
	p := netcode.NewProtocol()
	register(p)
	var text bytes.Buffer
	require.NoError(t, p.WriteSchema(&text))
	name := filepath.Join(t.TempDir(), "schema.lock")
	require.NoError(t, os.WriteFile(name, text.Bytes(), 0o600))
	return name
}

// The exit status tells a script whether a release breaks players; the text tells people.
func TestSchemaCheck(t *testing.T) {
	old := lockOf(t, func(p *netcode.Protocol) { netcode.Replicate[hull](p) })
	same := lockOf(t, func(p *netcode.Protocol) { netcode.Replicate[hull](p, netcode.Every(2)) })
	other := lockOf(t, func(p *netcode.Protocol) { netcode.Replicate[sail](p, netcode.Named("hull")) })
	damaged := filepath.Join(t.TempDir(), "schema.lock")
	require.NoError(t, os.WriteFile(damaged, []byte("schema 1 12\n"), 0o600))
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"the same":   {[]string{"check", old, old}, 0, "the protocols are the same"},
		"compatible": {[]string{"check", old, same}, 0, "its options were none and are every 2"},
		"breaks":     {[]string{"check", old, other}, 1, "component hull: the field Strength:u16 is gone"},
		"damaged":    {[]string{"check", old, damaged}, 1, damaged},
		"missing":    {[]string{"check", old, damaged + "x"}, 1, "no such file"},
		"no command": {nil, 2, "netcode schema check OLD NEW"},
		"one file":   {[]string{"check", old}, 2, "netcode schema check OLD NEW"},
		"another":    {[]string{"compare", old, old}, 2, "netcode schema check OLD NEW"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(append([]string{"schema"}, c.args...), &out, &out)
			require.Equal(t, c.status, usage.Status(err))
			text := out.String()
			if err != nil {
				text += err.Error()
			}
			require.Contains(t, text, c.want)
		})
	}
	text, err := os.ReadFile(old)
	require.NoError(t, err)
	var out bytes.Buffer
	require.ErrorIs(t, runSchema([]string{"check", "-", other}, strings.NewReader(string(text)), &out), errBreaks, "- is the standard input")
}

func TestSchemaJS(t *testing.T) {
	lock := lockOf(t, func(p *netcode.Protocol) { netcode.Replicate[hull](p) })
	to := filepath.Join(t.TempDir(), "game.js")
	var out bytes.Buffer
	require.NoError(t, runSchema([]string{"js", lock, "-o", to}, nil, &out))
	module, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Contains(t, string(module), `"component hull{Strength:u16}"`)
	types, err := os.ReadFile(strings.TrimSuffix(to, "js") + "d.ts")
	require.NoError(t, err)
	require.Contains(t, string(types), `"hull": { Strength: number; };`)
	require.Equal(t, 2, usage.Status(runSchema([]string{"js", lock, "-o", "game.ts"}, nil, &out)))
	require.Error(t, runSchema([]string{"js", lock + "x", "-o", to}, nil, &out))
}

func TestSchemaPlain(t *testing.T) {
	lock := lockOf(t, func(p *netcode.Protocol) { netcode.Replicate[hull](p) })
	to := filepath.Join(t.TempDir(), "game.plain")
	var out bytes.Buffer
	require.NoError(t, runSchema([]string{"plain", lock, "-o", to}, nil, &out))
	words, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Contains(t, string(words), "component hull\nfield Strength int 16 0 0 0\n")
	require.Error(t, runSchema([]string{"plain", lock + "x", "-o", to}, nil, &out))
	require.Equal(t, 2, usage.Status(runSchema([]string{"plain", lock}, nil, &out)))
}

package netcode_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// The table of defaults in the comment of Config, and that of the guide, have the defaults of a server.
func TestDefaultsOfConfigAreTold(t *testing.T) {
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	config := reflect.ValueOf(server.Config())
	told := regexp.MustCompile(`([A-Z]\w+)(?:` + "`" + `)? ([0-9]\w*)`)
	for file, row := range map[string]*regexp.Regexp{
		"config.go":            regexp.MustCompile(`(?m)^//\t(?:Ticks|State|Line|Messages|Who \w+) .*$`),
		"docs/guide/server.md": regexp.MustCompile(`(?m)^\| (?:ticks|state|line|messages|who \w+) \|.*$`),
	} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		found := map[string]bool{}
		for _, pair := range told.FindAllStringSubmatch(strings.Join(row.FindAllString(string(source), -1), "\n"), -1) {
			field := config.FieldByName(pair[1])
			require.True(t, field.IsValid(), "%s: there is no Config.%s", file, pair[1])
			require.Equal(t, pair[2], fmt.Sprint(field.Interface()), "%s: Config.%s", file, pair[1])
			found[pair[1]] = true
		}
		for i := range config.NumField() {
			if kind := config.Field(i).Kind(); kind == reflect.Int || kind == reflect.Int64 || kind == reflect.Uint64 {
				require.True(t, found[config.Type().Field(i).Name], "%s: no default of Config.%s", file, config.Type().Field(i).Name)
			}
		}
	}
}

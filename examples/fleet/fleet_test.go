// Package fleet_test tests what the programs of this folder are deployed with.
package fleet_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type object = map[string]any

// documents parses all YAML files of deploy, by kind and name.
func documents(t *testing.T) map[string]object {
	files, err := filepath.Glob("deploy/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 2)
	all := map[string]object{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for in := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var o object
			if err := in.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, file)
			}
			require.NotEmpty(t, o["apiVersion"], file)
			all[o["kind"].(string)+" "+at(t, o, "metadata", "name").(string)] = o
		}
	}
	return all
}

// at returns what is under keys and indices.
func at(t *testing.T, of any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			o, ok := of.(object)
			require.True(t, ok, "%v has no %q", of, step)
			require.Contains(t, o, step)
			of = o[step]
		case int:
			list, ok := of.([]any)
			require.True(t, ok && len(list) > step, "%v has no item %d", of, step)
			of = list[step]
		}
	}
	return of
}

func source(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// The YAML says what the programs need, and both say the same.
func TestTheYAMLFitsThePrograms(t *testing.T) {
	all := documents(t)
	require.Len(t, all, 7)
	game := at(t, all["Fleet game"], "spec", "template", "spec")
	port := at(t, game, "ports", 0)
	require.Equal(t, object{"name": "game", "portPolicy": "Dynamic", "containerPort": 7654, "protocol": "UDP"}, port)
	require.Contains(t, source(t, "game/main.go"), `flag.String("listen", ":7654"`)
	for _, kind := range []string{"counters", "lists"} {
		at(t, game, kind, "players", "capacity")
	}
	require.Contains(t, source(t, "game/main.go"), `agones.Config{Counter: "players", List: "players"}`)
	drain := regexp.MustCompile(`const drain = (\d+) \* time.Second`).FindStringSubmatch(source(t, "game/main.go"))
	require.NotNil(t, drain)
	limit, err := time.ParseDuration(drain[1] + "s")
	require.NoError(t, err)
	pod := at(t, game, "template", "spec")
	require.Greater(t, time.Duration(at(t, pod, "terminationGracePeriodSeconds").(int))*time.Second, limit+15*time.Second)
	require.Equal(t, "game", at(t, game, "container"))
	require.Equal(t, "game", at(t, pod, "containers", 0, "name"))

	allocator := at(t, all["Deployment allocator"], "spec", "template", "spec")
	for _, p := range []any{pod, allocator} {
		require.Equal(t, true, at(t, p, "securityContext", "runAsNonRoot"))
		require.Equal(t, true, at(t, p, "containers", 0, "securityContext", "readOnlyRootFilesystem"))
		require.Equal(t, false, at(t, p, "containers", 0, "securityContext", "allowPrivilegeEscalation"))
		env := at(t, p, "containers", 0, "env", 0)
		require.Equal(t, object{"name": "NETCODE_KEY", "valueFrom": object{"secretKeyRef": object{"name": "netcode", "key": "key"}}}, env)
	}
	require.Equal(t, "NETCODE_BEARER", at(t, allocator, "containers", 0, "env", 1, "name"))
	require.Equal(t, "allocator", at(t, allocator, "serviceAccountName"))
	require.Equal(t, []any{
		object{"apiGroups": []any{"allocation.agones.dev"}, "resources": []any{"gameserverallocations"}, "verbs": []any{"create"}},
		object{"apiGroups": []any{"agones.dev"}, "resources": []any{"gameservers"}, "verbs": []any{"list"}},
	}, at(t, all["Role allocator"], "rules"), "no more than what it calls")
	require.Equal(t, "allocator", at(t, all["RoleBinding allocator"], "subjects", 0, "name"))
	require.Equal(t, at(t, all["Deployment allocator"], "spec", "selector", "matchLabels"), at(t, all["Service allocator"], "spec", "selector"))
	require.Equal(t, "game", at(t, all["FleetAutoscaler game"], "spec", "fleetName"))
	require.Equal(t, []any{"-listen", ":8080", "-fleet", "game"}, at(t, allocator, "containers", 0, "args"))
}

// The images are distroless, have a user that is not root, and the port of the YAML.
func TestTheDockerfile(t *testing.T) {
	text := source(t, "deploy/Dockerfile")
	stages := strings.Split(text, "\nFROM ")[1:]
	require.Len(t, stages, 3)
	require.True(t, strings.HasPrefix(stages[0], "golang:1.26 AS build"))
	require.Contains(t, stages[0], "CGO_ENABLED=0", "static has no libc")
	for name, port := range map[string]string{"game": "7654/udp", "allocator": "8080/tcp"} {
		require.Contains(t, stages[0], " ./"+name)
		require.DirExists(t, name)
		i := 1
		if name == "allocator" {
			i = 2
		}
		for _, line := range []string{"gcr.io/distroless/static-debian12:nonroot AS " + name, "COPY --from=build /out/" + name + " /" + name, "USER nonroot:nonroot", "EXPOSE " + port, `ENTRYPOINT ["/` + name + `"]`} {
			require.Contains(t, stages[i], line)
		}
	}
	require.NotContains(t, text, "USER root")
}

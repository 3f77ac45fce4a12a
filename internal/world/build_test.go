package world_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/world"
)

// program makes a world of the ECS that it imports, as a user writes it.
const program = `package game

import (
	"time"

	"github.com/mlange-42/ECS/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func Main() {
	world := ecs.NewWorld()
	socket, _ := memory.NewNetwork().Listen(transport.Addr{})
	server, _ := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	systems.NewRunner(WORLD, systems.NewServer(server, socket, func() time.Duration { return 0 }), 60)
}
`

// userProgram writes the program of an ECS to a file and returns its name.
func userProgram(t *testing.T, ecs string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "game.go")
	text := strings.NewReplacer("ECS", ecs, "WORLD", map[string]string{"arche": "&world", "ark": "world"}[ecs]).Replace(program)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// A world of the other ECS does not compile, with the tag and without it: each build tests its own way. The world of its own does.
func TestAWorldOfTheOtherECSDoesNotCompile(t *testing.T) {
	right, wrong, tags := "arche", "ark", ""
	if world.Name == "Ark" {
		right, wrong, tags = wrong, right, "netcode_ark"
	}
	build := func(ecs string) (string, error) {
		out, err := exec.Command("go", "build", "-tags", tags, userProgram(t, ecs)).CombinedOutput()
		return string(out), err
	}
	out, err := build(right)
	require.NoError(t, err, out)
	out, err = build(wrong)
	require.Error(t, err)
	require.Contains(t, out, "World) as *netecs.World value in argument to systems.NewRunner")
}

// A build has the ECS of its tag, and does not compile the other one.
func TestABuildHasOneECS(t *testing.T) {
	for tags, has := range map[string][2]string{"": {"arche", "ark"}, "netcode_ark": {"ark", "arche"}} {
		out, err := exec.Command("go", "list", "-deps", "-tags", tags, userProgram(t, has[0])).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "github.com/mlange-42/"+has[0]+"/ecs\n")
		require.NotContains(t, string(out), "github.com/mlange-42/"+has[1]+"/", tags)
	}
}

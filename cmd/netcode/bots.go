package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/systems"
)

// defaultGame is the game whose bots play unless another is given.
const defaultGame = "./examples/arena"

// runBots lets the bots of a game play. Only the game's own program knows its components, so that is what runs: its command bots,
// which calls load.Main.
func runBots(args []string, out, progress io.Writer) error {
	game := defaultGame
	if len(args) > 0 && (args[0] == "-game" || args[0] == "--game") {
		if len(args) == 1 {
			return usage.Errorf("-game needs a value: the package of a game, as in -game ./examples/arena")
		}
		game, args = args[1], args[2:]
	}
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	run := exec.CommandContext(ctx, "go", append([]string{"run", game, "bots"}, args...)...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.Stdout, run.Stderr = out, progress
	var exit *exec.ExitError
	if err := run.Run(); errors.As(err, &exit) {
		return fmt.Errorf("the bots of %s ended with status %d: what is wrong stands above", game, exit.ExitCode())
	} else if err != nil {
		return err
	}
	return nil
}

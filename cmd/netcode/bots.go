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

// defaultGame is the game that runs unless another is given.
const defaultGame = "./examples/arena"

// runBots lets the bots of a game play: its command bots calls load.Main.
func runBots(args []string, out, progress io.Writer) error {
	return runGame("bots", args, out, progress)
}

// runGame runs a command of a game's own program, which alone knows the game's components.
func runGame(command string, args []string, out, progress io.Writer) error {
	game := defaultGame
	if len(args) > 0 && (args[0] == "-game" || args[0] == "--game") {
		if len(args) == 1 {
			return usage.Errorf("-game needs a value: the package of a game, as in -game ./examples/arena")
		}
		game, args = args[1], args[2:]
	}
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	run := exec.CommandContext(ctx, "go", append([]string{"run", game, command}, args...)...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, out, progress
	var exit *exec.ExitError
	if err := run.Run(); errors.As(err, &exit) {
		return fmt.Errorf("%s of %s ended with status %d: the reason stands above", command, game, exit.ExitCode())
	} else if err != nil {
		return err
	}
	return nil
}

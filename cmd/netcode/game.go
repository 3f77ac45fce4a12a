package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/arche-netcode/netcode/internal/usage"
)

// defaultGame is the game that runs unless another is given.
const defaultGame = "./examples/arena"

// deterministicGame is the game of verify unless another is given.
const deterministicGame = "./examples/shooter"

// runGame runs a command of a game's own program, which alone knows the game's components. The program is built first: go run
// passes no signal on, and an interrupted run would not report.
func runGame(ctx context.Context, command string, args []string, out, progress io.Writer) (err error) {
	game := defaultGame
	if command == "verify" {
		game = deterministicGame
	}
	if len(args) > 0 && (args[0] == "-game" || args[0] == "--game") {
		if len(args) == 1 {
			return usage.Errorf("-game needs a value: the package of a game, as in -game ./examples/arena")
		}
		game, args = args[1], args[2:]
	}
	dir, err := os.MkdirTemp("", "netcode-game")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "game.exe") // the name that Windows needs
	build := exec.CommandContext(ctx, "go", "build", "-o", program, game)
	build.Stdout, build.Stderr = progress, progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build %s: %w: the reason stands above; netcode %s -game PACKAGE, before other flags, names your game", game, err, command)
	}
	run := exec.CommandContext(ctx, program, append([]string{command}, args...)...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, out, progress
	var exit *exec.ExitError
	if err := run.Run(); errors.As(err, &exit) {
		return fmt.Errorf("%s of %s ended with status %d: the reason stands above", command, game, exit.ExitCode())
	} else if !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

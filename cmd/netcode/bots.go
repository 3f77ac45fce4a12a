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

// defaultGame is the game whose bots play unless another is given.
const defaultGame = "./examples/arena"

// runBots lets the bots of a game play. Only the game's own program knows its components, so that is what runs: its command bots,
// which calls load.Main. It is built first: go run passes no signal on, and an interrupted run would not report.
func runBots(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	game := defaultGame
	if len(args) > 0 && (args[0] == "-game" || args[0] == "--game") {
		if len(args) == 1 {
			return usage.Errorf("-game needs a value: the package of a game, as in -game ./examples/arena")
		}
		game, args = args[1], args[2:]
	}
	dir, err := os.MkdirTemp("", "netcode-bots")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "bots.exe") // the name that Windows needs
	build := exec.CommandContext(ctx, "go", "build", "-o", program, game)
	build.Stdout, build.Stderr = progress, progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build %s: %w", game, err)
	}
	run := exec.CommandContext(ctx, program, append([]string{"bots"}, args...)...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.Stdout, run.Stderr = out, progress
	var exit *exec.ExitError
	if err := run.Run(); errors.As(err, &exit) {
		return fmt.Errorf("the bots of %s ended with status %d: what is wrong stands above", game, exit.ExitCode())
	} else if !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

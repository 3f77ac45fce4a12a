package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/internal/usage"
)

// defaultGame is the game that runs unless another is given.
const defaultGame = "./examples/arena"

// deterministicGame is the game of verify unless another is given.
const deterministicGame = "./examples/shooter"

// runGame runs a command of a game's own program, which alone knows the game's components. The program is built first: go run
// passes no signal on, and an interrupted run would not report. A program that ignores its arguments ends with status 0 too: verify
// must print that there is no difference.
func runGame(ctx context.Context, command string, args []string, out, progress io.Writer) (err error) {
	usual := defaultGame
	if command == "verify" {
		usual = deterministicGame
	}
	game, args, err := takeGame(args, usual)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "netcode-game")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "game.exe") // the name that Windows needs
	if err := build(ctx, game, program, progress); err != nil {
		return fmt.Errorf("netcode %s -game PACKAGE names your game; go build %s: %w: the reason stands above%s", command, game, err, wayOut(game, command))
	}
	run := exec.CommandContext(ctx, program, append([]string{command}, args...)...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	if command == "verify" {
		out = io.MultiWriter(out, &said)
	}
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, out, progress
	var exit *exec.ExitError
	if err := run.Run(); errors.As(err, &exit) {
		err = fmt.Errorf("%s of %s ended with status %d: the reason stands above", command, game, exit.ExitCode())
		if exit.ExitCode() == 2 {
			err = usage.Errorf("%w", err) // So that the status is the game's.
		}
		return err
	} else if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if command == "verify" && !slices.ContainsFunc(args, isHelp) && !slices.Contains(strings.Split(said.String(), "\n"), noDifference) {
		return fmt.Errorf("the game %s ran, and did not answer the command verify with a line %q: see docs/guide/recording.md", game, noDifference)
	}
	return nil
}

// build builds a game. A folder is built in its own module; go looks for any other package in that of this folder.
func build(ctx context.Context, game, program string, progress io.Writer) error {
	args := []string{"build", "-o", program, game}
	if isFolder(game) {
		args = []string{"build", "-C", game, "-o", program, "."}
	}
	b := exec.CommandContext(ctx, "go", args...)
	b.Stdout, b.Stderr = progress, progress
	return b.Run()
}

// wayOut tells where a package that is no folder can be built.
func wayOut(game, command string) string {
	if isFolder(game) {
		return ""
	}
	return "; run it in the folder of your game's module: go run github.com/arche-netcode/netcode/cmd/netcode " + command
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// takeGame takes the flag -game out of the arguments, wherever it stands before a --; the others are the game's.
func takeGame(args []string, usual string) (game string, others []string, err error) {
	game = usual
	for i := 0; i < len(args); i++ {
		value, joined := strings.CutPrefix(strings.Replace(args[i], "--game", "-game", 1), "-game=")
		switch {
		case args[i] == "--":
			return game, append(others, args[i:]...), nil
		case joined:
			game = value
		case args[i] != "-game" && args[i] != "--game":
			others = append(others, args[i])
			continue
		case i+1 < len(args):
			i++
			game = args[i]
		default:
			game = ""
		}
		if game == "" {
			return "", nil, usage.Errorf("-game needs a value: the package of a game, as in -game ./examples/arena")
		}
	}
	return game, others, nil
}

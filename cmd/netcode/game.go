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

// defaultGame is the game to run by default.
const defaultGame = "./examples/crowd"

// deterministicGame is the game of verify by default.
const deterministicGame = "./examples/shooter"

// runGame runs a command of a game's own program, which has the game's components. It builds the program first instead
// of calling go run, which passes no signals on: an interrupted run would not report. A program that ignores its
// arguments exits with status 0, so verify must also print that there is no difference.
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
	program := filepath.Join(dir, "game.exe") // Windows needs the suffix
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
			err = usage.Errorf("%w", err) // so that the exit status is the game's
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

// build builds a game. A folder is built in its own module, any other package in the module of the current folder.
func build(ctx context.Context, game, program string, progress io.Writer) error {
	args := []string{"build", "-o", program, game}
	if isFolder(game) {
		args = []string{"build", "-C", game, "-o", program, "."}
	}
	b := exec.CommandContext(ctx, "go", args...)
	b.Stdout, b.Stderr = progress, progress
	return b.Run()
}

// wayOut returns a hint where a package other than a folder can be built.
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

// takeGame removes the flag -game from the arguments, anywhere before a --. The others belong to the game.
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
			return "", nil, usage.Errorf("-game needs a value: the package of a game, as in -game ./examples/crowd")
		}
	}
	return game, others, nil
}

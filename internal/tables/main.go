// Command tables trains the tables that ship with netcode, delta/shipped.tables, on the motion of invented games: cubes, discs,
// people, traffic, machines, shots, rocks, drones.
//
//	go run ./internal/tables    # in the root of the repository
//
// The new tables take effect with the next build, and change the protocol hash. Its files:
//
//   - scene.go: a scene, and train, which trains the tables
//   - scenes.go: the list of scenes
//   - components.go: the components of the games
//   - rigid.go, flat.go, actors.go, floating.go: the moving things
//   - vector.go: arithmetic with the same results on every machine
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(filepath.FromSlash("delta/shipped.tables"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// run trains the tables and writes them to a file.
func run(file string, out io.Writer) error {
	tables, err := train()
	if err != nil {
		return err
	}
	text := tables.AppendText(nil)
	fmt.Fprintf(out, "%s: %d tables, %d bytes, sum %016x\n", file, len(tables.All()), len(text), tables.Hash())
	return os.WriteFile(file, text, 0o644)
}

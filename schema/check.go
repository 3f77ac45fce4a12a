package schema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arche-netcode/netcode"
)

// Variable is the environment variable that makes Check write its file, with the value "write".
const Variable = "NETCODE_SCHEMA"

// Check fails a game's test if its protocol differs from the one in the file, and reports the differences and whom they break.
// With NETCODE_SCHEMA=write in the environment it writes the file instead, so that a change of the protocol is visible in review.
// It freezes the protocol.
func Check(t testing.TB, p *netcode.Protocol, file string) {
	t.Helper()
	if os.Getenv(Variable) == "write" {
		if err := write(p, file); err != nil {
			t.Fatal(err)
		}
		return
	}
	how := "To make it, run the test once with " + Variable + "=write, and commit the file."
	before, err := ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("schema: there is no file %s. %s", file, how)
	case err != nil:
		t.Fatalf("%s: %v. %s", file, err, strings.Replace(how, "make", "write", 1))
	}
	changes := Compare(before, Of(p))
	if len(changes) == 0 {
		return
	}
	t.Errorf("schema: the protocol is not the one of %s:\n%s\nIf that is meant, run the test once with %s=write, and commit the file.",
		file, Report(changes), Variable)
}

// Breaking reports whether two builds with these differences cannot play together.
func Breaking(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Breaks != "" })
}

// Report returns changes as lines of text, and the verdict as the last line.
func Report(changes []Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	switch {
	case len(changes) == 0:
		lines = append(lines, "compatible: the protocols are the same")
	case Breaking(changes):
		lines = append(lines, "not compatible: the two builds refuse each other")
	default:
		lines = append(lines, "compatible: clients and servers of the two builds play together")
	}
	return strings.Join(lines, "\n")
}

// ReadFile reads a lock file, as Read does.
func ReadFile(name string) (*Lock, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(file)
}

// write writes the lock file of a protocol, and creates its folder if needed.
func write(p *netcode.Protocol, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(p.WriteSchema(file), file.Close())
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/schema/js"
	"github.com/arche-netcode/netcode/schema/plain"
)

// errBreaks is the error for locks whose builds cannot play together; the exit status is 1.
var errBreaks = errors.New("the change breaks players: see the ways out above")

// runSchema compares two lock files, or writes one for clients in other languages.
func runSchema(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 4 && args[0] == "js" && args[2] == "-o" {
		return writeJS(args[1], args[3])
	}
	if len(args) == 4 && args[0] == "plain" && args[2] == "-o" {
		return writePlain(args[1], args[3])
	}
	if len(args) != 3 || args[0] != "check" {
		return usage.Errorf("schema wants check and two files, as in netcode schema check OLD NEW, - being the standard input; or js, a file and -o, as in netcode schema js game.lock -o game.js; or plain, a file and -o, as in netcode schema plain game.lock -o game.plain")
	}
	var locks [2]*schema.Lock
	for i, name := range args[1:] {
		var err error
		if name == "-" {
			locks[i], err = schema.Read(in)
		} else {
			locks[i], err = schema.ReadFile(name)
		}
		if err != nil {
			return named(name, err)
		}
	}
	changes := schema.Compare(locks[0], locks[1])
	fmt.Fprintln(out, schema.Report(changes))
	if schema.Breaking(changes) {
		return errBreaks
	}
	return nil
}

// writePlain writes the protocol of a lock file as words for thin clients.
func writePlain(file, to string) error {
	lock, err := schema.ReadFile(file)
	if err != nil {
		return named(file, err)
	}
	words, err := plain.Words(lock)
	if err != nil {
		return named(file, err)
	}
	return os.WriteFile(to, []byte(words), 0o644)
}

// writeJS writes the protocol of a lock file as a JavaScript module, and its types beside it.
func writeJS(file, to string) error {
	module, isJS := strings.CutSuffix(to, ".js")
	if !isJS {
		return usage.Errorf("schema js writes a module whose name ends in .js, not %s", to)
	}
	lock, err := schema.ReadFile(file)
	if err != nil {
		return named(file, err)
	}
	source := filepath.Base(file)
	types, err := js.Types(lock, source)
	if err != nil {
		return named(file, err)
	}
	if err := os.WriteFile(to, []byte(js.Module(lock, source)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(module+".d.ts", []byte(types), 0o644)
}

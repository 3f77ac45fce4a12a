package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/schema"
)

// errBreaks is the error for locks whose builds cannot play together; the exit status is 1.
var errBreaks = errors.New("the change breaks players: see the ways out above")

// runSchema compares two lock files.
func runSchema(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 3 || args[0] != "check" {
		return usage.Errorf("schema wants check and two files, as in netcode schema check OLD NEW; - is the standard input")
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

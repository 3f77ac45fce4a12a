package usage

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Takes describes the valid values of each flag: range and format.
type Takes map[string]string

// Error is the error of a command line, in one line.
type Error struct{ error }

// Errorf returns an Error.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Status returns a program's exit status for an error: 0 for nil and after help, 2 for a wrong command line as in package flag,
// otherwise 1. Scripts can thus distinguish a wrong command from a failure.
func Status(err error) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(Error)):
		return 2
	}
	return 1
}

// Parse parses args. For help it prints the usage and returns flag.ErrHelp. For a mistake it prints nothing and returns an Error
// with the flag, the mistake and the valid values; a page of usage would hide it.
func Parse(f *flag.FlagSet, args []string, takes Takes) error {
	out := f.Output()
	shown := f.Usage
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	err := f.Parse(args)
	f.SetOutput(out)
	f.Usage = shown
	switch {
	case errors.Is(err, flag.ErrHelp):
		if shown != nil {
			shown()
		} else {
			fmt.Fprintf(out, "Usage of %s:\n", f.Name())
			f.PrintDefaults()
		}
		return err
	case err != nil:
		return Error{takes.explain(err)}
	case f.NArg() > 0 && takes[""] == "":
		return Errorf("unexpected argument %q; -help lists the flags", f.Arg(0))
	}
	return nil
}

// Wrong returns the Error of a value that is out of range.
func (t Takes) Wrong(name string, value any) error {
	return Errorf("-%s %v: it must be %s", name, value, t[name])
}

// explain turns an error of package flag into one that names the flag and its valid values.
func (t Takes) explain(err error) error {
	text := err.Error()
	if name, found := strings.CutPrefix(text, "flag needs an argument: -"); found {
		if t[name] == "" {
			return fmt.Errorf("-%s needs a value; -help says which", name)
		}
		return fmt.Errorf("-%s needs a value: it must be %s", name, t[name])
	}
	if name, found := strings.CutPrefix(text, "flag provided but not defined: -"); found {
		return fmt.Errorf("there is no flag -%s; -help lists them", name)
	}
	before := " for flag -"
	at := strings.LastIndex(text, before) // The last occurrence: the value may contain these words too.
	if at < 0 {
		before = " for -" // A boolean's.
		at = strings.LastIndex(text, before)
	}
	if at < 0 {
		return err
	}
	value, rest := text[:at], text[at+len(before):]
	name, reason, named := strings.Cut(rest, ": ")
	kind, value, found := strings.Cut(value, "value ")
	if !named || !found {
		return err
	}
	takes := t[name]
	switch {
	case takes == "" && kind == "invalid boolean ":
		takes = "true or false"
	case takes == "":
		return fmt.Errorf("-%s %s: %s; -help says what it takes", name, value, reason)
	}
	return fmt.Errorf("-%s %s: it must be %s", name, value, takes)
}

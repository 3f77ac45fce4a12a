package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/tick"
)

// runCut copies a part of a recording.
func runCut(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("cut", flag.ContinueOnError)
	flags.SetOutput(progress)
	to := flags.String("o", "", "the `file` to write")
	from, last := flags.Uint64("from", 0, "the first `tick`"), flags.Uint64("to", math.MaxInt64, "the last `tick`")
	if err := usage.Parse(flags, args, usage.Takes{"o": "a file to write", "from": "a tick", "to": "a tick", "": "a recording"}); err != nil {
		return err
	}
	if *to == "" || flags.NArg() != 1 {
		return usage.Errorf("cut wants -o FILE and a recording, as in netcode cut -o part.recording -from 300 -to 900 game.recording")
	}
	if *from > *last {
		return usage.Errorf("-from is after -to: %d and %d", *from, *last)
	}
	name := flags.Arg(0)
	if err := mayWrite(*to, name); err != nil {
		return err
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	var begins, ends tick.Tick
	err = replaceBy(*to, func(file io.Writer) (err error) {
		begins, ends, err = record.Cut(file, in, tick.Tick(min(*from, math.MaxInt64)), tick.Tick(min(*last, math.MaxInt64)))
		return named(name, err)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: ticks %d to %d\n", *to, begins, ends)
	return nil
}

// noDifference is the line that diff, and a game's command verify, print if there is none.
const noDifference = "no difference"

// errDiffer is diff's error for recordings that differ.
var errDiffer = errors.New("the recordings differ")

// runDiff prints the first difference between two recordings.
func runDiff(args []string, out io.Writer) error {
	if len(args) != 2 {
		return usage.Errorf("diff wants two recordings, as in netcode diff A B")
	}
	var files [2]*os.File
	for i, name := range args {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		files[i] = file
	}
	d, err := record.Diff(files[0], files[1])
	switch {
	case err != nil:
		return err
	case d == nil:
		fmt.Fprintln(out, noDifference)
		return nil
	}
	fmt.Fprintln(out, d.Between(args[0], args[1]))
	return errDiffer
}

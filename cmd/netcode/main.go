// Command netcode makes tables of prefix codes from recordings of a game, and looks at recordings.
//
//	netcode train -o game.tables recording...
//	netcode info recording...
//	netcode ship wire/shipped.tables
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const commands = `usage:
  netcode train -o game.tables recording...   learn from recordings that Server.Record wrote; give the file to UseTables
  netcode info recording...                   what is in them
  netcode ship FILE                           write the tables that ship with netcode, made anew
`

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "netcode:", err)
		if errors.As(err, new(wrongUsage)) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// wrongUsage is what is wrong with the command line.
type wrongUsage struct{ error }

// run is main with its surroundings as arguments.
func run(args []string, out, progress io.Writer) error {
	if len(args) == 0 {
		return wrongUsage{fmt.Errorf("no command\n%s", commands)}
	}
	if isHelp(args[0]) || args[0] != "train" && len(args) > 1 && isHelp(args[1]) {
		_, err := io.WriteString(out, commands)
		return err
	}
	switch args[0] {
	case "train":
		return runTrain(args[1:], out, progress)
	case "info":
		return runInfo(args[1:], out)
	case "ship":
		return runShip(args[1:], out)
	}
	return wrongUsage{fmt.Errorf("no command %q\n%s", args[0], commands)}
}

// isHelp reports whether an argument asks for the usage; that of train is its flags'.
func isHelp(arg string) bool {
	return arg == "help" || arg == "-h" || arg == "-help" || arg == "--help"
}

// runShip writes the shipped tables. The build must happen once more before they are used.
func runShip(args []string, out io.Writer) error {
	if len(args) != 1 {
		return wrongUsage{fmt.Errorf("ship wants one file\n%s", commands)}
	}
	tables, err := record.TrainShipped()
	if err != nil {
		return err
	}
	text := tables.AppendText(nil)
	fmt.Fprintf(out, "%d tables, %d bytes, sum %016x\n", len(tables.All()), len(text), tables.Hash())
	return os.WriteFile(args[0], text, 0o644)
}

// runInfo says what is in recordings.
func runInfo(args []string, out io.Writer) error {
	if len(args) == 0 {
		return wrongUsage{fmt.Errorf("info wants recordings\n%s", commands)}
	}
	for _, name := range args {
		info, err := inspect(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(out, "%s: %d ticks at %d Hz, %d to %d, in %d chunks; %d bytes, %d unpacked\n", name, info.Ticks, info.Header.TickRate,
			info.First, info.Last, info.Chunks, info.Stored, info.Raw)
		if info.Cut {
			fmt.Fprintln(out, "  it was cut off within the last chunk")
		}
		for _, e := range info.Header.Entries {
			fmt.Fprintf(out, "  %s\n", e)
		}
	}
	return nil
}

func inspect(name string) (*record.Info, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return record.Inspect(f)
}

// heldOut is the part of a recording, its last, on which what was learned from the rest is measured.
const heldOut = 0.2

// source is one recording and where its last part begins.
type source struct {
	name        string
	first, last tick.Tick
	measured    tick.Tick
}

// runTrain learns from the first part of each recording, says what that gains on the last, then learns from all.
func runTrain(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("train", flag.ContinueOnError)
	flags.SetOutput(progress)
	to := flags.String("o", "", "the `file` to write the tables to")
	err := usage.Parse(flags, args, usage.Takes{"o": "a file to write", "": "recordings"})
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return wrongUsage{err}
	}
	if *to == "" || flags.NArg() == 0 {
		return wrongUsage{fmt.Errorf("train wants -o and recordings\n%s", commands)}
	}
	var sources []source
	for _, name := range flags.Args() {
		info, err := inspect(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if info.Ticks < 10 {
			return fmt.Errorf("%s: %d ticks are too few to learn from", name, info.Ticks)
		}
		last := info.Last - info.First
		sources = append(sources, source{name, info.First, info.Last, info.Last - tick.Tick(float64(last)*heldOut)})
	}
	part := wire.NewTrainer()
	counting := wire.NewCounting(part, false)
	for _, s := range sources {
		if err := s.learn(counting, s.measured, progress); err != nil {
			return err
		}
	}
	if err := gain(sources, part, out, progress); err != nil {
		return err
	}
	for _, s := range sources {
		if err := s.learnRest(counting, progress); err != nil {
			return err
		}
	}
	tables, err := part.BuildKnown(record.LeastCounted)
	if err != nil {
		return err
	}
	text := tables.AppendText(nil)
	fmt.Fprintf(out, "%s: %d tables, %d bytes, sum %016x\n", *to, len(tables.All()), len(text), tables.Hash())
	return os.WriteFile(*to, text, 0o644)
}

// gain says what rows of the parts that were held out take, with the tables that ship and with what was learned.
func gain(sources []source, part *wire.Trainer, out, progress io.Writer) error {
	learned, err := part.BuildKnown(record.LeastCounted)
	if err != nil {
		return err
	}
	var before, after record.Cost
	for _, s := range sources {
		for _, m := range []struct {
			tables wire.TableSource
			sum    *record.Cost
			what   string
		}{{wire.Shipped(), &before, "shipped"}, {learned.Over(wire.Shipped()), &after, "trained"}} {
			cost, err := s.measure(m.tables, m.what, progress)
			if err != nil {
				return err
			}
			m.sum.Bits += cost.Bits
			m.sum.Rows += cost.Rows
		}
	}
	if before.Rows == 0 {
		fmt.Fprintln(out, "nothing moved in the parts held out: no gain can be told")
		return nil
	}
	fmt.Fprintf(out, "held out: %d rows, %.2f bits each with the tables that ship, %.2f with these, %.1f %% fewer\n",
		before.Rows, before.PerRow(), after.PerRow(), 100*(1-after.Bits/before.Bits))
	return nil
}

// open opens the recording and reports progress as it is read.
func (s source) open(what string, progress io.Writer) (*os.File, func(tick.Tick), error) {
	f, err := os.Open(s.name)
	said := -1
	return f, func(now tick.Tick) {
		if percent := int(100 * (now - s.first) / max(s.last-s.first, 1)); percent/10 > said {
			said = percent / 10
			fmt.Fprintf(progress, "%s: %s, tick %d of %d to %d\n", s.name, what, now, s.first, s.last)
		}
	}, err
}

func (s source) learn(counting *wire.Counting, to tick.Tick, progress io.Writer) error {
	f, tell, err := s.open("learning", progress)
	if err != nil {
		return err
	}
	defer f.Close()
	return named(s.name, record.Learn(f, s.first, to, counting, tell))
}

func (s source) learnRest(counting *wire.Counting, progress io.Writer) error {
	f, tell, err := s.open("learning the rest", progress)
	if err != nil {
		return err
	}
	defer f.Close()
	return named(s.name, record.Learn(f, s.measured, s.last+1, counting, tell))
}

func (s source) measure(tables wire.TableSource, what string, progress io.Writer) (record.Cost, error) {
	f, tell, err := s.open("measuring with the tables that are "+what, progress)
	if err != nil {
		return record.Cost{}, err
	}
	defer f.Close()
	cost, err := record.Measure(f, s.measured, s.last+1, tables, tell)
	return cost, named(s.name, err)
}

func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

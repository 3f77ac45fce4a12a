// Command netcode trains tables of prefix codes on recordings of a game, inspects recordings, plays, cuts and compares them, makes keys for
// transport/secure, compares lock files of protocols, lets bots play, and runs a fleet of servers.
//
//	netcode train -o game.tables recording...
//	netcode info recording...
//	netcode play game.recording
//	netcode cut -o part.recording -from 300 -to 900 game.recording
//	netcode diff one.recording other.recording
//	netcode tap session.pcap
//	netcode key server.key
//	netcode schema check old.lock new.lock
//	netcode schema js game.lock -o game.js
//	netcode schema plain game.lock -o game.plain
//	netcode discover 127.0.0.1:9000 -o game.lock
//	netcode bots -addr 127.0.0.1:9000
//	netcode fleet -servers 4 -- ./game
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

const commands = `usage:
  netcode train -o game.tables recording...   learn from recordings that record.Start wrote; give the file to UseTables
      -measure FILE                           say what the tables gain on this recording, of which nothing is learned
  netcode info recording...                   what is in them
  netcode play [-game PACKAGE] FILE           serve a recording to clients: go run PACKAGE play FILE; netcode play -help lists the flags
  netcode verify [-game PACKAGE] FILE         replay a recording from its inputs and name the first difference: go run PACKAGE verify FILE;
                                              the game is ./examples/shooter unless given
  netcode cut -o FILE -from T -to T recording copy the seconds that have ticks from one to another
  netcode diff A B                            the first tick, entity, component and field in which two recordings differ
  netcode tap [-game PACKAGE] FILE            write the datagrams of a pcap file as text: go run PACKAGE tap FILE
      -keylog FILE                            with the keys that secure.Config.KeyLog wrote, of encrypted sessions
      -client N, -entity N, -component NAME   of this client, entity or component alone, if the game gives Tap an inspect.Filter
  netcode key FILE                            make a secret key for transport/secure, and print its public key; of a FILE that is there, print it
  netcode schema check OLD NEW                say whether builds with these lock files of package schema play together, and which change breaks
                                              whom; - is the standard input. The status is 1 if a change breaks somebody
  netcode schema js LOCK -o FILE.js           write the protocol of a lock file as a module for the JavaScript client, and FILE.d.ts with its types
  netcode schema plain LOCK -o FILE           write the protocol of a lock file as lines of words, for thin clients
  netcode discover ADDRESS [-o FILE.lock]     print the protocol of a server as a lock file, from its refusals
  netcode bots [-game PACKAGE] -addr ADDRESS  let a game's bots play, and report: runs PACKAGE bots -addr ADDRESS; the game is
                                              ./examples/crowd unless given; netcode bots -help lists the flags
  netcode fleet [-servers N] -- ./game ARGS   run servers of a game, restart and replace them, and allocate matches: POST /match;
                                              the game calls fleet.Attach; netcode fleet -help lists the flags
`

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "netcode:", err)
		os.Exit(status)
	}
}

// run is main with its environment as arguments.
func run(args []string, out, progress io.Writer) error {
	if len(args) == 0 {
		return usage.Errorf("no command: train, info, play, verify, cut, diff, tap, key, schema, discover, bots or fleet; netcode help says what they do")
	}
	ofGame := slices.Contains([]string{"bots", "play", "verify", "tap"}, args[0])
	if isHelp(args[0]) || asksHelp(args) && !ofGame && args[0] != "train" && args[0] != "cut" && args[0] != "fleet" {
		_, err := io.WriteString(out, commands)
		return err
	}
	if ofGame && asksHelp(args) {
		if !hasGame(args) { // then there are no flags of a game
			_, err := io.WriteString(out, helpOf(args[0]))
			return err
		}
		_, _ = io.WriteString(progress, helpOf(args[0])) // the game's own help follows
	}
	switch args[0] {
	case "train":
		return runTrain(args[1:], out, progress)
	case "info":
		return runInfo(args[1:], out)
	case "cut":
		return runCut(args[1:], out, progress)
	case "diff":
		return runDiff(args[1:], out)
	case "key":
		return runKey(args[1:], out)
	case "schema":
		return runSchema(args[1:], os.Stdin, out)
	case "discover":
		return runDiscover(args[1:], out, progress)
	case "fleet":
		ctx, stop := systems.Interrupt(context.Background())
		defer stop()
		return runFleet(ctx, args[1:], out, progress)
	case "bots", "play", "verify", "tap": // commands of the game's own program
		ctx, stop := systems.Interrupt(context.Background())
		defer stop()
		return runGame(ctx, args[0], args[1:], out, progress)
	}
	return usage.Errorf("no command %q: there are train, info, play, verify, cut, diff, tap, key, schema, discover, bots and fleet; netcode help says what they do", args[0])
}

// asksHelp reports whether the arguments of a command ask for help.
func asksHelp(args []string) bool {
	return len(args) > 1 && (isHelp(args[1]) || slices.ContainsFunc(args[1:], func(arg string) bool { return isHelp(arg) && arg != "help" }))
}

// helpOf returns the lines of commands about one of them.
func helpOf(command string) (text string) {
	within := false
	for _, line := range strings.SplitAfter(commands, "\n") {
		if strings.HasPrefix(line, "  netcode ") {
			within = strings.HasPrefix(line, "  netcode "+command+" ")
		}
		if within {
			text += line
		}
	}
	return text
}

// hasGame reports whether a game's program can be asked for its flags: it is named, or the default one is in this folder.
func hasGame(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "game") && arg[0] == '-' }) || isFolder(defaultGame)
}

// isHelp reports whether an argument asks for help.
func isHelp(arg string) bool {
	return arg == "help" || arg == "-h" || arg == "-help" || arg == "--help"
}

// runInfo prints a summary of recordings. A damaged recording is an error, after all of them were inspected.
func runInfo(args []string, out io.Writer) error {
	if len(args) == 0 {
		return usage.Errorf("info wants recordings, as in netcode info FILE...")
	}
	var wrong []error
	for _, name := range args {
		info, err := inspect(name)
		if err != nil {
			wrong = append(wrong, named(name, err))
			continue
		}
		fmt.Fprintf(out, "%s: %d ticks at %d Hz, %d to %d, in %d chunks; %d bytes, %d unpacked\n", name, info.Ticks, info.Header.TickRate,
			info.First, info.Last, info.Chunks, info.Stored, info.Raw)
		if info.Cut {
			fmt.Fprintln(out, "  it was cut off within the last chunk")
		}
		for _, damage := range info.Damage {
			wrong = append(wrong, named(name, damage))
		}
		for _, e := range info.Header.Entries {
			fmt.Fprintf(out, "  %s\n", e)
		}
	}
	return errors.Join(wrong...)
}

func inspect(name string) (*record.Info, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return record.Inspect(f)
}

// heldOut is the fraction of a recording, at its end, that is used to measure tables trained on the rest.
const heldOut = 0.2

// source is a recording and the tick at which its held-out part starts.
type source struct {
	name        string
	first, last tick.Tick
	measured    tick.Tick
	ticks       int // number of ticks by its heads
	learned     int // number of ticks trained on
	damaged     bool
	components  []string
}

// sourceOf inspects a recording. It warns if the recording is damaged; the undamaged parts are used.
func sourceOf(name string, progress io.Writer) (source, error) {
	info, err := inspect(name)
	if err != nil {
		return source{}, named(name, err)
	}
	for _, damage := range info.Damage {
		fmt.Fprintf(progress, "%s: passed over: %v\n", name, damage)
	}
	if info.Ticks < 10 {
		return source{}, fmt.Errorf("%s: %d ticks are too few to learn from", name, info.Ticks)
	}
	s := source{name: name, first: info.First, last: info.Last, ticks: info.Ticks, damaged: len(info.Damage) > 0}
	s.measured = s.last - tick.Tick(float64(s.last-s.first)*heldOut)
	plans, err := info.Header.Plans()
	if err != nil {
		return s, named(name, err)
	}
	for _, p := range plans {
		s.components = append(s.components, string(p.Describe(nil)))
	}
	return s, nil
}

// without describes the parts that were not trained on.
func (s *source) without() string {
	switch {
	case s.learned < s.ticks: // valid checksums: no recorder wrote these ticks
		return fmt.Sprintf(", without %d that make no sense and what is damaged", s.ticks-s.learned)
	case s.damaged:
		return ", without what is damaged"
	}
	return ""
}

// alike returns an error for recordings of different protocols: tables are named after components, and those of two
// games would be mixed. It compares components only, since nothing else is trained.
func alike(a, b *source) error {
	for i := range max(len(a.components), len(b.components)) {
		of := func(s *source) string {
			if i < len(s.components) {
				return s.components[i]
			}
			return "no more components"
		}
		if of(a) != of(b) {
			return fmt.Errorf("%s and %s are recordings of two protocols: %s in the one, %s in the other", a.name, b.name, of(a), of(b))
		}
	}
	return nil
}

// parseTrain parses the command line of train. Flags may be anywhere among the recordings.
func parseTrain(args []string, progress io.Writer) (to, measured string, names []string, err error) {
	flags := flag.NewFlagSet("train", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&to, "o", "", "the `file` to write the tables to")
	flags.StringVar(&measured, "measure", "", "a `recording` to measure the gain on, of which nothing is learned; without one it is the last fifth of each, before that is learned too")
	var plain []string
	if at := slices.Index(args, "--"); at >= 0 {
		args, plain = args[:at], args[at+1:]
	}
	for more := true; more; more = len(args) > 0 {
		if err = usage.Parse(flags, args, usage.Takes{"o": "a file to write", "measure": "a recording", "": "recordings"}); err != nil {
			return "", "", nil, err
		}
		if args = flags.Args(); len(args) > 0 {
			names, args = append(names, args[0]), args[1:]
		}
	}
	names = append(names, plain...)
	switch {
	case to == "" && len(names) == 0:
		err = usage.Errorf("train wants -o FILE and recordings, as in netcode train -o game.tables FILE...")
	case to == "":
		err = usage.Errorf("train wants -o FILE, the file to write the tables to")
	case len(names) == 0:
		err = usage.Errorf("train wants recordings, beside -o")
	default:
		return to, measured, names, nil
	}
	return "", "", nil, err
}

// sourcesOf inspects the recordings, and the one to measure if there is one.
func sourcesOf(to, measured string, names []string, progress io.Writer) (sources, other []source, err error) {
	all := names
	if measured != "" {
		all = append(slices.Clone(names), measured)
		if there, err := os.Stat(measured); err == nil {
			for _, name := range names {
				if in, err := os.Stat(name); err == nil && os.SameFile(there, in) {
					return nil, nil, usage.Errorf("-measure %s: it must be a recording of which nothing is learned", measured)
				}
			}
		}
	}
	if err := mayWrite(to, all...); err != nil {
		return nil, nil, err
	}
	for _, name := range all {
		s, err := sourceOf(name, progress)
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, s)
		if err := alike(&sources[0], &s); err != nil {
			return nil, nil, err
		}
	}
	if measured != "" {
		other = sources[len(names):]
		other[0].measured = other[0].first
	}
	return sources[:len(names)], other, nil
}

// runTrain trains on the first part of each recording, prints the gain on the last part, then trains on all. With
// another recording to measure, it trains on all and prints the gain there.
func runTrain(args []string, out, progress io.Writer) error {
	to, measured, names, err := parseTrain(args, progress)
	if err != nil {
		return err
	}
	sources, other, err := sourcesOf(to, measured, names, progress)
	if err != nil {
		return err
	}
	part := delta.NewTrainer()
	counting := delta.NewCounting(part, false)
	for i := range sources {
		if err := sources[i].learn(counting, progress); err != nil {
			return err
		}
	}
	if other == nil {
		if err := gain("held out", sources, part, out, progress); err != nil {
			return err
		}
	}
	for i := range sources {
		s := &sources[i]
		if err := s.learnRest(counting, progress); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: learned from %d ticks, %d to %d%s\n", s.name, s.learned, s.first, s.last, s.without())
	}
	if other != nil {
		if err := gain(measured, other, part, out, progress); err != nil {
			return err
		}
	}
	tables, err := part.BuildKnown(record.LeastCounted)
	if err != nil {
		return err
	}
	tellLeftOut(part.LeftOut(record.LeastCounted), progress)
	text := tables.AppendText(nil)
	fmt.Fprintf(out, "%s: %d tables, %d bytes, sum %016x\n", to, len(tables.All()), len(text), tables.Hash())
	return replace(to, text)
}

// tellLeftOut prints the first of the tables that did not fit.
func tellLeftOut(names []string, progress io.Writer) {
	const shown = 5
	if len(names) == 0 {
		return
	}
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
	}
	fmt.Fprintf(progress, "%d tables were left out, as a set holds no more; the tables that ship take their place: %s%s\n", len(names),
		strings.Join(names[:min(len(names), shown)], ", "), more)
}

// gain prints the size of rows in the measured parts, with the shipped tables and with the trained ones.
func gain(where string, sources []source, part *delta.Trainer, out, progress io.Writer) error {
	learned, err := part.BuildKnown(record.LeastCounted)
	if err != nil {
		return err
	}
	var before, after record.Cost
	for i := range sources {
		for _, m := range []struct {
			tables delta.TableSource
			sum    *record.Cost
			what   string
		}{{delta.Shipped(), &before, "shipped"}, {learned.Over(delta.Shipped()), &after, "trained"}} {
			cost, err := sources[i].measure(m.tables, m.what, progress)
			if err != nil {
				return err
			}
			m.sum.Bits += cost.Bits
			m.sum.Rows += cost.Rows
		}
	}
	if before.Rows == 0 {
		fmt.Fprintf(out, "%s: nothing moved: no gain can be told\n", where)
		return nil
	}
	fmt.Fprintf(out, "%s: %d rows, %.2f bits each with the tables that ship, %.2f with these, %.1f %% fewer\n",
		where, before.Rows, before.PerRow(), after.PerRow(), 100*(1-after.Bits/before.Bits))
	return nil
}

// open opens the recording and reports the progress of reading.
func (s *source) open(what string, progress io.Writer) (*os.File, func(tick.Tick), error) {
	f, err := os.Open(s.name)
	said := -1
	return f, func(now tick.Tick) {
		if percent := int(100 * (now - s.first) / max(s.last-s.first, 1)); percent/10 > said {
			said = percent / 10
			fmt.Fprintf(progress, "%s: %s, tick %d of %d to %d\n", s.name, what, now, s.first, s.last)
		}
	}, err
}

// learn trains on all but the held-out part.
func (s *source) learn(counting *delta.Counting, progress io.Writer) error {
	return s.learnFrom("learning", s.first, s.measured, counting, progress)
}

func (s *source) learnRest(counting *delta.Counting, progress io.Writer) error {
	return s.learnFrom("learning the rest", s.measured, s.last+1, counting, progress)
}

func (s *source) learnFrom(what string, from, to tick.Tick, counting *delta.Counting, progress io.Writer) error {
	f, tell, err := s.open(what, progress)
	if err != nil {
		return err
	}
	defer f.Close()
	ticks, err := record.Learn(f, from, to, counting, tell)
	s.learned += ticks
	return named(s.name, err)
}

func (s *source) measure(tables delta.TableSource, what string, progress io.Writer) (record.Cost, error) {
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

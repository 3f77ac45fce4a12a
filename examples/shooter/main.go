// Command shooter shows prediction, a host and lag compensation at work, without a window. Bots walk, jump and shoot by the inputs
// that they send. The rules are systems of package predict, the same on the server, the host and the clients: a bot's own body
// moves, and its gun flashes, in the tick of the press, whatever the round trip. The server alone judges hits. It rewinds the
// targets to what the shooter saw; the muzzle is where the shooter's body is, which its client predicts.
//
// One of the players is the host, in the server's own process and world. Each of the others has a link of its own, with every
// round trip and every loss of the flags, on a virtual clock: a minute of play takes about a second.
//
// Afterwards a table has a row for each link. It compares what a player saw of itself with the server's truth of the same
// time, its flashes with the server's shots, and whom each shot hit on its screen with whom it hit at the server: as the
// server judges, with the muzzle rewound, too, and with nothing rewound. At the end all stand still, and every client's world
// must come to equal the server's.
//
//	go run ./examples/shooter                          all links, one bot behind each, and a host
//	go run ./examples/shooter -rtt 200ms -loss 10 -json   one link, for programs
//	go run ./examples/shooter -record FILE                record the match
//	go run ./examples/shooter verify FILE                 play it once more from its inputs, and name the first difference
//	go run ./examples/shooter -rtt 100ms -loss 5 -provoke the server breaks the rules now and then: each misprediction is explained
//	go run ./examples/shooter -inspect 127.0.0.1:6060     play in real time, and show the server in a browser
//
// The exit status is 0 if every world converged, every input was seen in its tick, nothing was mispredicted, no flash was
// doubled or lost, and the server agrees with at least 90 % of the hits. Else it is 1, and each reason is printed. With -inspect
// the worlds alone count: a machine that is slow delays inputs in real time.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/transport"
)

// Exit statuses.
const (
	statusFine  = 0
	statusWrong = 1
	statusUsage = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are those of the command line.
type options struct {
	bots    int
	seconds int
	seed    uint64
	trips   []time.Duration
	losses  []float64
	jitter  time.Duration
	json    bool
	provoke bool
	inspect string
	client  string    // Address of the page of the first bot's client.
	record  string    // The file of the recording; empty for none.
	file    io.Writer // It, open.
}

// mostPlayers bounds the bots of all links.
const mostPlayers = 60

// links returns every combination of a round trip and a loss.
func (o *options) links() (all []transport.Link) {
	for _, trip := range o.trips {
		for _, loss := range o.losses {
			all = append(all, transport.Link{Delay: trip / 2, Jitter: min(o.jitter, trip/4), Loss: loss})
		}
	}
	return all
}

const help = `Usage of shooter:
  shooter [flags]
  shooter verify FILE  plays a recording once more from its inputs, and names the first difference

The exit status is 0 if every world converged, every input was seen in its tick, nothing was mispredicted, no flash was doubled
or lost, and the server agrees with at least 90 % of the hits; else 1, and each reason is printed. With -provoke the worlds and the
explanations count instead. With -inspect or -inspect-client, in real time, the worlds alone do.

`

func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("shooter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.bots, "bots", 1, "bots behind each link; the host comes on top")
	flags.IntVar(&o.seconds, "seconds", 60, "seconds of play, of virtual time")
	flags.Uint64Var(&o.seed, "seed", 1, "of the bots' wits and of the network's moods")
	o.trips = []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond}
	flags.Func("rtt", "`round trips` of the links (default 0ms,50ms,150ms,300ms)", usage.List(&o.trips, usage.RoundTrip))
	flags.DurationVar(&o.jitter, "jitter", 10*time.Millisecond, "spread of the delay, at most a quarter of the round trip")
	o.losses = []float64{0, .05, .2}
	flags.Func("loss", "`percent` of the packets lost, each way; 10, 10% and 0.10 are the same (default 0,5,20)", usage.List(&o.losses, usage.Percent))
	flags.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	flags.StringVar(&o.record, "record", "", "write a recording of the server to this `file`")
	flags.BoolVar(&o.provoke, "provoke", false, "provoke mispredictions by a system that blows on the server alone, and explain them")
	flags.StringVar(&o.inspect, "inspect", "", "show the server in a browser, at this `address` of this machine, as 127.0.0.1:6060, and play in real time")
	flags.StringVar(&o.client, "inspect-client", "", "show the client of the first bot in a browser, at this `address` of this machine, as 127.0.0.1:6061, and play in real time")
	flags.Usage = func() {
		fmt.Fprint(stderr, help)
		flags.PrintDefaults()
	}
	takes := usage.Takes{
		"inspect": "an address, as 127.0.0.1:6060", "inspect-client": "an address, as 127.0.0.1:6061", "record": "a file to write",
		"bots": "a whole number from 1 to 60, with at most 60 bots in all", "seconds": "a whole number from 1 to 3600", "seed": "a whole number from 0 to 18446744073709551615",
		"rtt": "times from 0ms to 1s, as 50ms,150ms", "jitter": "a time from 0s to 1s, as 15ms", "loss": "in percent, from 0 to 100: 10, 10% or 0.10, or several, as 0,10",
	}
	if err = usage.Parse(flags, args, takes); err == nil {
		err = o.check(takes)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "shooter:", err)
	}
	return o, err
}

func (o *options) check(takes usage.Takes) error {
	switch {
	case o.bots < 1 || o.bots*len(o.trips)*len(o.losses) > mostPlayers:
		return takes.Wrong("bots", o.bots)
	case o.seconds < 1 || o.seconds > 3600:
		return takes.Wrong("seconds", o.seconds)
	case o.jitter < 0 || o.jitter > time.Second:
		return takes.Wrong("jitter", o.jitter)
	}
	return nil
}

// run is the whole command.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "verify" {
		return runVerify(args[1:], stdout, stderr)
	}
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusFine
	case err != nil:
		return statusUsage
	}
	if o.record != "" {
		file, err := os.Create(o.record)
		if err != nil {
			fmt.Fprintln(stderr, "shooter:", err)
			return statusWrong
		}
		defer file.Close()
		o.file = file
	}
	m, err := newMatch(o)
	if err == nil {
		err = m.show(stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "shooter:", err)
		return statusWrong
	}
	result := m.play()
	if m.stopRecording != nil {
		if err := m.stopRecording(); err != nil {
			fmt.Fprintln(stderr, "shooter:", err)
			return statusWrong
		}
	}
	if o.json {
		err = json.NewEncoder(stdout).Encode(result)
	} else {
		err = result.print(stdout)
	}
	failures := result.failures()
	for _, f := range failures {
		fmt.Fprintln(stderr, "shooter:", f)
	}
	if err != nil || len(failures) > 0 {
		return statusWrong
	}
	return statusFine
}

// runVerify is the command verify. Its status is 0 if the recording and the replay are equal.
func runVerify(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "shooter: verify wants a recording, as in verify match.recording; -record writes one")
		return statusUsage
	}
	file, err := os.Open(args[0])
	if err != nil {
		fmt.Fprintln(stderr, "shooter:", err)
		return statusWrong
	}
	defer file.Close()
	switch difference, err := verify(options{seed: 1}, file); {
	case err != nil:
		fmt.Fprintln(stderr, "shooter:", err)
		return statusWrong
	case difference != nil:
		fmt.Fprintln(stdout, difference)
		return statusWrong
	}
	fmt.Fprintln(stdout, "no difference")
	return statusFine
}

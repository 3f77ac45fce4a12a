// Command shooter shows inputs, a host and lag compensation at work, without a window: bots run about in a server's world
// by the inputs that they send, and shoot at what they see, which is a little past. The server rewinds the world to
// what the shooter saw, the shooter's own body too, and finds what was hit there. One of the players is the host, in the
// server's own process and world; the others connect over a bad network, on a virtual clock, so a minute of play takes a
// second.
//
// Afterwards each shot is compared: whom it hit on its bot's screen, and whom it hit at the server; whom it would have hit
// there had the muzzle not been rewound, or nothing. At the end all stand still, and every client's world must come to
// equal the server's.
//
//	go run ./examples/shooter                    four bots and a host
//	go run ./examples/shooter -loss 10 -json     worse, for programs
//
// The exit status is 0 if every world converged, every shot arrived once, and at least 90 % of the hits were confirmed.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
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
	link    transport.Link
	json    bool
}

func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("shooter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.bots, "bots", 4, "bots that connect, 1 to 60; the host comes on top")
	flags.IntVar(&o.seconds, "seconds", 30, "seconds of play, of virtual time")
	flags.Uint64Var(&o.seed, "seed", 1, "of the bots' wits and of the network's moods")
	flags.DurationVar(&o.link.Delay, "delay", 50*time.Millisecond, "one way")
	flags.DurationVar(&o.link.Jitter, "jitter", 15*time.Millisecond, "spread of the delay")
	o.link.Loss = .02
	flags.Func("loss", "`percent` of the packets lost, each way; 10, 10% and 0.10 are the same (default 2)", percent(&o.link.Loss))
	flags.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	takes := usage.Takes{
		"bots": "a whole number from 1 to 60", "seconds": "a whole number from 1 to 86400", "seed": "a whole number from 0 to 18446744073709551615",
		"delay": "a time from 0s to 10s, as 50ms", "jitter": "a time from 0s to 10s, as 15ms", "loss": "in percent, from 0 to 100: 10, 10% or 0.10",
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
	case o.bots < 1 || o.bots > 60:
		return takes.Wrong("bots", o.bots)
	case o.seconds < 1 || o.seconds > 86400:
		return takes.Wrong("seconds", o.seconds)
	case o.link.Delay < 0 || o.link.Delay > 10*time.Second:
		return takes.Wrong("delay", o.link.Delay)
	case o.link.Jitter < 0 || o.link.Jitter > 10*time.Second:
		return takes.Wrong("jitter", o.link.Jitter)
	}
	return nil
}

// percent reads what a link loses, 0 to 100, as a share. Numbers below 1 without a sign are shares, as in examples/arena.
func percent(to *float64) func(string) error {
	return func(s string) error {
		number, isPercent := strings.CutSuffix(s, "%")
		loss, err := strconv.ParseFloat(number, 64)
		if isPercent || loss >= 1 {
			loss /= 100
		}
		if err == nil && !(loss >= 0 && loss <= 1) {
			err = errors.New("it is in percent: from 0 to 100")
		}
		*to = loss
		return err
	}
}

// run is the whole command.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusFine
	case err != nil:
		return statusUsage
	}
	m, err := newMatch(o)
	if err != nil {
		fmt.Fprintln(stderr, "shooter:", err)
		return statusWrong
	}
	result := m.play()
	if o.json {
		err = json.NewEncoder(stdout).Encode(result)
	} else {
		err = result.print(stdout)
	}
	if err != nil || !result.fine() {
		return statusWrong
	}
	return statusFine
}

// Command carball shows prediction of a world that several players push, without a window: cars and a ball, by the physics of
// github.com/jakecoffman/cp. Every client predicts all of it. The inputs of others are relayed, or unknown: the table has a row for each,
// with the same links and the same bots, on a virtual clock.
//
// A row tells the ticks from an input to its effect on the screen, how often the server's state was not the predicted one, how often an
// input of another player was not as it was guessed, how many ticks were replayed, how far what was shown was from the server's truth of
// the same tick, and how many boosts players heard that the server did not make, or did not hear. At the end all stand still, and every
// client's world must come to equal the server's.
//
//	go run .                                  all links, with and without relayed inputs: 24 rows in some seconds
//	go run . -rtt 150ms -loss 5 -delay 0,2,4,8   input delays on one link
//	go run . -rtt 150ms -loss 5 -inspect 127.0.0.1:6060   in real time, with the server of each row in a browser
//
// The exit status is 0 if every world converged, every input had its effect in its tick, InputDelay later, and each boost was heard once.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
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

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are those of the command line.
type options struct {
	players int
	seconds int
	seed    uint64
	trips   []time.Duration
	losses  []float64
	delays  []int
	jitter  time.Duration
	json    bool
	inspect string
}

// settings returns the rows of the table.
func (o *options) settings() (all []setting) {
	for _, trip := range o.trips {
		for _, loss := range o.losses {
			for _, delay := range o.delays {
				link := transport.Link{Delay: trip / 2, Jitter: min(o.jitter, trip/4), Loss: loss}
				all = append(all, setting{link, delay, true}, setting{link, delay, false})
			}
		}
	}
	return all
}

func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("carball", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.players, "players", 3, "cars")
	flags.IntVar(&o.seconds, "seconds", 20, "seconds of play in each row, of virtual time")
	flags.Uint64Var(&o.seed, "seed", 1, "of the bots' wits and of the network's moods")
	o.trips = []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond}
	flags.Func("rtt", "`round trips` (default 0ms,50ms,150ms,300ms)", usage.List(&o.trips, usage.RoundTrip))
	flags.DurationVar(&o.jitter, "jitter", 10*time.Millisecond, "spread of the delay, at most a quarter of the round trip")
	o.losses = []float64{0, .05, .2}
	flags.Func("loss", "`percent` of the packets lost, each way (default 0,5,20)", usage.List(&o.losses, usage.Percent))
	o.delays = []int{0}
	flags.Func("delay", "`ticks` of input delay (default 0)", usage.List(&o.delays, delay))
	flags.BoolVar(&o.json, "json", false, "print the result as one JSON array")
	flags.StringVar(&o.inspect, "inspect", "", "show the server in a browser, at this `address` of this machine, as 127.0.0.1:6060, and play in real time")
	takes := usage.Takes{
		"inspect": "an address, as 127.0.0.1:6060", "players": "a whole number from 1 to 16", "seconds": "a whole number from 1 to 3600", "seed": "a whole number from 0 to 18446744073709551615",
		"rtt": "times from 0ms to 1s, as 50ms,150ms", "jitter": "a time from 0s to 1s, as 15ms", "loss": "in percent, from 0 to 100: 10, 10% or 0.10, or several, as 0,5", "delay": "ticks from 0 to 8, as 0,2",
	}
	if err = usage.Parse(flags, args, takes); err == nil {
		switch {
		case o.players < 1 || o.players > 16:
			err = takes.Wrong("players", o.players)
		case o.seconds < 1 || o.seconds > 3600:
			err = takes.Wrong("seconds", o.seconds)
		case o.jitter < 0 || o.jitter > time.Second:
			err = takes.Wrong("jitter", o.jitter)
		}
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "carball:", err)
	}
	return o, err
}

// delay reads an input delay.
func delay(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 0 || n > 8) {
		err = errors.New("it is from 0 to 8")
	}
	return n, err
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
	var rows []row
	for _, s := range o.settings() {
		m, err := newMatch(s, o.players, o.seed)
		if err != nil {
			fmt.Fprintln(stderr, "carball:", err)
			return statusWrong
		}
		stop, err := m.show(o.inspect, stderr)
		if err != nil {
			fmt.Fprintln(stderr, "carball:", err)
			return statusWrong
		}
		rows = append(rows, m.play(o.seconds))
		_ = stop() // The next row has the address.
	}
	if o.json {
		err = json.NewEncoder(stdout).Encode(rows)
	} else {
		err = table(stdout, rows)
	}
	if err != nil || !fine(rows) {
		return statusWrong
	}
	return statusFine
}

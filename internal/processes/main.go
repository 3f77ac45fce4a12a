// Command processes injects faults into real processes with real sockets. It kills clients in every phase, restarts the server
// and suspends both. It floods the server with handshakes from many loopback addresses. It sends datagrams through a relay that
// damages, repeats, reorders, drops and rebinds. It takes processors away and provokes socket errors. It prints a table with one
// line for each case.
//
//	go run ./internal/processes                         # everything: some ten minutes
//	go run ./internal/processes -kills 20 -floods 1000 -stops 2s -only kill,stop
//
// It exits with 1 if a case fails. It needs Unix. Its files: main.go (flags, the table), cases.go (the cases), process.go (child
// processes), roles.go (server and client processes), relay.go (the relay), signals_unix.go and signals_other.go.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
)

// options is the flags.
type options struct {
	Kills  int             // number of clients to kill
	Floods int             // number of datagrams of each kind
	Stops  []time.Duration // durations for which a process is suspended
	Relay  time.Duration   // duration of the relay and of busy processors
	Only   []string        // names of cases to run; none: all
}

func defaults() options {
	return options{Kills: 1000, Floods: 200_000, Stops: []time.Duration{10 * time.Second, 20 * time.Second}, Relay: 20 * time.Second}
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		play(role)
		return
	}
	err := command(os.Args[1:], os.Stdout)
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "processes:", err)
		os.Exit(status)
	}
}

// command is main with its environment as arguments.
func command(args []string, out io.Writer) error {
	o := defaults()
	stops, only := "10s,20s", ""
	flags := flag.NewFlagSet("processes", flag.ContinueOnError)
	flags.IntVar(&o.Kills, "kills", o.Kills, "clients that are killed")
	flags.IntVar(&o.Floods, "floods", o.Floods, "datagrams of each of five kinds")
	flags.DurationVar(&o.Relay, "relay", o.Relay, "how long datagrams pass the relay, and processors are busy")
	flags.StringVar(&stops, "stops", stops, "how long a process is stopped, each by itself")
	flags.StringVar(&only, "only", only, "names of cases, with commas; none: all")
	if err := usage.Parse(flags, args, usage.Takes{}); err != nil {
		return err
	}
	o.Stops = nil
	for _, text := range strings.Split(stops, ",") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("-stops %s: %w", stops, err)
		}
		o.Stops = append(o.Stops, d)
	}
	if only != "" {
		o.Only = strings.Split(only, ",")
	}
	failed := 0
	fmt.Fprintf(out, "| %-9s | %-62s | %-6s | %5s | %s |\n|---|---|---|---|---|\n", "case", "injected", "result", "s", "measured")
	for _, r := range run(o) {
		fmt.Fprintln(out, r)
		if r.err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}

// row is a line of the table.
type row struct {
	name, injected, measured string
	count                    int // number of injected faults
	took                     time.Duration
	err                      error
}

// String formats the row as a line.
func (r row) String() string {
	result, measured := "pass", r.measured
	if r.err != nil {
		result, measured = "FAIL", strings.ReplaceAll(r.err.Error(), "\n", " ")
	}
	return fmt.Sprintf("| %-9s | %-62s | %-6s | %5.0f | %s |", r.name, fmt.Sprintf("%d %s", r.count, r.injected), result, r.took.Seconds(), measured)
}

// run runs the cases one after the other.
func run(o options) (rows []row) {
	for _, c := range cases() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, c.name) {
			continue
		}
		r := row{name: c.name}
		began := time.Now()
		r.err = c.play(o, &r)
		if r.err == nil && r.count == 0 {
			r.err = fmt.Errorf("nothing was injected")
		}
		r.took = time.Since(began)
		rows = append(rows, r)
	}
	return rows
}

// Command soak runs a server, clients and malicious clients on a virtual clock. It injects faults into the network and the
// clients, and checks the invariants in each tick.
//
//	go run ./internal/soak -seed 1 -ticks 20000 -clients 8 -entities 60
//	go run ./internal/soak -seed 7 -seeds 20 -ticks 100000 -json
//
// Equal flags produce equal hashes. On failure it prints the seed, the tick, the violated invariant, and the shortest failing
// list of fault events that it found, and exits with 1.
//
// A run consists of phases of two thousand ticks. At the end of each the network is repaired and the world stops changing. Then
// each client's world must equal the server's, bit for bit.
//
// # Files
//
//   - main.go: flags and results
//   - run.go: one run: server, clients, liars
//   - game.go, more.go: the game, files, the player at the server
//   - faults.go, inject.go: fault events; injecting them
//   - checks.go: the invariants
//   - broken.go: -break
//   - harness.go: testing.TB for nettest
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
)

// options is the flags.
type options struct {
	Seed        uint64
	Ticks       int // network ticks, 30 a second
	Clients     int // permanent clients; others join in addition
	Entities    int
	Loss        float64 // share of datagrams
	Burst       float64 // mean length of a burst of losses, which starts once in 200 datagrams; 0: none
	Reorder     float64
	Dup         float64
	Corrupt     float64
	Blackout    float64 // per minute, of one client each
	Churn       float64 // clients that join and leave, per second
	Adversaries int

	breaks   string    // invariant to violate, such as "I9"; see broken.go
	progress io.Writer // nil: none
	only     []event   // events to use instead of drawn ones
	all      bool      // draw the events; otherwise use only
	phase    phase     // course of a phase
	measures bool      // measure the heap at each tenth
}

func defaults() options {
	return options{
		Seed: 1, Ticks: 20000, Clients: 8, Entities: 60, Loss: .1, Burst: 4, Reorder: .1, Dup: .05, Corrupt: .01, Blackout: 4, Churn: .5, Adversaries: 2, all: true, phase: longPhase(), measures: true,
	}
}

func main() {
	err := command(os.Args[1:], os.Stdout)
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(status)
	}
}

// command is main with its environment as arguments.
func command(args []string, out io.Writer) error {
	o := defaults()
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the first run")
	seeds := flags.Int("seeds", 1, "number of runs, each with the next seed")
	flags.IntVar(&o.Ticks, "ticks", o.Ticks, "network ticks of a run, 30 a second of virtual time")
	flags.IntVar(&o.Clients, "clients", o.Clients, "clients that stay")
	flags.IntVar(&o.Entities, "entities", o.Entities, "entities of the world")
	flags.Float64Var(&o.Loss, "loss", o.Loss, "share of datagrams that are lost: 0.05 is 5 %")
	flags.Float64Var(&o.Burst, "burst", o.Burst, "mean length of bursts of losses, 0 for none")
	flags.Float64Var(&o.Reorder, "reorder", o.Reorder, "share of datagrams that are overtaken: 0.05 is 5 %")
	flags.Float64Var(&o.Dup, "dup", o.Dup, "share of datagrams that come twice: 0.05 is 5 %")
	flags.Float64Var(&o.Corrupt, "corrupt", o.Corrupt, "share of datagrams that are damaged: 0.05 is 5 %")
	flags.Float64Var(&o.Blackout, "blackout", o.Blackout, "blackouts of one client a minute")
	flags.Float64Var(&o.Churn, "churn", o.Churn, "clients that join and leave a second")
	flags.IntVar(&o.Adversaries, "adversaries", o.Adversaries, "clients that lie")
	flags.StringVar(&o.breaks, "break", "", "invariant that is to fail on purpose, I1 to I10: the run must notice")
	shrinks := flags.Bool("shrink", true, "look for the shortest list of events that fails, up to sixty runs")
	asJSON := flags.Bool("json", false, "print each result as JSON")
	if err := usage.Parse(flags, args, usage.Takes{}); err != nil {
		return err
	}
	if !*asJSON {
		o.progress = out
	}
	failed := 0
	for range *seeds {
		began := time.Now()
		r := run(o)
		r.Seconds = time.Since(began).Seconds()
		if r.Failure != "" {
			failed++
			if o.progress != nil {
				fmt.Fprintf(out, "seed %d: FAILED in tick %d: %s\n", o.Seed, r.Ticks, r.Failure) // before shrink, which takes minutes
			}
			if *shrinks {
				shrink(o, &r)
			}
		}
		if *asJSON {
			if err := json.NewEncoder(out).Encode(r); err != nil {
				return err
			}
		} else {
			fmt.Fprint(out, r.text())
		}
		o.Seed++
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs failed", failed, *seeds)
	}
	return nil
}

// result is the outcome of a run.
type result struct {
	Seed     uint64
	Ticks    int     // ticks run
	Hash     string  // of all datagrams: equal for equal flags
	Failure  string  `json:",omitempty"` // the violated invariant
	Events   []event `json:",omitempty"` // of a failure: events that reproduce it
	Shrunk   int     `json:",omitempty"` // number of events before shrink
	Injected map[string]int
	Checked  map[string]int // number of checks by invariant
	Sessions int            // sessions that ended
	Heap     []int          // bytes in use after each tenth
	Longest  float64        // longest frame of all ends together, in ms of real time
	Seconds  float64
}

func (r *result) text() string {
	s := fmt.Sprintf("seed %d: %d ticks, hash %s, %d sessions ended, %.1f MB of heap, longest frame %.1f ms, %.0f s\n",
		r.Seed, r.Ticks, r.Hash, r.Sessions, float64(r.Heap[len(r.Heap)-1])/1e6, r.Longest, r.Seconds)
	s += fmt.Sprintf("  injected: %v\n  checked: %v\n", r.Injected, r.Checked)
	if r.Failure != "" {
		s += fmt.Sprintf("  FAILED in tick %d: %s\n  %d of %d events still fail:\n", r.Ticks, r.Failure, len(r.Events), r.Shrunk)
		for _, e := range r.Events {
			s += "    " + e.String() + "\n"
		}
	}
	return s
}

// Command soak runs a server, clients and liars on a virtual clock for as long as it is told to, breaks the network and the clients, and
// checks the invariants in each tick.
//
//	go run ./nettest/soak -seed 1 -ticks 20000 -clients 8 -entities 60
//	go run ./nettest/soak -seed 7 -seeds 20 -ticks 100000 -json
//
// Equal flags give equal hashes. On failure it prints the seed, the tick, what does not hold, and the shortest list of fault events that it
// found to fail still, and exits with 1.
//
// Every two thousand ticks the network heals and the world comes to rest. Then each client's world must be the server's, bit for bit.
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

// options are the flags.
type options struct {
	Seed        uint64
	Ticks       int // network ticks, 30 a second
	Clients     int // that stay; joins come on top
	Entities    int
	Loss        float64 // share of datagrams
	Burst       float64 // mean length of a burst of losses, which happens once in 200 datagrams; 0: none
	Reorder     float64
	Dup         float64
	Corrupt     float64
	Blackout    float64 // blackouts of one client a minute
	Churn       float64 // clients that join and leave a second
	Adversaries int

	breaks   string    // the number of an invariant that is to fail, such as "I9"; see broken.go
	progress io.Writer // nil: none
	only     []event   // these events and no others
	all      bool      // draw the events; else only
	phase    phase     // of a run
	measures bool      // the heap, at each tenth
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

// command is main with its surroundings as arguments.
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
				fmt.Fprintf(out, "seed %d: FAILED in tick %d: %s\n", o.Seed, r.Ticks, r.Failure) // before the minutes that shrink takes
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

// result has the outcome of a run.
type result struct {
	Seed     uint64
	Ticks    int     // that were run
	Hash     string  // of all datagrams: equal flags, equal hashes
	Failure  string  `json:",omitempty"` // what does not hold
	Events   []event `json:",omitempty"` // of a failure: those that suffice
	Shrunk   int     `json:",omitempty"` // the number of events before they were shrunk
	Injected map[string]int
	Checked  map[string]int // by invariant
	Sessions int            // that ended
	Heap     []int          // bytes in use after each tenth
	Longest  float64        // frame of all ends together, in ms, by the clock of the machine
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

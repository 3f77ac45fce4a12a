// Command world runs one world through netcode and through necs, the ECS netcode for Go that is nearest to it, and tells how many
// times the time, the bytes and the allocations of a server tick necs takes.
//
//	cd bench/peers && go run ./world -json
//
// Both servers are in this process and tick by turns; the clients of both are in another. netcode's clients are real: they
// decode, apply and acknowledge over UDP on the loopback interface, and their worlds are compared with the server's. necs's clients read
// its websockets and count the bytes; what the first of them got last is decoded and compared too.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
)

// necsVersion is that of go.mod.
const necsVersion = "v0.0.4"

const (
	// target and targetFew are how many times faster than necs a tick is to be (T1), where few is 10 % or less that moves.
	target, targetFew = 150, 400
	warmUp            = 5
	warmUpOurs        = 256 // ticks of netcode's servers alone, before that: their history has gone round its ring once
	fewestTicks       = 5   // of necs
	blockTicks        = 8   // of netcode's servers for one of necs
	hardestClients    = 16  // from so many on the targets count
)

// combination is one line.
type combination struct {
	entities, clients int
	moving            float64
}

// result is a line, as bench prints them. Ratio is anchor over value: how many times the time of netcode's tick necs takes.
type result struct {
	Scenario string         `json:"scenario"`
	Params   map[string]any `json:"params"`
	Value    float64        `json:"value"`
	Unit     string         `json:"unit"`
	Anchor   float64        `json:"anchor"`
	Ratio    float64        `json:"ratio"`
	Target   *float64       `json:"target"`
	OK       *bool          `json:"ok"`
}

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == farCommand {
		err = runFar(os.Args[2:], os.Stdin, os.Stdout)
	} else {
		err = run(os.Args[1:], os.Stdout)
	}
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(status)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("world", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "one JSON object per result")
	budget := flags.Duration("t", 3*time.Second, "time to measure each combination for")
	entities := flags.Int("e", 0, "entities (0: the set)")
	clients := flags.Int("c", 0, "clients (0: the set)")
	moving := flags.Float64("frac", 0, "moving part of the entities, above 0 to 1 (0: the set)")
	if err := usage.Parse(flags, args, usage.Takes{
		"t": "a time with its unit, as 3s or 200ms", "e": "a whole number from 0 to 1048576", "c": "a whole number from 0 to 1024", "frac": "a number from 0 to 1",
	}); err != nil {
		return err
	}
	if *entities < 0 || *entities > 1<<20 || *clients < 0 || *clients > 1024 || *moving < 0 || *moving > 1 {
		return usage.Errorf("out of range: -e 1..1048576, -c 1..1024, -frac above 0 to 1")
	}
	set := []combination{{100, 16, 1}, {1000, 1, 0.1}, {1000, 16, 0.1}, {1000, 16, 1}, {1000, 64, 0.1}, {1000, 64, 1}}
	if *entities > 0 || *clients > 0 || *moving > 0 {
		c := combination{1000, 16, 0.1}
		if *entities > 0 {
			c.entities = *entities
		}
		if *clients > 0 {
			c.clients = *clients
		}
		if *moving > 0 {
			c.moving = *moving
		}
		set = []combination{c}
	}
	for _, c := range set {
		results, err := measure(c, *budget)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		for _, r := range results {
			report(out, *asJSON, r)
		}
	}
	return nil
}

// sample has the time, the bytes and the allocations of the ticks of one side.
type sample struct {
	ns, wholes    []float64 // of the tick, of the frame
	bytes, allocs mean      // of a tick
}

// mean is that of some numbers.
type mean struct{ sum, n float64 }

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m *mean) value() float64 { return m.sum / m.n }

func (s *sample) samples() *sample { return s }

func (s *sample) median() float64 { return median(s.ns) }

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
}

// lineOf holds one of netcode's servers against necs.
func lineOf(c combination, o *ours, necs *sample, verified bool) result {
	r := result{
		Scenario: "peers.world", Value: o.median(), Unit: "ns/tick", Anchor: necs.median(), Ratio: necs.median() / o.median(),
		Params: map[string]any{
			"entities": c.entities, "clients": c.clients, "moving": c.moving, "exact": o.exact, "anchor": "necs " + necsVersion,
			"ticks": len(o.ns), "necs_ticks": len(necs.ns),
			"with_receive_ns": median(o.wholes), "ratio_with_receive": necs.median() / median(o.wholes),
			"fastest_ns": slices.Min(o.ns), "ratio_of_fastest": slices.Min(necs.ns) / slices.Min(o.ns),
			"bytes_per_client": o.bytes.value() / float64(c.clients), "necs_bytes_per_client": necs.bytes.value() / float64(c.clients),
			"bytes_ratio":     necs.bytes.value() / o.bytes.value(),
			"allocs_per_tick": o.allocs.value(), "necs_allocs_per_tick": necs.allocs.value(), "verified": verified,
		},
	}
	if o.allocs.sum > 0 {
		r.Params["allocs_ratio"] = necs.allocs.value() / o.allocs.value()
	} // else there is none: it would be infinite
	if c.entities >= 1000 && c.clients >= hardestClients {
		t := float64(target)
		if c.moving <= 0.1 {
			t = targetFew
		}
		ok := verified && r.Ratio >= t
		r.Target, r.OK = &t, &ok
	}
	return r
}

func report(out io.Writer, asJSON bool, r result) {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			line = fmt.Appendf(nil, `{"scenario":%q,"error":%q}`, r.Scenario, err)
		}
		fmt.Fprintf(out, "%s\n", line)
		return
	}
	p := r.Params
	fmt.Fprintf(out, "%5v x %-3v moving %-4v exact=%-5v  %10.0f ns  necs %11.0f ns  %6.0f times the time, %5.1f the bytes (%.0f, %.0f)  allocations %.1f, necs %.0f  verified=%v\n",
		p["entities"], p["clients"], p["moving"], p["exact"], r.Value, r.Anchor, r.Ratio, p["bytes_ratio"],
		p["bytes_per_client"], p["necs_bytes_per_client"], p["allocs_per_tick"], p["necs_allocs_per_tick"], p["verified"])
}

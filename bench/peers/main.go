// Command peers measures other codecs for Go on the rows that netcode's scenario codec measures, all in one run.
//
//	cd bench/peers && go run . -json
//
// Each codec encodes and decodes 1000 messages in its turn, a pass at a time; what it decoded is compared with what was
// encoded. Every call goes through a function value, for all codecs alike; `go run ./bench -run codec` has none.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
)

const count = 1000

// codec is one way to put messages into bytes. Messages go by their number.
type codec struct {
	name, version string
	encode        func(dst []byte, i int) ([]byte, error) // appends message i to dst, which has room
	decode        func(src []byte, i int) error           // reads it into where right looks
	right         func(i int) bool                        // whether the last decode gave message i
	forget        func()                                  // what was decoded

	buffer           []byte
	ends             [count]int
	encoded, decoded side
	wrong            int
}

// side has the times and the allocations of one direction.
type side struct {
	samples []float64 // ns per message
	allocs  float64   // per message
}

// result is a line, as bench prints them.
type result struct {
	Scenario string         `json:"scenario"`
	Params   map[string]any `json:"params"`
	Value    float64        `json:"value"`
	Unit     string         `json:"unit"`
	Anchor   *float64       `json:"anchor"`
	Ratio    *float64       `json:"ratio"`
	Target   *float64       `json:"target"`
	OK       *bool          `json:"ok"`
}

func main() {
	err := run(os.Args[1:], os.Stdout)
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(status)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "one JSON object per result")
	budget := flags.Duration("t", 3*time.Second, "time to measure each set for")
	if err := usage.Parse(flags, args, usage.Takes{"t": "a time with its unit, as 3s or 200ms"}); err != nil {
		return err
	}
	for _, set := range []struct {
		name   string
		codecs func() ([]*codec, error)
	}{{"row", rowCodecs}, {"input", inputCodecs}, {"joysticks", joystickCodecs}} {
		codecs, err := set.codecs()
		if err != nil {
			return err
		}
		if err := measure(codecs, *budget); err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		for _, c := range codecs {
			report(out, *asJSON, c.result("peers."+set.name+".encode", &c.encoded, &codecs[0].encoded))
			report(out, *asJSON, c.result("peers."+set.name+".decode", &c.decoded, &codecs[0].decoded))
			if c.wrong > 0 {
				return fmt.Errorf("%s: %s gave %d messages that are not those encoded", set.name, c.name, c.wrong)
			}
		}
	}
	return nil
}

// measure runs the codecs in turns until the time is over.
func measure(codecs []*codec, budget time.Duration) error {
	for _, c := range codecs {
		c.buffer = make([]byte, 0, count*512)
		for _, s := range []*side{&c.encoded, &c.decoded} {
			s.samples, s.allocs = make([]float64, 0, 1<<14), math.Inf(1)
		}
		for warm := range 6 { // the first pass of gob also sends its types
			if err := c.round(warm > 0, false); err != nil {
				return err
			}
		}
	}
	for start, round := time.Now(), 0; time.Since(start) < budget || round < 5; round++ {
		for k := range codecs {
			if err := codecs[(round+k)%len(codecs)].round(false, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// round encodes and decodes all messages once and compares them.
func (c *codec) round(allocations, timed bool) error {
	c.buffer = c.buffer[:0]
	c.forget()
	if err := c.encoded.pass(allocations, timed, c.encodeAll); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if err := c.decoded.pass(allocations, timed, c.decodeAll); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	for i := range count {
		if !c.right(i) {
			c.wrong++
		}
	}
	return nil
}

func (c *codec) encodeAll() (err error) {
	for i := range count {
		if c.buffer, err = c.encode(c.buffer, i); err != nil {
			return err
		}
		c.ends[i] = len(c.buffer)
	}
	return nil
}

func (c *codec) decodeAll() error {
	from := 0
	for i, to := range c.ends {
		if err := c.decode(c.buffer[from:to:to], i); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// pass runs one side once. Reading the allocations stops the world, so it is not done while the time is taken.
func (s *side) pass(allocations, timed bool, do func() error) error {
	var before, after runtime.MemStats
	if allocations {
		runtime.ReadMemStats(&before)
	}
	began := time.Now()
	err := do()
	took := time.Since(began)
	if allocations {
		runtime.ReadMemStats(&after)
		s.allocs = min(s.allocs, float64(after.Mallocs-before.Mallocs)/count)
	}
	if timed && len(s.samples) < cap(s.samples) {
		s.samples = append(s.samples, float64(took)/count)
	}
	return err
}

// result holds the median against that of the first codec of the set.
func (c *codec) result(scenario string, s, anchor *side) result {
	value, against := median(s.samples), median(anchor.samples)
	ratio := value / against
	return result{
		Scenario: scenario, Value: value, Unit: "ns/message", Anchor: &against, Ratio: &ratio,
		Params: map[string]any{
			"codec": c.name, "version": c.version, "messages": count, "rounds": len(s.samples),
			"bytes": float64(len(c.buffer)) / count, "allocs": s.allocs, "verified": c.wrong == 0,
		},
	}
}

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
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
	fmt.Fprintf(out, "%-24s %-22v %-9v %9.1f ns  ratio %7.2f  %6.1f bytes  %5.2f allocs  verified=%v\n",
		r.Scenario, r.Params["codec"], r.Params["version"], r.Value, *r.Ratio, r.Params["bytes"], r.Params["allocs"], r.Params["verified"])
}

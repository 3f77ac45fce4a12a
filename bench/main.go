package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/snapshot"
)

// options are the command line of a run; zero values mean "the scenario's own set".
type options struct {
	entities int
	clients  int
	moving   float64
	budget   time.Duration
	trace    string
	tables   string
	train    string
	only     string
	record   string
	motion   string
	exact    bool
	network  realNetwork
	sight    int
	report   func(result)
}

// scenario is one thing this program can measure.
type scenario struct {
	name  string
	about string
	run   func(options) error
}

func scenarios() []scenario {
	return []scenario{
		{"floor", "memcpy and the kernel: dirty 42-byte rows, encoded once, to C UDP sockets (-e -c -frac -t)", runFloor},
		{"tick", "T1: a server tick over loopback UDP with acknowledging clients, against the floor (-e -c -frac -t -exact)", runTick},
		{"real", "T1, T8, T13: the server's sending on networks that lose and delay, against a perfect one (-e -c -frac -loss -jitter -classes -seed -exact -t)", runReal},
		{"scale", "a client that sees 50 of 100 to 30 000 walkers by a grid: its share of a frame and its heap; and where nothing moves (-e -c -loss -jitter -classes -seed -t)", runScale},
		{"bytes", "T2 to T4: bytes to one client, decoder verified every frame (-trace FILE -train FILE -tables FILE -only LINE)", runBytes},
		{"apply", "T11: receive and apply plain rows, ordered and scattered, against World.Get and columns (-e -frac -t)", runApply},
		{"clients", "T8: what one more client costs a tick, 1 to 256 of them, against one more client of the floor (-e -c -frac -t)", runClients},
		{"asteroids", "the scene of KinematicSoup/benchmarks: kB/s to one client with Ethernet headers, no delay, 100 ms, and 5 % loss; quantised and exact; decoder verified (-record FILE -motion FILE)", runAsteroids},
		{"published", "scenes that others publish, the same figures: sine, move and wander of unity-netcode-benchmark, PurrNet's transforms, a hundred players (-only SCENE -record FILE -motion FILE)", runPublished},
		{"loss", "T9: bytes, staleness and recovery at 0 to 50 % loss and in bursts, against a reliable ordered stream (-trace FILE)", runLoss},
		{"budget", "updates of bodies by weight at 3000, 6000 and 12 000 bytes a second, against their ideal share (-e)", runBudget},
		{"lines", "congestion control on lines of 16 KiB/s to 1 MiB/s with a queue of 200 ms: goodput, queue, overflow; beside TCP, loss and four clients", runLines},
		{"dirty", "T5: a capture of 10k and 100k rows, 0 to 100 % changed, and of one-row archetypes, against comparing memory (-e -frac -t)", runDirty},
		{"idle", "T7: taking in a tick at 64 clients of 100k entities, 0 to 100 % changed, against bitsets (-e -c -frac -t)", runIdle},
		{"rpc", "T10: 30 000 messages of 16 bytes in and out, 64 clients, 4 stages, against byte queues (-e messages -c -t)", runRPC},
		{"faults", "64 clients, 1000 entities, 60 Hz, 10 % loss, one client dead, one flooding, 10 joins a second: the server's tick (-e -c -t)", runFaults},
		{"steady", "T12: 10 s at 60 Hz and 1 % loss: allocations, bytes of headers, the packet layer (-e -c -frac -t)", runSteady},
		{"hitch", "how old inputs are 1 s after a hitch of the server or of the client, 2 s after one above 1 s, against a game without one; simulated", runHitch},
		{"capacity", "T13: the most entities at 60 Hz on one core, 64 clients, 10 and 1 % moving (-e to begin with -c -frac -t)", runCapacity},
		{"share", "T8: the part of encodes that clients share, 64 of them in four classes of round trip at 1 % loss (-e -c -frac)", runShare},
		{"smooth", "error and jerk of interpolated motion at 0 to 10 % loss and 0 to 60 ms jitter, against applying on arrival (-trace FILE)", runSmooth},
		{"bands", "distance bands: bytes, error in pixels and server tick of 1000 bodies over 512 m, against the same without bands (-e -c)", runBands},
		{"predict", "keeping, comparing, going back and replaying 12 ticks of 64 and 1000 predicted entities, against memcpy and the systems alone; a server with 64 predicting clients against one without (-e -t)", runPredict},
		{"secure", "transport/secure: seal and open of 1200 bytes against the AEAD alone, a flood without cookies, handshakes, a server tick over secure UDP against plain UDP (-t)", runSecure},
		{"javascript", "clients/js in Node on what a client receives of 1000 bodies, a record, against the Go client on the same", runJavascript},
		{"codec", "T6: a struct of 45 bytes, encoded and decoded, against hand-written little-endian (-t)", runCodec},
	}
}

func main() {
	err := dispatch(os.Args[1:])
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(status)
	}
}

// dispatch runs the command that the first argument names: the far end of a measurement, or else scenarios.
func dispatch(args []string) error {
	if len(args) > 0 && args[0] == childCommand {
		return runChild(args[1:], os.Stdin, os.Stdout)
	}
	return run(args, os.Stdout)
}

// run is main with its surroundings as arguments. A result that misses its target is printed, not an error: a benchmark
// tells what is; only a measurement that could not be made, or a decoder that disagreed, fails.
func run(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	list := flags.Bool("list", false, "list the scenarios")
	name := flags.String("run", "", "the `scenario` to run; empty runs all")
	asJSON := flags.Bool("json", false, "one JSON object per result")
	flags.StringVar(&o.trace, "trace", "", "recorded motion (NTRC, gzip) for the scenario bytes")
	flags.StringVar(&o.tables, "tables", "", "trained tables for the scenario bytes, in place of those that ship")
	flags.StringVar(&o.train, "train", "", "recorded motion to train tables on in the scenario bytes; else cubes91.trace.gz beside -trace")
	flags.StringVar(&o.record, "record", "", "scenarios asteroids and published: write the motion of the scene into this file (NTRC, gzip) and measure nothing")
	flags.StringVar(&o.motion, "motion", "", "the same: recorded motion (NTRC, gzip) in place of the scene's own")
	flags.StringVar(&o.only, "only", "", "only this line of the scenario bytes, such as bytes.moving; of loss this network, its round trip in ms and its loss in percent, such as 20/50; of real this part: real, real.server, real.client or real.frame; of published this scene, such as wander")
	flags.IntVar(&o.entities, "e", 0, "entities (0: the scenario's own set)")
	flags.IntVar(&o.clients, "c", 0, "clients (0: the scenario's own set)")
	flags.Float64Var(&o.moving, "frac", 0, "moving part of the entities, above 0 to 1 (0: the scenario's own set)")
	flags.DurationVar(&o.budget, "t", 2*time.Second, "time to measure each combination for")
	profile := flags.String("cpuprofile", "", "write a CPU profile of this process, the server's, to `FILE`")
	flags.BoolVar(&o.exact, "exact", false, "scenario tick: exact 40-byte rows instead of quantised ones")
	o.network.flags(flags, 0.05, 1, 4)
	flags.IntVar(&o.sight, "sight", 0, "scenario real: all bodies walk, and each client sees about so many around one of them (0: each sees all)")
	if err := usage.Parse(flags, args, takes()); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usage.Errorf("unexpected argument %q; a scenario is named by -run, as in -run %s, and -list lists them", flags.Arg(0), meant(flags.Arg(0)))
	}
	if err := o.validate(); err != nil {
		return err
	}
	if err := o.checkOnly(*name); err != nil {
		return err
	}
	if *list {
		for _, s := range scenarios() {
			fmt.Fprintf(out, "%-8s %s\n", s.name, s.about)
		}
		return nil
	}
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	o.report = func(r result) { r.print(out, *asJSON) }
	return runScenarios(*name, o)
}

// takes describes the values of the flags.
func takes() usage.Takes {
	return usage.Takes{
		"": "a scenario's name, by mistake", "run": "the name of a scenario; -list lists them", "trace": "a file", "tables": "a file", "train": "a file",
		"only": "the name of a line", "record": "a file", "motion": "a file", "cpuprofile": "a file", "e": "a whole number from 0 to 1048576", "c": "a whole number from 0 to 1024",
		"frac": "a number from 0 to 1", "t": "a time with its unit, as 2s or 200ms",
		"loss": "a number from 0 to 0.9", "jitter": "a whole number from 0 to 16", "classes": "a whole number from 1 to 4", "seed": "a whole number", "sight": "a whole number from 0 to 1048576",
	}
}

// validate reports which number is out of its range.
func (o *options) validate() error {
	switch {
	case o.entities < 0 || o.entities > snapshot.MaxEntities:
		return takes().Wrong("e", o.entities)
	case o.clients < 0 || o.clients > 1024:
		return takes().Wrong("c", o.clients)
	case !(o.moving >= 0 && o.moving <= 1):
		return takes().Wrong("frac", o.moving)
	case o.sight < 0 || o.sight > snapshot.MaxEntities:
		return takes().Wrong("sight", o.sight)
	}
	return o.network.validate()
}

// meant is the scenario that a word names, and else any.
func meant(word string) string {
	for _, s := range scenarios() {
		if s.name == word {
			return word
		}
	}
	return "tick"
}

// startProfile profiles until stop is called.
func startProfile(name string) (stop func(), err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { pprof.StopCPUProfile(); file.Close() }, nil
}

// runScenarios runs one scenario by name, or all.
func runScenarios(name string, o options) error {
	ran := false
	for _, s := range scenarios() {
		if name != "" && s.name != name {
			continue
		}
		ran = true
		if err := s.run(o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if !ran {
		return usage.Errorf("no scenario %q; -list shows them", name)
	}
	return nil
}

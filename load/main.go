package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/transport/udp"
)

// command is the command line of a program of bots.
type command struct {
	o         Options
	addresses string
	inspector string
	svg       string
	processes int
	part      int // from 1: this process is one of several and prints its samples; 0: it is not
}

// parse parses the command line.
func parse(args []string, out io.Writer) (*command, error) {
	c := &command{}
	f := flag.NewFlagSet("bots", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&c.addresses, "addr", "", "`address` of the server; several with commas between them share the bots")
	f.IntVar(&c.o.Bots, "n", 100, "bots")
	f.Float64Var(&c.o.Ramp, "ramp", 50, "bots that join in a second")
	f.DurationVar(&c.o.For, "for", 10*time.Second, "how long they play when all have joined")
	f.IntVar(&c.o.Rate, "rate", 60, "frames of a bot in a second")
	f.Uint64Var(&c.o.Seed, "seed", 1, "seed of the bots and of their links")
	c.o.Bad = 1
	var trip time.Duration
	f.Func("rtt", "round trip `time` of the bad link (default 0s)", func(s string) (err error) {
		trip, err = usage.RoundTrip(s)
		return err
	})
	f.DurationVar(&c.o.Link.Jitter, "jitter", 0, "jitter of the bad link")
	f.Func("loss", "`percent` of the packets that the bad link loses, each way (default 0)", func(s string) (err error) {
		c.o.Link.Loss, err = usage.Percent(s)
		return err
	})
	f.Func("bad", "`percent` of the bots that have the bad link (default 100%)", func(s string) (err error) {
		c.o.Bad, err = usage.Percent(s)
		return err
	})
	f.IntVar(&c.processes, "processes", 1, "processes that share the bots")
	f.StringVar(&c.inspector, "inspect", "", "`address` of the server's inspector, which tells how long its ticks take")
	f.DurationVar(&c.o.Bound, "bound", 0, "stop when the 99th percentile of the ticks is above this `time` for three seconds, or at the first failure, and say how many players the machine holds; needs -inspect")
	f.BoolVar(&c.o.ByWork, "work", false, "-bound is of the processor time of a tick: waits for a processor do not count")
	f.StringVar(&c.svg, "svg", "", "draw the report into this `file`")
	f.IntVar(&c.part, "part", 0, "number of this process, from 1: for the processes that -processes starts")
	if err := usage.Parse(f, args, takes()); err != nil {
		return nil, err
	}
	c.o.Link.Delay = trip / 2
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.inspector != "" {
		c.o.Ticks = InspectorTicks(c.inspector)
	}
	return c, c.resolve()
}

// takes describes the valid values of the flags.
func takes() usage.Takes {
	return usage.Takes{
		"n": "a whole number above 0", "ramp": "a number above 0", "for": "a time above 0s, as 10s", "rate": "a whole number from 1 to 1000",
		"rtt": "a time from 0s to 1s", "jitter": "a time from 0s on, as 10ms", "loss": "in percent, from 0 to 100", "bad": "in percent, from 0 to 100",
		"processes": "a whole number from 1 to the number of bots", "bound": "a time from 0s on, as 20ms",
	}
}

// check returns an error for a flag that is out of range or needs another one.
func (c *command) check() error {
	switch {
	case c.addresses == "":
		return usage.Errorf("-addr is missing: give the address of the server, as in -addr 127.0.0.1:9000")
	case c.o.Bots < 1:
		return takes().Wrong("n", c.o.Bots)
	case !(c.o.Ramp > 0):
		return takes().Wrong("ramp", c.o.Ramp)
	case c.o.For <= 0:
		return takes().Wrong("for", c.o.For)
	case c.o.Rate < 1 || c.o.Rate > 1000:
		return takes().Wrong("rate", c.o.Rate)
	case c.o.Link.Jitter < 0:
		return takes().Wrong("jitter", c.o.Link.Jitter)
	case c.processes < 1 || c.processes > c.o.Bots:
		return takes().Wrong("processes", c.processes)
	case c.o.Bound < 0:
		return takes().Wrong("bound", c.o.Bound)
	case c.o.ByWork && c.o.Bound == 0:
		return usage.Errorf("-work is of -bound: give -bound, as in -bound 2ms")
	case c.o.Bound > 0 && c.inspector == "":
		return usage.Errorf("-bound is of the server's ticks: give -inspect, the address of its inspector")
	}
	return nil
}

// resolve resolves the addresses of the servers.
func (c *command) resolve() error {
	for _, one := range strings.Split(c.addresses, ",") {
		address, err := udp.Resolve(one)
		if err != nil {
			return err
		}
		c.o.Servers = append(c.o.Servers, address)
	}
	return nil
}

// Main is a complete program that runs bots. It parses the flags in args (-help lists them), runs the bots, and prints a line
// every second and a report. The exit status is 0 if bots played; 1 if none connected, -bound was never checked, or nothing could
// run; 2 for a wrong flag. If ctx ends early the report covers the time until then. With -processes it starts the program again,
// with os.Args and -part.
func Main(ctx context.Context, args []string, out, complaints io.Writer, game Game) int {
	c, err := parse(args, complaints)
	if err == nil {
		err = c.run(ctx, out, complaints, game)
	}
	status := usage.Status(err)
	if status != 0 {
		fmt.Fprintln(complaints, "bots:", err)
	}
	return status
}

// run runs the bots of this process, or several processes.
func (c *command) run(ctx context.Context, out, complaints io.Writer, game Game) error {
	if c.part > 0 {
		return c.runPart(ctx, out, game)
	}
	if c.o.Ticks != nil {
		if _, err := c.o.Ticks(); err != nil {
			return fmt.Errorf("-inspect %s: %w: start the server with its inspector first, and give the address that it prints", c.inspector, err)
		}
	}
	fmt.Fprintln(out, Title)
	c.o.Each = func(s *Sample) { fmt.Fprintln(out, s.Line()) }
	report, err := c.report(ctx, complaints, game)
	if err != nil {
		return err
	}
	if len(report.Samples) == 0 {
		return errors.New("the run was over before its first second: give -for 1s or more")
	}
	fmt.Fprintf(out, "\n%s", report)
	if c.svg != "" {
		if err := c.draw(report); err != nil {
			return err
		}
	}
	switch {
	case c.o.Bound > 0 && !report.known():
		return fmt.Errorf("-bound %v was never checked, since -inspect %s told no time of ticks: the report says why", c.o.Bound, c.inspector)
	case !slices.ContainsFunc(report.Samples, func(s Sample) bool { return s.Connected > 0 }):
		return fmt.Errorf("no bot ever connected to %s", c.addresses)
	}
	return nil
}

// report runs the bots, in this process or in several.
func (c *command) report(ctx context.Context, complaints io.Writer, game Game) (*Report, error) {
	if c.processes == 1 {
		return Run(ctx, game, c.o)
	}
	return c.runProcesses(ctx, complaints)
}

// draw writes the plot.
func (c *command) draw(report *Report) error {
	f, err := os.Create(c.svg)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteSVG(f), f.Close())
}

// share returns the part of n that belongs to one of the processes.
func (c *command) share(n, part int) (first, count int) {
	first = n * (part - 1) / c.processes
	return first, n*part/c.processes - first
}

// runPart runs one of several processes. It writes its samples as lines of JSON.
func (c *command) runPart(ctx context.Context, out io.Writer, game Game) error {
	lines := json.NewEncoder(out)
	c.o.First, c.o.Bots = c.share(c.o.Bots, c.part)
	c.o.Ramp /= float64(c.processes)
	c.o.Ticks, c.o.Bound = nil, 0
	c.o.Each = func(s *Sample) { _ = lines.Encode(s) } // If the parent process has ended, ctx ends this one.
	_, err := Run(ctx, game, c.o)
	return err
}

// runProcesses starts the program several times and merges the samples of each second.
func (c *command) runProcesses(ctx context.Context, complaints io.Writer) (*Report, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &Report{Asked: c.o.Bots, Bound: c.o.Bound, ByWork: c.o.ByWork}
	parts := make([]chan Sample, c.processes)
	faults := make([]error, c.processes)
	told := &sharedWriter{to: complaints}
	var running sync.WaitGroup
	for i := range parts {
		parts[i] = make(chan Sample, 1)
		child := exec.CommandContext(ctx, program, append(os.Args[1:len(os.Args):len(os.Args)], "-part", strconv.Itoa(i+1))...)
		child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
		child.Stderr, child.WaitDelay = told, 5*time.Second
		running.Go(func() {
			defer close(parts[i])
			if err := follow(child, parts[i]); ctx.Err() == nil {
				faults[i] = err // Otherwise it was stopped on purpose.
			}
		})
	}
	for {
		s, more := collectParts(parts)
		if !more {
			break
		}
		if c.o.Ticks != nil {
			if s.Ticks, err = c.o.Ticks(); err != nil {
				s.TicksFault = err.Error()
			}
		}
		c.o.Each(&s)
		if r.add(&s) {
			break
		}
	}
	stop()
	for _, part := range parts {
		for range part { // Unblocks a process that still sends samples.
			continue
		}
	}
	running.Wait()
	if err := errors.Join(faults...); len(r.Samples) == 0 && err != nil {
		return nil, err
	}
	return r, nil
}

// sharedWriter lets several processes write to one writer.
type sharedWriter struct {
	mutex sync.Mutex
	to    io.Writer
}

// Write implements io.Writer.
func (w *sharedWriter) Write(b []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.to.Write(b)
}

// follow runs a process and sends its samples to a channel.
func follow(child *exec.Cmd, to chan<- Sample) error {
	pipe, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	const longest = 1 << 20
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var s Sample
		if json.Unmarshal(lines.Bytes(), &s) == nil {
			to <- s
		}
	}
	return child.Wait()
}

// collectParts merges the next sample of each process. It returns false if a process has ended.
func collectParts(parts []chan Sample) (sum Sample, more bool) {
	for _, part := range parts {
		s, ok := <-part
		if !ok {
			return sum, false
		}
		sum.merge(&s)
	}
	return sum, true
}

// Command play runs a server and a client with one entity of one component until nothing but that component changes, and prints which functions one
// more tick enters: from the write of the component to the client's world. Package walk runs it in an instrumented copy of the module.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/walk/trace"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Position is the one component: three quantised floats.
type Position struct {
	X float32 `net:"min=-100,max=100,step=0.01"`
	Y float32 `net:"min=-100,max=100,step=0.01"`
	Z float32 `net:"min=-100,max=100,step=0.01"`
}

const (
	frames   = 400
	recorded = 8 // of them, the last; the report is of the busiest for each end, one of a network tick
	rate     = 60
)

// step is one system of the frame and what it entered.
type step struct {
	name  string
	calls []trace.Call
}

func main() {
	verbose := flag.Bool("v", false, "list the functions of each step, in the order of their first call")
	flag.Parse()
	steps, err := record()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	report(steps, *verbose)
}

// record plays the frames and returns the steps of the busiest of the last ones.
func record() ([]step, error) {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	config := netcode.Config{Random: rand.NewChaCha8([32]byte{1})}
	server, err := netcode.NewServer(protocol, config)
	if err != nil {
		return nil, err
	}
	client, err := netcode.NewClient(protocol, config)
	if err != nil {
		return nil, err
	}
	network := memory.NewNetwork()
	here, err := network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	there, err := network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	var now time.Duration
	clock := func() time.Duration { return now }
	serverWorld, clientWorld := ecs.New(), ecs.New()
	serverSystems := systems.NewServer(server, here, clock).Systems()
	clientSystems := systems.NewClient(client, there, clock).Systems()
	for _, s := range serverSystems {
		s.Initialize(serverWorld)
	}
	for _, s := range clientSystems {
		s.Initialize(clientWorld)
	}
	if err := client.Connect(here.LocalAddr()); err != nil {
		return nil, err
	}
	ball := ecs.Spawn(serverWorld, nil, ecs.ComponentID[Position](serverWorld), ecs.ComponentID[components.Replicated](serverWorld))
	positions := generic.NewMap1[Position](serverWorld)
	var atServer, atClient []step
	for frame := range frames {
		last := frame >= frames-recorded
		now += time.Second / rate
		*positions.Get(ball) = Position{X: float32(frame%100) * 0.5, Y: float32(frame%7) * 0.25, Z: 3}
		atServer = busier(atServer, run("server", serverSystems, serverWorld, last))
		atClient = busier(atClient, run("client", clientSystems, clientWorld, last))
	}
	seen := generic.NewFilter1[Position]().Query(clientWorld)
	if !seen.Next() {
		return nil, fmt.Errorf("walk: the client has no entity")
	}
	got, want := *seen.Get(), *positions.Get(ball)
	seen.Close()
	if diff := want.X - got.X; diff > 0.51 || diff < 0 { // at most one frame behind
		return nil, fmt.Errorf("walk: the client has %v, the server %v", got, want)
	}
	return append(atServer, atClient...), nil
}

// busier returns the steps of the frame that made more calls.
func busier(a, b []step) []step {
	if calls(a) > calls(b) {
		return a
	}
	return b
}

func calls(steps []step) (n int) {
	for _, s := range steps {
		n += len(s.calls)
	}
	return n
}

// run updates all systems of one end, and records each of them in the last frames.
func run(end string, all []systems.System, w *ecs.World, last bool) []step {
	var steps []step
	for _, s := range all {
		if !last {
			s.Update(w)
			continue
		}
		trace.Default.Start()
		s.Update(w)
		name := strings.TrimPrefix(fmt.Sprintf("%T", s), "*systems.")
		steps = append(steps, step{name: end + " " + name, calls: trace.Default.Stop()})
	}
	return steps
}

// path returns the calls without the transport and the clocks that a client keeps beside the state: their functions, and those of package tick
// that they call.
func path(calls []trace.Call) (left []trace.Call) {
	clock := 0 // Depth of the clock's function that is under way; 0: none is.
	for _, c := range calls {
		if clock > 0 && c.Depth <= clock {
			clock = 0
		}
		switch {
		case hasPrefix(c.Function, "transport/", "internal/walk/"):
		case hasPrefix(c.Function, "tick/sync", "tick/drift", "tick/clocks.go", "client_time.go"):
			if clock == 0 {
				clock = c.Depth
			}
		case clock > 0 && hasPrefix(c.Function, "tick/"):
		default:
			left = append(left, c)
		}
	}
	return left
}

func hasPrefix(function string, any ...string) bool {
	return slices.ContainsFunc(any, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// within returns where the calls below the first call of a function are, itself included.
func within(calls []trace.Call, function string) (from, to int) {
	for i, c := range calls {
		if !strings.HasSuffix(c.Function, ":"+function) {
			continue
		}
		end := i + 1
		for end < len(calls) && calls[end].Depth > c.Depth {
			end++
		}
		return i, end
	}
	return 0, 0
}

// line prints the figures of some calls, and adds their functions to a set.
func line(name string, calls []trace.Call, all map[string]bool, verbose bool) {
	functions, files, order := map[string]bool{}, map[string]bool{}, []string(nil)
	changes, at := 0, ""
	calls = path(calls)
	for _, c := range calls {
		file, _, _ := strings.Cut(c.Function, ":")
		if !functions[c.Function] {
			order = append(order, c.Function)
		}
		functions[c.Function], files[file] = true, true
		if file != at && at != "" {
			changes++
		}
		at = file
		if all != nil {
			all[c.Function] = true
		}
	}
	if len(functions) == 0 {
		return
	}
	fmt.Printf("%-28s %5d calls %4d functions %4d files %4d changes of file\n", name, len(calls), len(functions), len(files), changes)
	if verbose {
		for _, f := range order {
			fmt.Println("    ", f)
		}
	}
}

// report prints a line for each step on the path, and their sum.
func report(steps []step, verbose bool) {
	all := map[string]bool{}
	for _, s := range steps {
		switch {
		case strings.Contains(s.name, "Dispatch") || strings.Contains(s.name, "Interpolate"):
			continue // beside the path
		case s.name == "server Receive" || s.name == "client Send" || s.name == "client Tick":
			continue // of the acknowledgement, which comes back
		}
		line(s.name, s.calls, all, verbose)
		for _, part := range []string{"View.Write", "View.WriteWithin", "Replica.Read", "Apply.Run"} {
			if from, to := within(s.calls, part); to > from {
				line("  of it "+part, s.calls[from:to], nil, false)
				line("  beside it", slices.Concat(s.calls[:from], s.calls[to:]), nil, false)
			}
		}
	}
	files := map[string]bool{}
	var names []string
	for f := range all {
		file, _, _ := strings.Cut(f, ":")
		files[file] = true
	}
	for f := range files {
		names = append(names, f)
	}
	sort.Strings(names)
	fmt.Printf("%-28s             %4d functions %4d files\n", "the path", len(all), len(files))
	if verbose {
		fmt.Println(strings.Join(names, "\n"))
	}
}

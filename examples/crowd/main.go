// Command crowd shows the whole path at work: a headless server world and several headless client worlds, each with
// a UDP socket of its own on loopback behind a simulated bad link. Bodies move for a while under a live table; then
// motion stops and every client's world must come to equal the server's, byte for byte, or the exit status is 1.
//
// A client is "in step" while it is connected, its newest tick is behind the server's by no more than the round trip,
// twice the jitter and three ticks, and its world holds no fewer entities than the server's did at any of these ticks.
// The clients' half does not know how many that is: there, a world that is not empty will do.
//
// With -interest each client sees only what is near its seat, and its world is compared with what a plain count of all
// distances tells that it may see. -churn sets how many bodies come and go.
//
// Where the halves are two processes, each has a verdict of its own. The server's: every client that is connected has
// reported the server's hash, in answer to being told it, and there is one. The clients': at the end every world has the
// hash that the server told: of what that client may see.
//
//	go run ./examples/crowd                             one process, 8 clients
//	go run ./examples/crowd -interest -churn 500        each sees a part, much comes and goes
//	go run ./examples/crowd -inspect 127.0.0.1:6060     shows the server in a browser
//	go run ./examples/crowd -bits                       says where the bits went
//	go run ./examples/crowd -record game.recording      to learn tables from with cmd/netcode train; -tables uses them
//	go run ./examples/crowd -listen 127.0.0.1:9000      the server's half
//	go run ./examples/crowd -connect 127.0.0.1:9000     the clients' half
//	go run ./examples/crowd play game.recording         serves a recording, to bots too; play -help
//	go run ./examples/crowd tap session.pcap            writes captured datagrams as text
//	go run ./examples/crowd bots -addr 127.0.0.1:9000   200 bots or 1000, and how they fare; bots -help
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/load"
)

// Exit statuses.
const (
	statusConverged = 0
	statusDiffers   = 1 // or the run could not be made at all
	statusUsage     = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the whole command. When ctx ends, motion ends early and what follows it follows. Worlds that were then not compared are no failure.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "bots" {
		return load.Main(ctx, args[1:], stdout, stderr, botGame())
	}
	if len(args) > 0 && (args[0] == "play" || args[0] == "tap") {
		var err error
		if args[0] == "tap" {
			err = runTap(args[1:], stdout, stderr)
		} else {
			err = runPlayback(ctx, args[1:], os.Stdin, stdout, stderr)
		}
		status := usage.Status(err)
		if status != 0 {
			fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		}
		return status
	}
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusConverged
	case err != nil:
		return statusUsage
	}
	progress := stdout
	if o.json {
		progress = stderr
	}
	a, err := newCrowd(&o, newTable(progress))
	if err != nil {
		newTable(stderr).Say("crowd: %v", err)
		return statusDiffers
	}
	result := a.run(ctx)
	if err := a.close(); err != nil {
		newTable(stderr).Say("crowd: %v", err)
		if o.record != "" {
			return statusDiffers
		}
	}
	if o.json {
		if err := result.print(stdout); err != nil {
			return statusDiffers
		}
	}
	if a.failed {
		return statusDiffers
	}
	return statusConverged
}

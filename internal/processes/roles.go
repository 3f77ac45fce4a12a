package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
)

// roleVariable is the environment variable with the role of a process: "server ADDRESS" or "client ADDRESS".
const roleVariable = "NETCODE_PROCESS"

// spot is the component of all entities.
type spot struct{ X, Y float32 }

// entities is the number of entities in the world.
const entities = 200

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	return p
}

// play runs a process of the game. It prints a report per line, and ends when its input is closed.
func play(role string) {
	kind, address, _ := strings.Cut(role, " ")
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			continue
		}
		stop()
	}()
	var err error
	switch kind {
	case "server":
		err = serve(ctx, address)
	case "client":
		err = join(ctx, address)
	case "burn":
		for ctx.Err() == nil {
			continue
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report is one line of output of a server or a client.
type report struct {
	Address    string       // the server's address
	Tick       netcode.Tick // the server's tick, or a client's newest one
	Connected  int          // number of sessions; at a client 1 if it is connected
	Entities   int          // at a client
	Over       int          // sessions that ended
	Migrated   int          // sessions that moved to another address
	Heap       int          // bytes in use
	Goroutines int
	Longest    float64 // ms: longest time between two frames
}

// every calls a function in each frame, and prints a report ten times a second.
func every(frame func() report) systems.System {
	var last, told time.Time
	longest := time.Duration(0)
	out := json.NewEncoder(os.Stdout)
	return systems.Func(func(*ecs.World) {
		now := time.Now()
		if !last.IsZero() {
			longest = max(longest, now.Sub(last))
		}
		last = now
		r := frame()
		if now.Sub(told) < 100*time.Millisecond {
			return
		}
		runtime.GC() // so that Heap is the memory in use
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.Heap, r.Goroutines, r.Longest = int(m.HeapAlloc), runtime.NumGoroutine(), longest.Seconds()*1000
		if out.Encode(r) != nil {
			os.Exit(0) // nobody reads
		}
		told, longest = now, 0
	})
}

// serve runs a server.
func serve(ctx context.Context, address string) error {
	socket, err := udp.Listen(address, udp.Config{})
	if err != nil {
		return err
	}
	server, err := netcode.NewServer(protocol(), netcode.Config{Clients: 256, SilenceTimeout: silence, ResetKey: [32]byte{7}})
	if err != nil {
		return err
	}
	w := ecs.New()
	maker := generic.NewMap2[components.Replicated, spot](w)
	for range entities {
		maker.New()
	}
	filter := generic.NewFilter1[spot]()
	group := systems.NewServer(server, socket, systems.WallClock())
	group.Add(tick.Update, every(func() report {
		for q := filter.Query(w); q.Next(); {
			*q.Get() = spot{rand.Float32(), rand.Float32()} // large changes, for full packets
		}
		stats := server.Stats()
		return report{
			Address: socket.LocalAddr().String(), Tick: server.Tick(), Connected: int(stats.Connected - stats.Disconnected),
			Over: int(stats.Disconnected), Migrated: int(stats.Migrated),
		}
	}))
	return systems.NewRunner(w, group, 30).Run(ctx)
}

// join runs a client that connects again whenever it is not connected.
func join(ctx context.Context, address string) error {
	server, err := udp.Resolve(address)
	if err != nil {
		return err
	}
	local := "127.0.0.1:0"
	if strings.HasPrefix(address, "[") {
		local = "[::1]:0"
	}
	socket, err := udp.Listen(local, udp.Config{})
	if err != nil {
		return err
	}
	client, err := netcode.NewClient(protocol(), netcode.Config{Rejoin: true, SilenceTimeout: silence})
	if err != nil {
		return err
	}
	over := 0
	client.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { over++ })
	w := ecs.New()
	group := systems.NewClient(client, socket, systems.WallClock())
	group.Add(tick.Update, every(func() report {
		r := report{Over: over}
		switch client.State() {
		case netcode.Disconnected:
			_ = client.Connect(server)
		case netcode.Connected:
			r.Connected, r.Tick, r.Entities = 1, client.Replica().Tick(), client.Replica().Len()
		}
		return r
	}))
	return systems.NewRunner(w, group, 30).Run(ctx)
}

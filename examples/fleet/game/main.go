// Command game is a server of a fleet, for netcode fleet, for Agones and for a desk, and its player.
//
//	go build -o /tmp/game ./game && go run ../../cmd/netcode fleet -servers 4 -- /tmp/game
//	/tmp/game -play http://127.0.0.1:7070 -user ann
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/agones"
	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// Pawn is a player on a line: the server moves it.
type Pawn struct{ X float32 }

func newProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Pawn](p)
	return p
}

// The time that players have in a drain. terminationGracePeriodSeconds of deploy/fleet.yaml and netcode fleet -drain are longer.
const drain = 90 * time.Second

func main() {
	listen := flag.String("listen", ":7654", "UDP `address` on Agones and on a desk")
	play := flag.String("play", "", "be a player of the fleet at this `URL`")
	user := flag.String("user", "ann", "`name` of the player")
	flag.Parse()
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	var err error
	if *play != "" {
		err = beAPlayer(ctx, *play, *user, os.Stdout.WriteString)
	} else {
		err = serve(context.Background(), *listen) // Run of a Member takes the signals.
	}
	if err != nil {
		log.Fatal(err)
	}
}

// place is where a server runs.
type place struct {
	life   fleet.Lifecycle
	conn   transport.Conn
	single bool
}

// open finds out who started this process.
func open(ctx context.Context, listen string) (p place, err error) {
	var key secure.Key
	var address string
	if here, err := local.Open(ctx); err == nil { // netcode fleet
		p.life, key, address, listen = here, here.Key(), here.Address(), here.Listen()
	} else if !errors.Is(err, local.ErrAlone) {
		return p, err
	} else if os.Getenv("AGONES_SDK_HTTP_PORT") != "" {
		there, err := agones.Open(ctx, agones.Config{Counter: "players", List: "players"})
		if err != nil {
			return p, err
		}
		if key, err = secure.ParseKey(os.Getenv("NETCODE_KEY")); err != nil {
			return p, err
		}
		p.life, address, p.single = there, there.Address(), true // One match a pod.
	} else { // A desk: in clear, for 127.0.0.1.
		socket, err := udp.Listen("127.0.0.1"+listen, udp.Config{})
		return place{life: fleet.None(), conn: socket}, err
	}
	socket, err := udp.Listen(listen, udp.Config{})
	if err != nil {
		return p, err
	}
	p.conn, err = secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens(address)})
	return p, err
}

// serve runs a server until it has drained.
func serve(ctx context.Context, listen string) error {
	p, err := open(ctx, listen)
	if err != nil {
		return err
	}
	defer p.conn.Close()
	server, err := netcode.NewServer(newProtocol(), netcode.Config{Keep: 20 * time.Second})
	if err != nil {
		return err
	}
	world := ecs.NewWorld()
	group := systems.NewServer(server, p.conn, systems.WallClock())
	pawns := generic.NewMap3[components.Replicated, components.Owner, Pawn](&world)
	all := generic.NewFilter1[Pawn]()
	group.Add(netcode.StageUpdate, systems.Func(func(w *ecs.World) {
		if !server.TickDue() {
			return
		}
		for query := all.Query(w); query.Next(); {
			query.Get().X++
		}
	}))
	loop := systems.NewRunner(&world, group, 60)
	member := fleet.Attach(loop, server, p.life, fleet.Config{
		Drain: drain, Single: p.single,
		OnMatch: func(m fleet.Match) { log.Printf("match %s, data %q", m.ID, m.Data) },
		OnDrain: func(left time.Duration) { log.Printf("draining for at most %v", left) },
	})
	server.OnConnect(func(client netcode.ClientID) {
		log.Printf("%s plays match %s", server.Identity(client), member.MatchOf(client))
		if !server.Returned(client) {
			pawns.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Pawn{})
		}
	})
	log.Print("listening on ", p.conn.LocalAddr())
	return member.Run(ctx)
}

// ask asks the allocator for a match. A player of a real game asks its backend, which asks the allocator.
func ask(ctx context.Context, url, user string) (a supervisor.Answer, err error) {
	body, err := json.Marshal(supervisor.Request{User: user, Data: "sand"})
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/match", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return a, fmt.Errorf("the fleet answers %s", answer.Status)
	}
	return a, json.NewDecoder(answer.Body).Decode(&a)
}

// beAPlayer plays until ctx is done, and prints a line each second.
func beAPlayer(ctx context.Context, url, user string, print func(string) (int, error)) error {
	a, err := ask(ctx, url, user)
	if err != nil {
		return err
	}
	_, _ = print(fmt.Sprintf("match %s at %s, %s\n", a.Match, a.Server, a.Address))
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return err
	}
	conn, err := secure.Dial(socket, secure.ClientConfig{Token: a.Token})
	if err != nil {
		return err
	}
	defer conn.Close()
	client, err := netcode.NewClient(newProtocol(), netcode.Config{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	client.OnDisconnect(func(_ netcode.ClientID, why *netcode.CloseError) { cancel(why) })
	at, err := udp.Resolve(a.Address)
	if err != nil {
		return err
	}
	if err := client.Connect(at); err != nil {
		return err
	}
	world := ecs.NewWorld()
	group := systems.NewClient(client, conn, systems.WallClock())
	pawns, frame := generic.NewFilter1[Pawn](), 0
	group.Add(netcode.StageUpdate, systems.Func(func(w *ecs.World) {
		if frame++; frame%60 == 0 && client.State() == netcode.Connected {
			for query := pawns.Query(w); query.Next(); {
				_, _ = print(fmt.Sprintf("a pawn at %.0f\n", query.Get().X))
			}
		}
	}))
	if err := systems.NewRunner(&world, group, 60).Run(ctx); err != nil {
		return err
	}
	if why := (*netcode.CloseError)(nil); errors.As(context.Cause(ctx), &why) {
		return why
	}
	return nil
}

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
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// Pawn is a player on a line: the server moves it.
type Pawn struct{ X float32 }

func newProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Pawn](p)
	netcode.Replicate[components.Owner](p)
	handover.Register(p)
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

// place has what runs a server, and its address.
type place struct {
	life   fleet.Lifecycle
	conn   transport.Conn
	single bool
	shared [32]byte // Of a fleet whose servers move players to one another; else zero.
}

// open finds out who started this process.
func open(ctx context.Context, listen string) (p place, err error) {
	var key secure.Key
	var address string
	if here, err := local.Open(ctx); err == nil { // netcode fleet
		p.life, p.shared, key, address, listen = here, here.Shared(), here.Key(), here.Address(), here.Listen()
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
	group.Add(tick.Update, systems.Func(func(w *ecs.World) {
		if !server.TickDue() {
			return
		}
		for query := all.Query(w); query.Next(); {
			query.Get().X++
		}
	}))
	member, mover := attach(systems.NewRunner(&world, group, 60), group, p)
	server.OnConnect(func(client netcode.ClientID) {
		log.Printf("%s plays match %s", server.Identity(client), member.MatchOf(client))
		if mover != nil && mover.Arriving(client) {
			return // Its pawn is on its way.
		}
		if !server.Returned(client) {
			pawns.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Pawn{})
		}
	})
	log.Print("listening on ", p.conn.LocalAddr())
	return member.Run(ctx)
}

// attach attaches a server to its fleet. A drain moves its players to other servers, if the fleet can name them: then mover is not nil.
func attach(loop *systems.Runner, group *systems.ServerSystems, p place) (member *fleet.Member, mover *handover.Server) {
	config := fleet.Config{
		Drain: drain, Single: p.single,
		OnMatch: func(m fleet.Match) { log.Printf("match %s, data %q", m.ID, m.Data) },
		OnDrain: func(left time.Duration) { log.Printf("draining for at most %v", left) },
	}
	if p.shared == [32]byte{} {
		return fleet.Attach(loop, group.Server, p.life, config), nil
	}
	config.Move = func(client netcode.ClientID, token []byte) error {
		servers, err := secure.TokenServers(token)
		if err != nil {
			return err
		}
		return mover.Move(client, handover.Destination{Server: servers[0], Token: token})
	}
	member = fleet.Attach(loop, group.Server, p.life, config)
	mover = handover.Attach(group, handover.Config{Key: p.shared})
	mover.OnApprove(member.Approve)
	mover.OnEnd(func(client netcode.ClientID, outcome handover.Outcome, err error) {
		log.Printf("%s %v: %v", group.Server.Identity(client), outcome, err)
		if outcome == handover.Stayed {
			member.MoveAgain(client)
		}
	})
	return member, mover
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
	ctx, cancel := context.WithCancelCause(ctx)
	player := handover.NewClient(func(to handover.Destination, done func(*handover.Session, error)) {
		done(openSession(to, print, cancel))
	})
	player.OnSwitch(func(from, to *handover.Session) {
		if from != nil {
			_, _ = print(fmt.Sprintf("moved to %v\n", to.Server))
		}
	})
	player.OnFail(func(err error) {
		if player.Shown() == nil {
			cancel(err)
		}
	})
	player.Start(handover.Destination{Server: a.Address, Token: a.Token})
	if err := systems.NewRunner(nil, player, 60).Run(ctx); err != nil {
		return err
	}
	if why := context.Cause(ctx); !errors.Is(why, context.Canceled) && !errors.Is(why, context.DeadlineExceeded) {
		return why
	}
	return nil
}

// openSession makes the game for one server. It ends the program when the session that the player sees has ended.
func openSession(to handover.Destination, print func(string) (int, error), end func(error)) (*handover.Session, error) {
	at, err := udp.Resolve(to.Server)
	if err != nil {
		return nil, err
	}
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return nil, err
	}
	conn, err := secure.Dial(socket, secure.ClientConfig{Token: to.Token})
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	client, err := netcode.NewClient(newProtocol(), netcode.Config{})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	client.OnDisconnect(func(_ netcode.ClientID, why *netcode.CloseError) {
		if handover.Shown(client) {
			end(why)
		}
	})
	world := ecs.NewWorld()
	group := systems.NewClient(client, conn, systems.WallClock())
	pawns, frame := generic.NewFilter1[Pawn](), 0
	group.Add(tick.Update, systems.Func(func(w *ecs.World) {
		if frame++; frame%60 == 0 && client.State() == netcode.Connected && handover.Shown(client) {
			for query := pawns.Query(w); query.Next(); {
				_, _ = print(fmt.Sprintf("a pawn at %.0f\n", query.Get().X))
			}
		}
	}))
	return &handover.Session{Systems: group, World: &world, Server: at, Close: func() { _ = conn.Close() }}, nil
}

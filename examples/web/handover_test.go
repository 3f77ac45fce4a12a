package main

import (
	"context"
	"crypto/tls"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
)

// purse holds the gold of the traveller.
type purse struct{ Gold uint32 }

// gate is a server of the journey, on one of the transports.
type gate struct {
	url   string
	group *systems.ServerSystems
	mover *handover.Server
	loop  *systems.Runner
	world *ecs.World
	ended []handover.Outcome
}

// journey is two servers and a traveller on one clock.
type journey struct {
	*testing.T
	now    time.Duration
	gates  [2]*gate
	hash   [32]byte // of the WebTransport server's certificate
	loop   *systems.Runner
	player *handover.Client
}

// protocol makes the protocol of the journey.
func (j *journey) protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[purse](p)
	netcode.Replicate[components.Owner](p)
	handover.Register(p)
	return p
}

// patient is the time-out of everything: a busy machine is no fault.
var patient = netcode.Config{SilenceTimeout: time.Minute, HandshakeTimeout: time.Minute}

// open makes a server on a transport.
func (j *journey) open(url string, over transport.Conn) *gate {
	server, err := netcode.NewServer(j.protocol(), patient)
	require.NoError(j, err)
	world := ecs.NewWorld()
	g := &gate{url: url, world: &world, group: systems.NewServer(server, over, func() time.Duration { return j.now })}
	g.mover = handover.Attach(g.group, handover.Config{Key: [32]byte{8}, Patience: time.Minute, Lease: time.Minute})
	g.mover.OnEnd(func(_ netcode.ClientID, outcome handover.Outcome, _ error) { g.ended = append(g.ended, outcome) })
	spawn := generic.NewMap3[components.Replicated, components.Owner, purse](g.world)
	server.OnConnect(func(client netcode.ClientID) {
		if !g.mover.Arriving(client) {
			spawn.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &purse{Gold: 70})
		}
	})
	purses := generic.NewMap1[purse](g.world)
	g.mover.OnArrive(func(a *handover.Arrival) { purses.Get(a.Entities[0]).Gold++ }) // each gate pays
	g.loop = systems.NewRunner(g.world, g.group, 60)
	return g
}

// dial makes a session of the traveller by the transport that an address names.
func (j *journey) dial(to handover.Destination) (*handover.Session, error) {
	ctx, cancel := context.WithTimeout(j.Context(), time.Minute)
	defer cancel()
	var over interface {
		transport.Conn
		Server() transport.Addr
	}
	var err error
	if strings.HasPrefix(to.Server, "ws://") {
		over, err = websocket.Dial(ctx, to.Server, queued.Config{Idle: time.Hour})
	} else {
		over, err = webtransport.Dial(ctx, to.Server, webtransport.Pin(j.hash), queued.Config{Idle: time.Hour})
	}
	if err != nil {
		return nil, err
	}
	client, err := netcode.NewClient(j.protocol(), patient)
	if err != nil {
		return nil, err
	}
	world := ecs.NewWorld()
	group := systems.NewClient(client, over, func() time.Duration { return j.now })
	return &handover.Session{Systems: group, World: &world, Server: over.Server(), Close: func() { _ = over.Close() }}, nil
}

// gold returns the money of a world's travellers, and how many they are.
func gold(w *ecs.World) (sum uint32, travellers int) {
	query := generic.NewFilter1[purse]().Query(w)
	for query.Next() {
		sum, travellers = sum+query.Get().Gold, travellers+1
	}
	return sum, travellers
}

// until plays until something holds. Each frame takes two milliseconds at least, in which the sockets work.
func (j *journey) until(text string, holds func() bool) {
	j.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) { // It only ends a test that hangs.
		require.True(j, time.Now().Before(end), text)
		j.now += time.Second / 60
		for _, g := range j.gates {
			g.loop.Step()
		}
		j.loop.Step()
	}
}

// plays reports whether the traveller is at a gate alone, with its money, and sees it.
func (j *journey) plays(at, other *gate, money uint32) bool {
	there, one := gold(at.world)
	_, none := gold(other.world)
	seen, sees := gold(j.player.Shown().World)
	return one == 1 && none == 0 && sees == 1 && there == money && seen == money && !j.player.Moving()
}

// TestATravellerChangesItsTransport moves a player from a server on WebSocket to one on WebTransport, and back.
func TestATravellerChangesItsTransport(t *testing.T) {
	j := &journey{T: t}
	socket := websocket.NewServer(transport.MustParseAddr("127.0.0.1:80"), websocket.Config{Config: queued.Config{Idle: time.Hour}})
	t.Cleanup(func() { _ = socket.Close() })
	h := httptest.NewServer(socket)
	t.Cleanup(h.Close)
	j.gates[0] = j.open("ws"+strings.TrimPrefix(h.URL, "http"), socket)
	certificate, hash, err := webtransport.NewCertificate(time.Now(), "127.0.0.1")
	require.NoError(t, err)
	session, err := webtransport.Listen("127.0.0.1:0", webtransport.Config{
		Config: queued.Config{Idle: time.Hour}, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	j.hash = hash
	j.gates[1] = j.open("https://"+session.LocalAddr().String()+"/netcode", session)
	j.player = handover.NewClient(func(to handover.Destination, done func(*handover.Session, error)) { done(j.dial(to)) })
	var switches int
	j.player.OnSwitch(func(_, _ *handover.Session) { switches++ })
	j.player.OnFail(func(err error) { t.Error(err) })
	j.loop = systems.NewRunner(nil, j.player, 60)
	j.player.Start(handover.Destination{Server: j.gates[0].url})
	require.NotNil(t, j.player.Shown())
	here, there := j.gates[0], j.gates[1]
	j.until("it plays", func() bool { return j.plays(here, there, 70) })
	for money := uint32(71); money <= 72; money++ {
		for client := range here.group.Server.Clients {
			require.NoError(t, here.mover.Move(client, handover.Destination{Server: there.url}))
		}
		j.until("it moves", func() bool { return j.plays(there, here, money) })
		require.Equal(t, []handover.Outcome{handover.Moved}, here.ended)
		here, there = there, here
	}
	require.Equal(t, 3, switches)
	j.until("it leaves nothing behind", func() bool { return len(there.clients()) == 0 && len(here.clients()) == 1 })
}

// clients returns the clients that are connected.
func (g *gate) clients() (list []netcode.ClientID) {
	for client := range g.group.Server.Clients {
		list = append(list, client)
	}
	return list
}

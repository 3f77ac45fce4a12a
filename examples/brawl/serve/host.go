package serve

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/lan"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
)

// Options are those of a host.
type Options struct {
	Listen string // Address of the page, as ":8080", for the local network, or "127.0.0.1:8080", for this machine.
	WASM   []byte // The page's client, compressed by gzip; nil: there is no page.
	Match  rules.Options
	// Payload is that of the player who plays here; nil: nobody does.
	Payload []byte
	Wait    time.Duration // Until clients give WebTransport up; 0: 3 s.
	LAN     string        // The name by which the game is announced in the local network; empty: it is not.
	Silent  bool          // The socket of WebTransport is none: clients fall back, as where UDP is blocked.
}

// Host serves page and game.
type Host struct {
	Match  *rules.Match
	Player *rules.Player // Who plays here; nil: nobody.
	Loop   *systems.Runner
	World  *ecs.World
	// Group has the systems that Loop runs: an inspector may take its place before Run.
	Group systems.Group

	options Options
	names   []string
	port    string
	hash    string
	wait    int
	ws      *websocket.Server
	page    net.Listener
	http    *http.Server
	lan     *lan.Announcer // Nil: it is not announced.
	players atomic.Int32   // For its answers, in another goroutine.
}

// LANPort is the port at which games are announced.
const LANPort = 47113

// New makes a host, which listens at once.
func New(o Options) (*Host, error) {
	h := &Host{options: o, names: localNames(), wait: 3000}
	if o.Wait > 0 {
		h.wait = int(o.Wait.Milliseconds())
	}
	certificate, hash, err := webtransport.NewCertificate(time.Now(), h.names...)
	if err != nil {
		return nil, err
	}
	h.hash = hex.EncodeToString(hash[:])
	if h.page, err = net.Listen("tcp", o.Listen); err != nil {
		return nil, err
	}
	at := h.page.Addr().(*net.TCPAddr)
	everywhere := at.IP.IsUnspecified()
	if !everywhere {
		h.names = []string{at.IP.String()}
	}
	var origins []string
	for _, name := range h.names {
		origins = append(origins, net.JoinHostPort(name, strconv.Itoa(at.Port)))
	}
	udp := "127.0.0.1:0"
	if everywhere {
		udp = ":0"
	}
	wt, err := webtransport.Listen(udp, webtransport.Config{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}, Origins: origins})
	if err != nil {
		return nil, errors.Join(err, h.page.Close())
	}
	h.port = strconv.Itoa(int(wt.LocalAddr().IP.Port()))
	if o.Silent {
		h.port = "9"
	}
	// private keeps the internet away from the WebSocket, so it counts as bound to an address of this machine.
	h.ws = websocket.NewServer(transport.MustParseAddr(net.JoinHostPort(h.names[0], strconv.Itoa(at.Port))), websocket.Config{})
	h.http = &http.Server{Handler: h.routes(), ConnContext: websocket.ShortBuffer, ReadHeaderTimeout: 10 * time.Second}
	if err = h.play(transport.Join(wt, h.ws)); err != nil || o.LAN == "" || len(h.URLs()) < 2 {
		return h, err // A game for this machine alone is not announced.
	}
	build := h.Match.Server.Protocol().Hash()
	h.lan, err = lan.Announce(LANPort, func() lan.Game {
		return lan.Game{Name: o.LAN, Join: h.URLs()[1], Players: uint16(h.players.Load()), Places: uint16(rules.ServerConfig().Clients), Protocol: build}
	})
	return h, err
}

// play makes the match.
func (h *Host) play(socket *transport.Joined) error {
	server, err := netcode.NewServer(rules.Protocol(), rules.ServerConfig())
	if err != nil {
		return err
	}
	server.OnConnect(func(netcode.ClientID) { h.players.Add(1) })
	server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { h.players.Add(-1) })
	server.OnError(func(err error) { fmt.Fprintln(os.Stderr, "brawl:", err) })
	world := ecs.NewWorld()
	h.World = &world
	if h.options.Payload == nil {
		group := systems.NewServer(server, socket, systems.WallClock())
		h.Match = rules.Serve(group, h.World, h.options.Match)
		predict.Simulate(group, predict.Config{}, h.Match.Rules.Systems()...)
		h.Group = group
	} else {
		client, err := netcode.NewClient(server.Protocol(), rules.ClientConfig())
		if err != nil {
			return err
		}
		group, err := systems.NewHost(server, client, socket, systems.WallClock())
		if err != nil {
			return err
		}
		group.Payload = h.options.Payload
		h.Match = rules.Serve(group.ServerSystems, h.World, h.options.Match)
		h.Player = rules.Host(group, h.Match)
		h.Group = group
	}
	h.Loop = systems.NewRunner(h.World, h.Group, rules.TickRate)
	return nil
}

// Pages serves the page until Close.
func (h *Host) Pages() {
	if err := h.http.Serve(h.ws.Guard(h.page)); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "page:", err)
	}
}

// Close ends the page, and the announcements.
func (h *Host) Close() error {
	if h.lan != nil {
		_ = h.lan.Close() // It sends nothing at its end.
	}
	return h.http.Close()
}

// Run serves page and game until ctx is done.
func (h *Host) Run(ctx context.Context) error {
	go h.Pages()
	h.Loop.Group = h.Group
	err := h.Loop.Run(ctx) // At its end it closes the socket.
	return errors.Join(err, h.Close())
}

// URLs are the addresses of the page: that for this machine, then those for others.
func (h *Host) URLs() (all []string) {
	port := strconv.Itoa(h.page.Addr().(*net.TCPAddr).Port)
	for _, name := range h.names {
		if name != "localhost" {
			all = append(all, "http://"+net.JoinHostPort(name, port)+"/")
		}
	}
	return all
}

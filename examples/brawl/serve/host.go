package serve

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/web/site"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/lan"
)

//go:embed index.html
var page string

//go:embed js/index.html
var pageJS string

//go:embed js/*.js
var filesJS embed.FS

// Options are those of a host.
type Options struct {
	Listen string // Address of the page, as ":8080", for the local network, or "127.0.0.1:8080", for this machine.
	WASM   []byte // The page's client, compressed by gzip; nil: there is no page.
	Match  rules.Options
	// Payload is that of the player who plays here; nil: nobody does.
	Payload []byte
	Wait    time.Duration // Until clients give WebTransport up; 0: 3 s.
	LAN     string        // The name by which the game is announced in the local network; empty: it is not.
	Blocked string        // See site.Options.
}

// Host serves page and game.
type Host struct {
	*site.Site
	Match  *rules.Match
	Player *rules.Player // Who plays here; nil: nobody.
	Loop   *systems.Runner
	World  *ecs.World
	// Group has the systems that Loop runs: an inspector may take its place before Run.
	Group systems.Group

	options Options
	lan     *lan.Announcer // Nil: it is not announced.
	players atomic.Int32   // For its answers, in another goroutine.
}

// LANPort is the port at which games are announced.
const LANPort = 47113

// New makes a host, which listens at once.
func New(o Options) (*Host, error) {
	s, err := site.Listen(site.Options{
		Listen: o.Listen, WASM: o.WASM, JavaScript: "../../clients/js/src", Protocol: rules.Protocol, Wait: o.Wait, Blocked: o.Blocked,
	})
	if err != nil {
		return nil, err
	}
	h := &Host{Site: s, options: o}
	h.Page("GET /{$}", page)
	h.Page("GET /js/{$}", pageJS)
	h.Mux.Handle("GET /js/", http.FileServerFS(filesJS))
	h.Mux.HandleFunc("GET /levels.txt", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, rules.Plans) })
	if err = h.play(s.Socket); err != nil || o.LAN == "" || len(h.URLs()) < 2 {
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

// Close ends the page, and the announcements.
func (h *Host) Close() error {
	if h.lan != nil {
		_ = h.lan.Close() // It sends nothing at its end.
	}
	return h.Site.Close()
}

// Run serves page and game until ctx is done.
func (h *Host) Run(ctx context.Context) error {
	go h.Serve()
	h.Loop.Group = h.Group
	err := h.Loop.Run(ctx) // At its end it closes the socket.
	return errors.Join(err, h.Close())
}

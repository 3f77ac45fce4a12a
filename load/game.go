package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// Game connects the bots to a game.
type Game struct {
	// Protocol is the game's, with the handlers of a client. All bots of a process share it in several goroutines. A handler
	// finds its bot by BotOf, and stores data in Bot.State.
	Protocol *netcode.Protocol
	Config   netcode.Config // Configuration of each client.

	// Payload returns the payload for Server.OnApprove; nil: none.
	Payload func(number int) []byte
	// Secure wraps a bot's socket, for example in transport/secure; nil: unencrypted. See Server.MayListen.
	Secure func(number int, socket systems.Socket, server transport.Addr) (systems.Socket, error)
	// Join is called once before a bot's first frame. It can add systems to Loop and functions to Client. nil: nothing.
	Join func(b *Bot)
	// Play is called in each frame in which a network tick begins, in stage Update, while the bot is connected. It reads the
	// world and acts as a player would. nil: the bot only watches.
	Play func(b *Bot)
}

// Bot is one simulated player. It belongs to one goroutine.
type Bot struct {
	Number int                    // From 0, unique among all processes.
	Client *netcode.Client        // Its connection.
	World  *netecs.World          // The entities that the server shows it.
	Loop   *systems.ClientSystems // Its systems.
	Random *rand.Rand             // Seeded by Options.Seed and Number.
	State  any                    // For the game.

	line    *line
	steps   []systems.System
	acts    []act // Acts whose state has not arrived.
	ended   error
	told    bool // The end was counted.
	before  traffic
	latency *Histogram // In the sample of this second.
	now     func() time.Duration
}

// act is a frame in which a bot acted for a tick.
type act struct {
	tick tick.Tick
	at   time.Duration
}

// mostActs is the maximum number of acts that wait for state: four seconds at 60 ticks a second.
const mostActs = 256

// traffic is the number of bytes of a connection.
type traffic struct{ up, down uint64 }

// BotOf returns the bot of a client, in the handler of a message: BotOf(ctx.End). It is nil for any other end.
func BotOf(end any) *Bot {
	b, _ := extend.ExtensionOf[*Bot](end)
	return b
}

// newBot makes a bot and starts to connect it.
func newBot(game *Game, o *Options, number int, now func() time.Duration) (b *Bot, err error) {
	server := o.Servers[number%len(o.Servers)]
	client, err := netcode.NewClient(game.Protocol, game.Config)
	if err != nil {
		return nil, err
	}
	at := ":0"
	if server.IP.Addr().IsLoopback() && server.IP.Addr().Is4() {
		at = "127.0.0.1:0"
	}
	socket, err := udp.Listen(at, udp.Config{Queue: 128, ReadBuffer: 1 << 18, WriteBuffer: 1 << 16})
	if err != nil {
		return nil, fmt.Errorf("the socket of bot %d: %w (a limit of open files? ulimit -n)", number, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, socket.Close())
		}
	}()
	b = &Bot{Number: number, Client: client, World: world.New(), Random: rand.New(rand.NewPCG(o.Seed, uint64(number))), now: now, latency: &Histogram{}}
	var end systems.Socket = socket
	if o.isBad(number) {
		b.line = newLine(socket, o.Link, o.Seed+uint64(number), now)
		end = b.line
	}
	if game.Secure != nil {
		if end, err = game.Secure(number, end, server); err != nil {
			return nil, err
		}
	}
	b.Loop = systems.NewClient(client, end, now)
	b.Loop.Interpolate = nil
	extend.OfClient(client).Extend(extend.ClientHooks{State: b, Applied: func(tick.Time) { b.noteState() }})
	client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { b.ended = reason })
	if game.Join != nil {
		game.Join(b)
	}
	if game.Play != nil {
		b.Loop.Add(tick.Update, systems.Func(func(*netecs.World) { b.play(game.Play) }))
	}
	b.steps = b.Loop.Systems()
	for _, s := range b.steps {
		s.Initialize(b.World)
	}
	var payload []byte
	if game.Payload != nil {
		payload = game.Payload(number)
	}
	return b, client.ConnectWith(server, payload)
}

// isBad reports whether a bot has the bad link.
func (o *Options) isBad(number int) bool {
	if isClear(o.Link) {
		return false
	}
	return int(float64(number+1)*o.Bad) > int(float64(number)*o.Bad)
}

// isClear reports whether a link has no effect.
func isClear(l transport.Link) bool {
	return l.Delay == 0 && l.Jitter == 0 && l.Loss == 0 && l.Rate == 0 && l.Duplicate == 0 && l.Reorder == 0 && l.BurstLoss.Enter == 0
}

// play calls the game's Play and records the time.
func (b *Bot) play(play func(*Bot)) {
	if b.Client.State() != netcode.Connected || b.Client.Steps() == 0 {
		return
	}
	play(b)
	if len(b.acts) < mostActs {
		b.acts = append(b.acts, act{b.Client.Time().Tick, b.now()})
	}
}

// noteState counts the acts whose state has arrived.
func (b *Bot) noteState() {
	newest, n := b.Client.Replica().Tick(), 0
	for n < len(b.acts) && b.acts[n].tick <= newest {
		b.latency.Add(b.now() - b.acts[n].at)
		n++
	}
	b.acts = append(b.acts[:0], b.acts[n:]...)
}

// step runs one frame.
func (b *Bot) step() {
	for _, s := range b.steps {
		s.Update(b.World)
	}
}

// finish frees the bot's socket.
func (b *Bot) finish() {
	for _, s := range b.steps {
		s.Finalize(b.World)
	}
}

// moved returns the bytes since its last call.
func (b *Bot) moved() (up, down uint64) {
	p := b.Client.Stats().Packets
	up, down = p.BytesSent-b.before.up, p.BytesReceived-b.before.down
	b.before = traffic{p.BytesSent, p.BytesReceived}
	return up, down
}

package nats_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	natsgo "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// blob is a large message.
type blob struct{ Data []byte }

func (m *blob) Serialize(s *wire.Serializer) { s.Bytes(&m.Data, nats.MaxBody) }

// heard collects what a process's handlers were given.
type heard struct {
	text    []string
	running bool // A frame runs: handlers run in no other moment.
	outside bool
	stage   string // The game's system that ran last.
}

func (h *heard) messages() *nats.Messages {
	p := nats.NewMessages()
	note := func(ctx *nats.Context, text string) {
		h.outside = h.outside || !h.running
		if ctx.Player != "" {
			text += " for " + ctx.Player
			if ctx.Client == 0 {
				text += ", who is not here"
			}
		}
		h.text = append(h.text, ctx.Match.ID()+" "+h.stage+" "+ctx.From+": "+text)
	}
	nats.Handle(p, func(ctx *nats.Context, m *Shout) { note(ctx, m.Text) }, tick.Update)
	nats.Handle(p, func(ctx *nats.Context, m *Goal) { note(ctx, "goal") }, tick.EarlyUpdate)
	return p
}

func (h *heard) has(line string) bool {
	for _, l := range h.text {
		if l == line {
			return true
		}
	}
	return false
}

// watch notes which of the game's systems ran last.
func (h *heard) watch(group *systems.ServerSystems) {
	for stage, name := range map[tick.Stage]string{tick.Initialization: "begin", tick.PreUpdate: "preupdate", tick.PreLateUpdate: "end"} {
		group.Add(stage, systems.Func(func(*ecs.World) { h.stage = name }))
	}
}

func (h *heard) frame(loop *systems.Runner) {
	h.running = true
	loop.Step()
	h.running = false
}

// Messages between servers reach a match, a server, a player wherever he is, and all; in their stage, in the loop of the game.
func TestMessagesBetweenServers(t *testing.T) {
	t.Parallel()
	var a, b heard
	first := start(t, nats.Config{Server: "first", Embed: nats.Embed{Listen: "127.0.0.1:0"}, Messages: a.messages()})
	second := start(t, nats.Config{Server: "second", URL: first.NATS(), Messages: b.messages()})
	network := memory.NewNetwork()
	socket, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	red, err := open(t.Context(), first, systems.Offline{}, nats.MatchConfig{ID: "red"}, nil)
	require.NoError(t, err)
	blue, err := open(t.Context(), second, socket, nats.MatchConfig{ID: "blue"}, nil)
	require.NoError(t, err)
	a.watch(red.group)
	b.watch(blue.group)
	client, err := netcode.NewClient(protocol(), netcode.Config{})
	require.NoError(t, err)
	end, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	world := ecs.NewWorld()
	clientLoop := systems.NewRunner(&world, systems.NewClient(client, end, systems.WallClock()), 60)
	require.NoError(t, client.ConnectWith(socket.LocalAddr(), []byte("anna")))
	until := func(what string, f func() bool) {
		t.Helper()
		eventually(t, what, func() bool {
			a.frame(red.loop)
			b.frame(blue.loop)
			clientLoop.Step()
			return f()
		})
	}
	until("the player is known", func() bool { p, ok := first.Player("anna"); return ok && p.Match == "blue" && p.Server == "second" })
	send := func(to nats.Recipient, text string) {
		require.NoError(t, nats.Publish(red.match, to, &Shout{Text: text}))
	}
	send(nats.ToMatch("blue"), "match")
	send(nats.ToServer("second"), "server")
	send(nats.ToPlayer("anna"), "whisper")
	send(nats.ToPlayer("nobody"), "lost")
	send(nats.ToMatch("none"), "lost")
	send(nats.ToAll(), "all")
	require.NoError(t, nats.Publish(second, nats.ToMatch("red"), &Goal{Team: 1}))
	until("all have come", func() bool { return len(a.text) == 2 && len(b.text) == 4 })
	require.True(t, a.has("red preupdate first: all"))
	require.True(t, a.has("red begin second: goal"), "%q", a.text)
	require.Equal(t, []string{"blue preupdate first: match", "blue preupdate first: server", "blue preupdate first: whisper for anna", "blue preupdate first: all"}, b.text)
	require.False(t, a.outside || b.outside, "a handler runs in the loop")
	wait := blue.server.Tick() + 20
	require.NoError(t, nats.Publish(red.match, nats.ToMatch("blue"), &Goal{}, nats.NotBefore(wait)))
	until("its tick has come", func() bool {
		if len(b.text) == 5 {
			require.GreaterOrEqual(t, blue.server.Tick(), wait)
		}
		return len(b.text) == 5
	})
	require.ErrorIs(t, nats.Publish(first, nats.ToMatch("no name"), &Goal{}), nats.ErrRecipient)
	require.ErrorIs(t, nats.Publish(first, nats.ToPlayer(strings.Repeat("x", nats.MaxName+1)), &Goal{}), nats.ErrRecipient)
	require.ErrorIs(t, nats.Publish(first, nats.ToAll(), &blob{}), nats.ErrNotRegistered)
	client.Close()
	until("the player is gone", func() bool { _, ok := first.Player("anna"); return !ok })
}

// Messages that no process of a fleet sends, those of another build, and a flood are counted and harm nobody.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	var a heard
	first := start(t, nats.Config{Server: "first", Queue: 64, Embed: nats.Embed{Listen: "127.0.0.1:0"}, Messages: a.messages()})
	h, err := open(t.Context(), first, systems.Offline{}, nats.MatchConfig{ID: "red"}, nil)
	require.NoError(t, err)
	a.watch(h.group)
	conn, err := natsgo.Connect(first.NATS())
	require.NoError(t, err)
	defer conn.Close()
	for _, data := range []string{"", "\x01", "\x01abcdefgh\x05first", strings.Repeat("\xff", 4000)} {
		require.NoError(t, conn.Publish("netcode.game.all", []byte(data)))
		require.NoError(t, conn.Publish("netcode.game.m.red", []byte(data)))
	}
	eventually(t, "they are counted", func() bool { return first.Stats().Malformed == 8 })
	newer := nats.NewMessages()
	nats.Handle[blob](newer, nil, tick.Update)
	nats.Handle[Shout](newer, nil, tick.Update)
	second := start(t, nats.Config{Server: "second", URL: first.NATS(), Messages: newer})
	require.NoError(t, nats.Publish(second, nats.ToAll(), &blob{Data: make([]byte, 1000)}))
	eventually(t, "another build's message is counted", func() bool { return first.Stats().Unknown == 1 })
	for i := range 1000 {
		for nats.Publish(second, nats.ToMatch("red"), &Shout{Number: uint32(i)}) != nil {
			time.Sleep(time.Millisecond)
		}
	}
	eventually(t, "a flood fills the sender's share", func() bool { s := first.Stats(); return s.Received+s.Greedy+s.Slow == 1000 && s.Received == 16 })
	require.NoError(t, nats.Publish(first, nats.ToMatch("red"), &Shout{Text: "still"}))
	eventually(t, "others' messages come", func() bool {
		a.frame(h.loop)
		return a.has("red preupdate first: still")
	})
	// A handler that panics ends no loop.
	require.Len(t, a.text, 17)
}

// A handler that panics is told to OnError, and the loop goes on.
func TestAHandlerThatPanics(t *testing.T) {
	t.Parallel()
	p := nats.NewMessages()
	calls := 0
	nats.Handle(p, func(*nats.Context, *Goal) {
		if calls++; calls == 1 {
			panic("boom")
		}
	}, tick.Update)
	n := start(t, nats.Config{Server: "first", Messages: p})
	h, err := open(t.Context(), n, systems.Offline{}, nats.MatchConfig{ID: "red"}, nil)
	require.NoError(t, err)
	var told error
	h.server.OnError(func(err error) { told = err })
	require.NoError(t, nats.Publish(n, nats.ToAll(), &Goal{}))
	require.NoError(t, nats.Publish(n, nats.ToAll(), &Goal{}))
	h.step(t, "both are handled", func() bool { return calls == 2 })
	require.ErrorContains(t, told, "boom")
}

// A player in two matches, as one that moves, is in the directory at the newer one; when it leaves that, at the older one again.
func TestAPlayerInTwoMatches(t *testing.T) {
	t.Parallel()
	first := start(t, nats.Config{Server: "first", Embed: nats.Embed{Listen: "127.0.0.1:0"}})
	second := start(t, nats.Config{Server: "second", URL: first.NATS()})
	network := memory.NewNetwork()
	said := ""
	var loops []*systems.Runner
	var clients []*netcode.Client
	join := func(n *nats.Node, match string) {
		socket, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		h, err := open(t.Context(), n, socket, nats.MatchConfig{ID: match, Presence: func(p nats.Presence, ok bool) {
			if match == "red" {
				require.Equal(t, "anna", p.User)
				said = p.Match
			}
		}}, nil)
		require.NoError(t, err)
		client, err := netcode.NewClient(protocol(), netcode.Config{})
		require.NoError(t, err)
		end, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		loops = append(loops, h.loop, systems.NewRunner(nil, systems.NewClient(client, end, systems.WallClock()), 60))
		clients = append(clients, client)
		require.NoError(t, client.ConnectWith(socket.LocalAddr(), []byte("anna")))
	}
	in := func(match string) {
		t.Helper()
		eventually(t, "the player is in "+match, func() bool {
			for _, l := range loops {
				l.Step()
			}
			p, ok := first.Player("anna")
			q, too := second.Player("anna")
			return ok == too && p == q && p.Match == match && said == match // Of the first match's loop.
		})
	}
	join(first, "red")
	in("red")
	join(second, "blue")
	in("blue")
	clients[1].Close()
	in("red")
	clients[0].Close()
	in("")
}

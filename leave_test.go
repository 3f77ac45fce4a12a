package netcode_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// leaver is a server with one client whose messages are noted, as is when each end is told that the other is gone.
type leaver struct {
	*rig.Rig
	c    *rig.ClientEnd
	told []string // By the handlers and by OnDisconnect, in the order of the calls.
}

func newLeaver(t *testing.T, config netcode.Config, options ...netcode.Option) *leaver {
	p := protocol()
	l := &leaver{}
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		l.told = append(l.told, fmt.Sprint(m.Number))
		if m.Number == 13 {
			panic("13")
		}
		require.ErrorIs(t, netcode.Reply(ctx, m), errs.ErrNotConnected, "who has closed is not answered")
	}, options...)
	l.Rig = rig.New(t, p, config)
	l.c = l.Joined(p, config)
	l.Server.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) {
		l.told = append(l.told, "server: "+reason.Error())
	})
	l.c.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) {
		l.told = append(l.told, "client: "+reason.Error())
	})
	return l
}

// The messages that an end had accepted when the other closed in order are handled in their time, in order. Then the game is told
// of the close.
func TestAcceptedMessagesAreHandledAfterAClose(t *testing.T) {
	reliable := netcode.Over(netcode.ReliableOrdered)
	t.Run("client closes", func(t *testing.T) {
		l := newLeaver(t, netcode.Config{}, reliable)
		first := l.Server.Tick()
		for i := range uint32(3) {
			require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{i}, netcode.NotBefore(first+netcode.Tick(20+i))))
		}
		l.c.Close()
		l.Run(500 * time.Millisecond)
		require.Equal(t, netcode.Disconnected, l.c.State(), "it need not wait for that")
		require.Equal(t, []string{"client: closed"}, l.told)
		require.ErrorIs(t, netcode.Send(l.Server.Server, netcode.To(1), &chat{1}), errs.ErrNotConnected)
		l.Run(400 * time.Millisecond)
		require.Equal(t, []string{"client: closed", "0", "1", "2", "server: closed"}, l.told)
		require.Zero(t, l.Server.Stats().OfTheGone)
	})
	for name, end := range map[string]struct {
		close  func(l *leaver)
		reason string
	}{
		"server closes":                {func(l *leaver) { l.Server.Close(0) }, "server is shutting down"},
		"server closes for its reason": {func(l *leaver) { l.Server.Close(200) }, "reason 200"},
		"server kicks: it sent to it":  {func(l *leaver) { l.Server.Kick(1, "") }, "kicked"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t, netcode.Config{}, reliable)
			for i := range uint32(3) {
				require.NoError(t, netcode.Send(l.Server.Server, netcode.To(1), &chat{i}, netcode.NotBefore(l.Server.Tick()+20)))
			}
			end.close(l)
			l.Run(300 * time.Millisecond)
			require.Equal(t, []string{"server: " + end.reason}, l.told)
			require.Equal(t, netcode.Closing, l.c.State())
			require.ErrorIs(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{9}), errs.ErrNotConnected)
			l.Run(time.Second)
			require.Equal(t, []string{"server: " + end.reason, "0", "1", "2", "client: " + end.reason}, l.told)
			require.Equal(t, netcode.Disconnected, l.c.State())
			require.Zero(t, l.c.Stats().OfTheGone)
		})
	}
}

// A stage that runs in some frames only is waited for too.
func TestAStageThatComesLaterIsWaitedForAfterAClose(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.ReliableOrdered), netcode.AtStage(tick.FixedUpdate))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}))
	l.c.Close()
	for frame := range 120 {
		l.Now += rig.FrameTime / 4
		s := l.Server
		steps.OfServer(s).BeginFrame(l.Now)
		l.Receive(s.Conn, steps.OfServer(s).ReceiveAfter)
		for stage := range tick.Stage(tick.NumStages) {
			if stage != tick.FixedUpdate || frame%16 == 15 {
				steps.OfServer(s).Dispatch(stage)
			}
		}
		steps.OfServer(s).Send()
		steps.OfServer(s).Drain(s.Out)
		l.ClientFrame(l.c)
	}
	require.Equal(t, []string{"client: closed", "1", "server: closed"}, l.told)
}

// A message that waits for longer than Config.LeaveTimeout after a close is dropped. An end does not wait for messages that are
// not reliable.
func TestMessagesLeftAfterACloseAreBounded(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
	soon, late := l.Server.Tick()+20, l.Server.Tick()+300
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(soon)))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{2}, netcode.NotBefore(late)))
	l.c.Close()
	l.Run(1900 * time.Millisecond)
	require.Equal(t, []string{"client: closed", "1"}, l.told)
	for range l.Server.Clients {
		require.Fail(t, "it is none of the clients any more")
	}
	l.Run(300 * time.Millisecond)
	require.Equal(t, []string{"client: closed", "1", "server: closed"}, l.told)
	require.EqualValues(t, 1, l.Server.Stats().OfTheGone)
	l.Run(10 * time.Second)
	require.Len(t, l.told, 3)

	l = newLeaver(t, netcode.Config{}, netcode.Over(netcode.Unreliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.Server.Tick()+20)))
	l.c.Close()
	l.Run(200 * time.Millisecond)
	require.Equal(t, []string{"client: closed", "server: closed"}, l.told)
}

// An end that closes itself handles nothing more.
func TestMessagesDroppedAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(l *leaver){
		"kicked":           func(l *leaver) { l.Server.Kick(1, "") },
		"the server's own": func(l *leaver) { l.Server.Close(0) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
			require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.Server.Tick()+20)))
			l.Run(200 * time.Millisecond)
			end(l)
			l.Run(3 * time.Second)
			require.NotContains(t, l.told, "1")
			require.EqualValues(t, 1, l.Server.Stats().OfTheGone)
		})
	}
}

// A game that has seen enough of one that is leaving ends that at once.
func TestKickOfOneThatIsLeaving(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.Server.Tick()+20)))
	l.c.Close()
	l.Run(300 * time.Millisecond)
	require.True(t, l.Server.Kick(1, "enough"))
	require.Equal(t, []string{"client: closed", "server: kicked: enough"}, l.told)
	require.False(t, l.Server.Kick(1, "again"))
	l.Run(3 * time.Second)
	require.Len(t, l.told, 2)
}

// A handler that fails on a message of one that is leaving ends that too, with the same reason as else.
func TestCase15PanicOnAMessageOfOneThatIsLeaving(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.ReliableOrdered))
	for i := range uint32(3) {
		require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{12 + i}, netcode.NotBefore(l.Server.Tick()+20)))
	}
	l.c.Close()
	l.Run(2 * time.Second)
	require.Equal(t, []string{"client: closed", "12", "13", "server: a handler panicked: the server's handler of chat"}, l.told)
	require.Len(t, l.Server.Errors, 1, "the panic is told of all the same")

	l = newLeaver(t, netcode.Config{}, netcode.Over(netcode.ReliableOrdered))
	for i := range uint32(3) {
		require.NoError(t, netcode.Send(l.Server.Server, netcode.To(1), &chat{12 + i}, netcode.NotBefore(l.Server.Tick()+20)))
	}
	l.Server.Close(0)
	l.Run(2 * time.Second)
	require.Equal(t, []string{"server: server is shutting down", "12", "13", "client: a handler panicked: the client's handler of chat"}, l.told)
}

// One that is leaving keeps its place, since the game has not been told yet; its address is free for a new connection.
func TestConnectingAnewWhileTheOldOneIsLeaving(t *testing.T) {
	l := newLeaver(t, netcode.Config{Clients: 2}, netcode.Over(netcode.Reliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.Server.Tick()+30)))
	l.c.Close()
	l.Until(func() bool { return l.c.State() == netcode.Disconnected })
	require.NoError(t, l.c.Connect(l.Server.Conn.LocalAddr()))
	l.Until(func() bool { return l.c.State() == netcode.Connected })
	require.Equal(t, []string{"client: closed"}, l.told, "the old one is still there")
	require.EqualValues(t, 2, l.c.ID())
	other := l.Join(l.c.Protocol(), netcode.Config{})
	l.Run(200 * time.Millisecond)
	require.ErrorIs(t, other.Err(), errs.ReasonFull)
	l.Until(func() bool { return len(l.told) == 3 })
	require.Equal(t, []string{"client: closed", "1", "server: closed"}, l.told)
	require.NoError(t, other.Connect(l.Server.Conn.LocalAddr()))
	l.Until(func() bool { return other.State() == netcode.Connected })
	require.Equal(t, netcode.Connected, l.c.State())
}

// The client's own game may end the wait: by Close, and by connecting anew.
func TestClosingAnEndThatHandlesTheRest(t *testing.T) {
	for name, end := range map[string]func(l *leaver){
		"Close":   func(l *leaver) { l.c.Close() },
		"Connect": func(l *leaver) { require.NoError(l.T, l.c.Connect(l.Server.Conn.LocalAddr())) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
			require.NoError(t, netcode.Send(l.Server.Server, netcode.To(1), &chat{1}, netcode.NotBefore(l.Server.Tick()+30)))
			l.Server.Kick(1, "")
			l.Until(func() bool { return l.c.State() == netcode.Closing })
			end(l)
			require.Equal(t, []string{"server: kicked", "client: kicked"}, l.told)
			l.Run(time.Second)
			require.Len(t, l.told, 2)
			require.Equal(t, name == "Connect", l.c.State() == netcode.Connected)
		})
	}
}

// A goodbye whose acknowledgement is lost is acknowledged again, as it comes again.
func TestCloseIsAcknowledgedWhileTheRestIsHandled(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.Server.Tick()+40)))
	l.Run(200 * time.Millisecond)
	l.c.Close()
	cut := true
	server := l.Server.Conn.LocalAddr()
	l.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == server && cut {
			return nil
		}
		return packet
	}
	l.Run(150 * time.Millisecond)
	require.Equal(t, netcode.Closing, l.c.State())
	cut = false
	l.Run(100 * time.Millisecond)
	require.Equal(t, netcode.Disconnected, l.c.State())
	l.Until(func() bool { return len(l.told) == 3 })
}

// A host's player that leaves is handled like any other.
func TestMessagesOfAHostAreHandledAfterItLeft(t *testing.T) {
	p := protocol()
	var told []string
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) { told = append(told, fmt.Sprint(ctx.Sender, " ", m.Number)) }, netcode.Over(netcode.Reliable))
	r := rig.New(t, p, netcode.Config{})
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.Server.Server, c))
	r.Run(100 * time.Millisecond)
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{7}, netcode.NotBefore(r.Server.Tick()+10)))
	c.Close()
	require.Equal(t, netcode.Disconnected, c.State())
	require.NoError(t, netcode.Host(r.Server.Server, c), "and plays again meanwhile")
	r.Run(time.Second)
	require.Equal(t, []string{"1 7"}, told)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: closed"}, r.Server.Log)
	require.Equal(t, netcode.Connected, c.State())
}

// A message that a host's player sent in the very frame in which it is kicked is not handled after the player is gone.
func TestKickOfAHostDropsItsMessagesOfThatFrame(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ }, netcode.AtStage(tick.Update))
	r := rig.New(t, p, netcode.Config{})
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.Server.Server, c))
	r.Run(100 * time.Millisecond)
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{7}))
	require.True(t, r.Server.Kick(c.ID(), ""))
	r.Run(time.Second)
	require.Zero(t, handled)
	require.EqualValues(t, 1, r.Server.Stats().OfTheGone)
}

// waitingPost is a reliable message of the game that waits for a tick, from an end that is not netcode's own.
func waitingPost(before tick.Tick) *peer.Post {
	return &peer.Post{
		Type: wire.FirstUserMessage, Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Flags: wire.FlagTick, Tick: before,
	}
}

// An end that has read a Close and handles what came before it is in the state closing for whatever comes then: each type
// has no effect on the game, and none is a fault.
func TestCase12EachMessageWhileTheRestIsHandled(t *testing.T) {
	for _, kind := range matrixTypes() {
		for role, when := range map[peer.Role]string{peer.RoleServer: "server", peer.RoleClient: "client"} {
			require.NotEqual(t, peer.VerdictClose, verdictOf(peer.StateClosing, role, kind), "%s: type %d", when, kind)
		}
		handled := 0
		p := protocol()
		netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
		build := buildMessage(t, p, kind)

		r := rig.New(t, p, netcode.Config{})
		th := rig.NewThief(r, p)
		th.Post(waitingPost(r.Server.Tick()+15), []byte{1, 0, 0, 0})
		th.Send(wire.MessageClose, tick.Initialization, peer.AppendClose(nil, errs.CloseError{Reason: errs.ReasonClosed}))
		r.Run(100 * time.Millisecond)
		_, open := r.Server.ClientStats(1)
		require.False(t, open)
		require.Len(t, r.Server.Log, 1, "the game is not told yet")
		acks := r.Server.Stats().Packets.Sent
		b := th.Conn.Begin(make([]byte, 1200))
		build(&b)
		steps.OfServer(r.Server).Receive(th.Address, th.Conn.Finish(&b, 1, r.Now))
		require.Equal(t, kind == wire.MessageClose, r.Server.Stats().Packets.Sent == acks+1, "only a goodbye is answered")
		r.Run(100 * time.Millisecond)
		require.Zero(t, handled, "type %d", kind)
		require.Len(t, r.Server.Log, 1)
		r.Run(time.Second)
		require.Equal(t, 1, handled, "type %d", kind)
		require.Equal(t, "disconnect 1: closed", r.Server.Log[1])
		require.Zero(t, r.Server.Stats().Malformed)

		handled = 0
		im := newImposter(t, p, netcode.Config{})
		im.send(func(b *peer.Builder) {
			out := peer.NewOutgoing(peer.OutgoingConfig{}, peer.NewPool(1200))
			require.NoError(t, out.Push(waitingPost(im.client.Tick()+15), []byte{1, 0, 0, 0}))
			out.Fill(b, 1200)
		})
		im.send(buildMessage(t, p, wire.MessageClose))
		im.run(100 * time.Millisecond)
		require.Equal(t, netcode.Closing, im.client.State())
		im.send(build)
		im.run(100 * time.Millisecond)
		require.Zero(t, handled, "type %d", kind)
		require.Len(t, im.client.Log, 1)
		im.run(time.Second)
		require.Equal(t, 1, handled, "type %d", kind)
		require.Equal(t, netcode.Disconnected, im.client.State())
		require.Equal(t, "disconnect 5: closed", im.client.Log[1])
		require.Zero(t, im.client.Stats().Malformed)
	}
}

// Nor does a packet that cannot be read at all end what is left to do for a client that has closed in order.
func TestCase12AnUnreadablePacketWhileTheRestIsHandled(t *testing.T) {
	handled := 0
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
	for name, packet := range map[string]func(th *rig.Thief){
		"batch of no size":  func(th *rig.Thief) { th.Raw(0, 0, 0, 0) },
		"message cut short": func(th *rig.Thief) { th.Raw(10, 0, 16, 0, 40, 0, 1, 0, 0, 0) },
		"acknowledges what was never sent": func(th *rig.Thief) {
			h := wire.PacketHeader{Sequence: wire.Sequence(th.Conn.Next()), HasAck: true, Ack: wire.Sequence(30000), AckBits: 1}
			th.Conn.Skip()
			packet := wire.AppendPacketHeader(nil, h)
			steps.OfServer(th.Server).Receive(th.Address, binary.LittleEndian.AppendUint32(packet, th.Check.Sum(packet)))
		},
	} {
		handled = 0
		r := rig.New(t, p, netcode.Config{})
		th := rig.NewThief(r, p)
		th.Post(waitingPost(r.Server.Tick()+15), []byte{1, 0, 0, 0})
		th.Send(wire.MessageClose, tick.Initialization, peer.AppendClose(nil, errs.CloseError{Reason: errs.ReasonClosed}))
		r.Run(100 * time.Millisecond)
		packet(th)
		r.Run(100 * time.Millisecond)
		require.Len(t, r.Server.Log, 1, name)
		r.Run(time.Second)
		require.Equal(t, 1, handled, name)
		require.Equal(t, "disconnect 1: closed", r.Server.Log[1], name)
	}
}

func TestCloseDeliversSentMessages(t *testing.T) {
	p := protocol()
	var got []uint32
	netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) }, netcode.Over(netcode.ReliableOrdered))
	var want []uint32
	for i := range uint32(200) {
		want = append(want, i)
	}
	for name, leave := range map[string]func(r *rig.Rig, c *rig.ClientEnd){
		"the client closes": func(r *rig.Rig, c *rig.ClientEnd) {
			for _, i := range want {
				require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{i}))
			}
			c.Close()
			require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{999}), errs.ErrNotConnected)
		},
		"the server closes": func(r *rig.Rig, c *rig.ClientEnd) {
			for _, i := range want {
				require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{i}))
			}
			r.Server.Close(errs.ReasonNone)
			require.ErrorIs(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{999}), errs.ErrNotConnected)
		},
		"the server kicks": func(r *rig.Rig, c *rig.ClientEnd) {
			for _, i := range want {
				require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{i}))
			}
			require.True(t, r.Server.Kick(1, "bye"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			got = nil
			patient := netcode.Config{FlushTimeout: 5 * time.Second} // of what is lost, one in ten is lost thrice
			r := rig.New(t, p, patient)
			c := r.Joined(p, patient)
			lossy := lossy(7, 30)
			r.Tamper = lossy
			leave(r, c)
			require.Len(t, c.Log, 1+btoi(name == "the client closes"), "its own game is told at once")
			r.Until(func() bool { return c.State() == netcode.Disconnected && len(r.Server.Log) == 2 })
			require.Equal(t, want, got)
			require.Zero(t, r.Server.Stats().FlushesCut+c.Stats().FlushesCut)
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestClosingDoesNotWaitForEver(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{FlushTimeout: 700 * time.Millisecond})
	r.Tamper = lossy(1, 100)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	c.Close()
	r.Run(600 * time.Millisecond)
	require.Equal(t, netcode.Closing, c.State())
	require.Zero(t, c.Stats().FlushesCut)
	r.Run(700 * time.Millisecond)
	require.Equal(t, netcode.Disconnected, c.State())
	require.EqualValues(t, 1, c.Stats().FlushesCut)
	r.Run(10 * time.Second)
	require.Len(t, r.Server.Log, 2, "its silence tells the server")
}

// Both ends close at once: neither waits for the other's messages, and both are told.
func TestBothCloseAtOnce(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { t.Error("handled after the end") }, netcode.Over(netcode.Reliable))
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{1}))
	c.Close()
	r.Server.Close(errs.ReasonNone)
	r.Until(func() bool { return c.Closed() && r.Server.Closed() })
	require.ErrorIs(t, c.Err(), errs.ReasonClosed)
	require.Equal(t, "disconnect 1: server is shutting down", r.Server.Log[1])
}

func TestKickFromOnConnect(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Server.OnConnect(func(id wire.ClientID) { r.Server.Kick(id, "closed today") })
	c := r.Join(p, netcode.Config{})
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	require.Equal(t, []string{"connect 1", "disconnect 1: kicked: closed today"}, r.Server.Log)
	require.ErrorIs(t, c.Err(), errs.ReasonKicked)
}

func TestCloseArrivesOverALossyLink(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	dropped := 0
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == c.Conn.LocalAddr() && dropped < 2 {
			dropped++
			return nil
		}
		return packet
	}
	c.Close()
	r.Until(c.Closed)
	require.Equal(t, []string{"connect 1", "disconnect 1: closed"}, r.Server.Log)
	require.Equal(t, 2, dropped)
}

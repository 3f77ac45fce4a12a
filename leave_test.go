package netcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// leaver is a server with one client whose messages are noted, as is when each end is told that the other is gone.
type leaver struct {
	*rig
	c    *clientEnd
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
		require.ErrorIs(t, netcode.Reply(ctx, m), netcode.ErrNotConnected, "who has closed is not answered")
	}, options...)
	l.rig = newRig(t, p, config)
	l.c = l.joined(p, config)
	l.server.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) {
		l.told = append(l.told, "server: "+reason.Error())
	})
	l.c.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) {
		l.told = append(l.told, "client: "+reason.Error())
	})
	return l
}

// What an end had accepted when the other closed in order is handled in its time, in order, and then the game is told.
func TestAcceptedMessagesAreHandledAfterAClose(t *testing.T) {
	reliable := netcode.Over(netcode.ReliableOrdered)
	t.Run("client closes", func(t *testing.T) {
		l := newLeaver(t, netcode.Config{}, reliable)
		first := l.server.Tick()
		for i := range uint32(3) {
			require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{i}, netcode.NotBefore(first+netcode.Tick(20+i))))
		}
		l.c.Close()
		l.run(500 * time.Millisecond)
		require.Equal(t, netcode.Disconnected, l.c.State(), "it need not wait for that")
		require.Equal(t, []string{"client: closed"}, l.told)
		require.ErrorIs(t, netcode.Send(l.server.Server, netcode.To(1), &chat{1}), netcode.ErrNotConnected)
		l.run(400 * time.Millisecond)
		require.Equal(t, []string{"client: closed", "0", "1", "2", "server: closed"}, l.told)
		require.Zero(t, l.server.Stats().OfTheGone)
	})
	for name, end := range map[string]struct {
		close  func(l *leaver)
		reason string
	}{
		"server closes":                {func(l *leaver) { l.server.Close(0) }, "server is shutting down"},
		"server closes for its reason": {func(l *leaver) { l.server.Close(200) }, "reason 200"},
		"server kicks: it sent to it":  {func(l *leaver) { l.server.Kick(1, "") }, "kicked"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t, netcode.Config{}, reliable)
			for i := range uint32(3) {
				require.NoError(t, netcode.Send(l.server.Server, netcode.To(1), &chat{i}, netcode.NotBefore(l.server.Tick()+20)))
			}
			end.close(l)
			l.run(300 * time.Millisecond)
			require.Equal(t, []string{"server: " + end.reason}, l.told)
			require.Equal(t, netcode.Closing, l.c.State())
			require.ErrorIs(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{9}), netcode.ErrNotConnected)
			l.run(time.Second)
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
		l.now += frameTime / 4
		s := l.server
		s.BeginFrame(l.now)
		l.receive(s.conn, s.ReceiveAfter)
		for stage := range tick.Stage(tick.NumStages) {
			if stage != tick.FixedUpdate || frame%16 == 15 {
				s.Dispatch(stage)
			}
		}
		s.Send()
		s.Drain(s.send)
		l.clientFrame(l.c)
	}
	require.Equal(t, []string{"client: closed", "1", "server: closed"}, l.told)
}

// What waits for longer than that is dropped; what is not reliable is not waited for.
func TestMessagesLeftAfterACloseAreBounded(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
	soon, late := l.server.Tick()+20, l.server.Tick()+300
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(soon)))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{2}, netcode.NotBefore(late)))
	l.c.Close()
	l.run(1900 * time.Millisecond)
	require.Equal(t, []string{"client: closed", "1"}, l.told)
	for range l.server.Clients {
		require.Fail(t, "it is none of the clients any more")
	}
	l.run(300 * time.Millisecond)
	require.Equal(t, []string{"client: closed", "1", "server: closed"}, l.told)
	require.EqualValues(t, 1, l.server.Stats().OfTheGone)
	l.run(10 * time.Second)
	require.Len(t, l.told, 3)

	l = newLeaver(t, netcode.Config{}, netcode.Over(netcode.Unreliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.server.Tick()+20)))
	l.c.Close()
	l.run(200 * time.Millisecond)
	require.Equal(t, []string{"client: closed", "server: closed"}, l.told)
}

// An end that closes itself handles nothing more.
func TestMessagesDroppedAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(l *leaver){
		"kicked":           func(l *leaver) { l.server.Kick(1, "") },
		"the server's own": func(l *leaver) { l.server.Close(0) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
			require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.server.Tick()+20)))
			l.run(200 * time.Millisecond)
			end(l)
			l.run(3 * time.Second)
			require.NotContains(t, l.told, "1")
			require.EqualValues(t, 1, l.server.Stats().OfTheGone)
		})
	}
}

// A game that has seen enough of one that is leaving ends that at once.
func TestKickOfOneThatIsLeaving(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.server.Tick()+20)))
	l.c.Close()
	l.run(300 * time.Millisecond)
	require.True(t, l.server.Kick(1, "enough"))
	require.Equal(t, []string{"client: closed", "server: kicked: enough"}, l.told)
	require.False(t, l.server.Kick(1, "again"))
	l.run(3 * time.Second)
	require.Len(t, l.told, 2)
}

// A handler that fails on a message of one that is leaving ends that too, with the same reason as else.
func TestCase15PanicOnAMessageOfOneThatIsLeaving(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.ReliableOrdered))
	for i := range uint32(3) {
		require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{12 + i}, netcode.NotBefore(l.server.Tick()+20)))
	}
	l.c.Close()
	l.run(2 * time.Second)
	require.Equal(t, []string{"client: closed", "12", "13", "server: a handler panicked: the server's handler of chat"}, l.told)
	require.Len(t, l.server.errors, 1, "the panic is told of all the same")

	l = newLeaver(t, netcode.Config{}, netcode.Over(netcode.ReliableOrdered))
	for i := range uint32(3) {
		require.NoError(t, netcode.Send(l.server.Server, netcode.To(1), &chat{12 + i}, netcode.NotBefore(l.server.Tick()+20)))
	}
	l.server.Close(0)
	l.run(2 * time.Second)
	require.Equal(t, []string{"server: server is shutting down", "12", "13", "client: a handler panicked: the client's handler of chat"}, l.told)
}

// One that is leaving keeps its place, since the game has not been told yet; its address is free for a new connection.
func TestConnectingAnewWhileTheOldOneIsLeaving(t *testing.T) {
	l := newLeaver(t, netcode.Config{Clients: 2}, netcode.Over(netcode.Reliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.server.Tick()+30)))
	l.c.Close()
	l.until(func() bool { return l.c.State() == netcode.Disconnected })
	require.NoError(t, l.c.Connect(l.server.conn.LocalAddr()))
	l.until(func() bool { return l.c.State() == netcode.Connected })
	require.Equal(t, []string{"client: closed"}, l.told, "the old one is still there")
	require.EqualValues(t, 2, l.c.ID())
	other := l.join(l.c.Protocol(), netcode.Config{})
	l.run(200 * time.Millisecond)
	require.ErrorIs(t, other.Err(), peer.ReasonFull)
	l.until(func() bool { return len(l.told) == 3 })
	require.Equal(t, []string{"client: closed", "1", "server: closed"}, l.told)
	require.NoError(t, other.Connect(l.server.conn.LocalAddr()))
	l.until(func() bool { return other.State() == netcode.Connected })
	require.Equal(t, netcode.Connected, l.c.State())
}

// The client's own game may end the wait: by Close, and by connecting anew.
func TestClosingAnEndThatHandlesTheRest(t *testing.T) {
	for name, end := range map[string]func(l *leaver){
		"Close":   func(l *leaver) { l.c.Close() },
		"Connect": func(l *leaver) { require.NoError(l.t, l.c.Connect(l.server.conn.LocalAddr())) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
			require.NoError(t, netcode.Send(l.server.Server, netcode.To(1), &chat{1}, netcode.NotBefore(l.server.Tick()+30)))
			l.server.Kick(1, "")
			l.until(func() bool { return l.c.State() == netcode.Closing })
			end(l)
			require.Equal(t, []string{"server: kicked", "client: kicked"}, l.told)
			l.run(time.Second)
			require.Len(t, l.told, 2)
			require.Equal(t, name == "Connect", l.c.State() == netcode.Connected)
		})
	}
}

// A goodbye whose acknowledgement is lost is acknowledged again, as it comes again.
func TestCloseIsAcknowledgedWhileTheRestIsHandled(t *testing.T) {
	l := newLeaver(t, netcode.Config{}, netcode.Over(netcode.Reliable))
	require.NoError(t, netcode.Send(l.c.Client, netcode.ToServer(), &chat{1}, netcode.NotBefore(l.server.Tick()+40)))
	l.run(200 * time.Millisecond)
	l.c.Close()
	cut := true
	server := l.server.conn.LocalAddr()
	l.tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == server && cut {
			return nil
		}
		return packet
	}
	l.run(150 * time.Millisecond)
	require.Equal(t, netcode.Closing, l.c.State())
	cut = false
	l.run(100 * time.Millisecond)
	require.Equal(t, netcode.Disconnected, l.c.State())
	l.until(func() bool { return len(l.told) == 3 })
}

// A host's player that leaves is handled like any other.
func TestMessagesOfAHostAreHandledAfterItLeft(t *testing.T) {
	p := protocol()
	var told []string
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) { told = append(told, fmt.Sprint(ctx.Sender, " ", m.Number)) }, netcode.Over(netcode.Reliable))
	r := newRig(t, p, netcode.Config{})
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.server.Server, c))
	r.run(100 * time.Millisecond)
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{7}, netcode.NotBefore(r.server.Tick()+10)))
	c.Close()
	require.Equal(t, netcode.Disconnected, c.State())
	require.NoError(t, netcode.Host(r.server.Server, c), "and plays again meanwhile")
	r.run(time.Second)
	require.Equal(t, []string{"1 7"}, told)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: closed"}, r.server.log)
	require.Equal(t, netcode.Connected, c.State())
}

// What a host's player sent in the very frame in which it is kicked is not handled after it is gone.
func TestKickOfAHostDropsItsMessagesOfThatFrame(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ }, netcode.AtStage(tick.Update))
	r := newRig(t, p, netcode.Config{})
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.server.Server, c))
	r.run(100 * time.Millisecond)
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{7}))
	require.True(t, r.server.Kick(c.ID(), ""))
	r.run(time.Second)
	require.Zero(t, handled)
	require.EqualValues(t, 1, r.server.Stats().OfTheGone)
}

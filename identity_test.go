package netcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/transport"
)

// keeper is a rig with a server that keeps players, and tells when they leave for good.
func keeper(t *testing.T, p *netcode.Protocol, config netcode.Config) *rig.Rig {
	r := rig.New(t, p, config)
	r.Server.OnApprove(byPayload)
	r.Server.OnLeave(func(id netcode.ClientID) { r.Server.Log = append(r.Server.Log, fmt.Sprintf("leave %d", id)) })
	return r
}

// enter lets a player connect.
func enter(r *rig.Rig, p *netcode.Protocol, name string) *rig.ClientEnd {
	r.T.Helper()
	c := joinWith(r, p, netcode.Config{SilenceTimeout: time.Hour, KeepAlive: time.Second}, name)
	r.Until(func() bool { return c.State() == netcode.Connected })
	return c
}

// kill takes the frames of a client away.
func kill(r *rig.Rig, c *rig.ClientEnd) {
	for i, one := range r.Clients {
		if one == c {
			r.Clients = append(r.Clients[:i], r.Clients[i+1:]...)
			return
		}
	}
}

func away(s *netcode.Server) (ids []netcode.ClientID) {
	s.Away(func(id netcode.ClientID) bool { ids = append(ids, id); return true })
	return ids
}

// A player that closed in order comes back under its id where the game keeps it, also while the server still handles its last messages. A
// kicked one has left for good.
func TestAPlayerThatClosedReturnsWithKeepClosed(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		p := protocol()
		netcode.Handle(p, func(*netcode.Context, *chat) {}, netcode.Over(netcode.Reliable))
		r := keeper(t, p, netcode.Config{Keep: time.Minute, KeepClosed: true, RefuseSecond: refuse})
		anna := enter(r, p, "anna")
		id := r.Spawn(1)
		r.Server.SetOwner(id, anna.ID())
		anna.Close()
		r.Run(time.Second)
		require.Equal(t, []string{"connect 1", "disconnect 1: closed"}, r.Server.Log)
		require.Equal(t, []netcode.ClientID{1}, away(r.Server.Server))
		anna = enter(r, p, "anna")
		require.EqualValues(t, 1, anna.ID())
		require.True(t, r.Server.Returned(1))
		require.EqualValues(t, 1, r.Server.Owner(id))
		require.NoError(t, netcode.Send(anna, netcode.ToServer(), &chat{}, netcode.NotBefore(r.Server.Tick()+60)))
		anna.Close()
		r.Run(200 * time.Millisecond)
		require.EqualValues(t, 1, enter(r, p, "anna").ID(), "its last message still waits")
		require.True(t, r.Server.Kick(1, "enough"))
		r.Run(time.Second)
		require.Equal(t, "leave 1", r.Server.Log[len(r.Server.Log)-1])
		bert := enter(r, p, "bert")
		bert.Close()
		r.Run(59 * time.Second)
		require.Equal(t, []netcode.ClientID{bert.ID()}, away(r.Server.Server))
		r.Run(3 * time.Second)
		require.Empty(t, away(r.Server.Server), "Keep is over")
	}
	_, err := netcode.NewServer(protocol(), netcode.Config{KeepClosed: true})
	require.ErrorContains(t, err, "KeepClosed keeps nobody without Keep")
}

// hostRig is a keeper with a client that plays at the server, and its frames.
func hostRig(t *testing.T, config netcode.Config) (r *rig.Rig, host *netcode.Client, frames func(d time.Duration)) {
	p := protocol()
	r = keeper(t, p, config)
	host, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	return r, host, func(d time.Duration) {
		for end := r.Now + d; r.Now < end; {
			r.Step()
			steps.OfClient(host).BeginFrame(r.Now)
			steps.OfClient(host).Send()
		}
	}
}

// The player of a host is asked about and has an identity, like the others. It comes back under its id, and no other client takes its place.
func TestTheHostIsAPlayerLikeTheOthers(t *testing.T) {
	r, host, frames := hostRig(t, netcode.Config{Keep: time.Minute, KeepClosed: true})
	var asked []*netcode.Approval
	r.Server.OnApprove(func(a *netcode.Approval) {
		asked = append(asked, a)
		byPayload(a)
	})
	payload := []byte("anna")
	require.NoError(t, steps.OfServer(r.Server.Server).Host(host, payload))
	require.Len(t, asked, 1)
	require.True(t, asked[0].Host)
	require.False(t, asked[0].Address.IsValid())
	require.Equal(t, payload, asked[0].Payload)
	require.Equal(t, "anna", r.Server.Identity(host.ID()))
	frames(time.Second)
	other := joinWith(r, protocol(), netcode.Config{}, "anna")
	frames(time.Second)
	require.ErrorIs(t, other.Err(), errs.ReasonAlreadyConnected)
	bert := enter(r, protocol(), "bert")
	require.False(t, asked[len(asked)-1].Host)
	host.Close()
	frames(time.Second)
	require.Equal(t, []netcode.ClientID{1}, away(r.Server.Server))
	require.NoError(t, steps.OfServer(r.Server.Server).Host(host, payload))
	require.EqualValues(t, 1, host.ID())
	require.True(t, r.Server.Returned(1))
	host.Close()
	frames(time.Second)
	require.NoError(t, steps.OfServer(r.Server.Server).Host(host, []byte("bert")), "it replaces another client")
	require.EqualValues(t, 2, host.ID())
	frames(time.Second)
	require.ErrorIs(t, bert.Err(), errs.ReasonTakenOver)
}

// A host's player is refused as the game says, at once or in a later frame.
func TestAHostIsRefusedAsTheGameSays(t *testing.T) {
	r, host, frames := hostRig(t, netcode.Config{})
	frames(100 * time.Millisecond)
	r.Server.OnApprove(func(a *netcode.Approval) { a.Refuse("not you") })
	err := netcode.Host(r.Server.Server, host)
	require.ErrorIs(t, err, errs.ErrHost)
	require.ErrorIs(t, err, errs.ReasonNotApproved)
	require.ErrorContains(t, err, "not you")
	require.Equal(t, netcode.Disconnected, host.State())
	r.Server.OnApprove(func(*netcode.Approval) { panic("broken") })
	require.ErrorIs(t, netcode.Host(r.Server.Server, host), errs.ReasonHandlerPanic)

	var later *netcode.Approval
	r.Server.OnApprove(func(a *netcode.Approval) { later = a })
	wait := func() {
		require.NoError(t, steps.OfServer(r.Server.Server).Host(host, []byte("anna")))
		frames(time.Second)
		require.Equal(t, netcode.Connecting, host.State(), "%v", host.Err())
	}
	wait()
	require.True(t, later.Accept("anna"))
	frames(100 * time.Millisecond)
	require.Equal(t, netcode.Connected, host.State())
	require.Equal(t, "anna", r.Server.Identity(host.ID()))
	host.Close()
	wait()
	require.True(t, later.Refuse("no"))
	frames(100 * time.Millisecond)
	require.ErrorIs(t, host.Err(), errs.ReasonNotApproved)
	wait()
	frames(10 * time.Second)
	require.ErrorIs(t, host.Err(), errs.ReasonNotApproved, "too late")
	require.False(t, later.Accept("anna"))
	wait()
	host.Close()
	require.False(t, later.Accept("anna"), "the client has given up")
	frames(100 * time.Millisecond)
	require.Equal(t, netcode.Disconnected, host.State())
}

// A player whose line broke comes back within Keep under its id, and owns what it owned.
func TestPlayerReturnsWithinKeep(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Minute})
	anna, bert := enter(r, p, "anna"), enter(r, p, "bert")
	id := r.Spawn(1)
	r.Server.SetOwner(id, anna.ID())
	kill(r, anna)
	r.Run(11 * time.Second)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: timed out"}, r.Server.Log)
	require.Equal(t, []netcode.ClientID{1}, away(r.Server.Server))
	require.Equal(t, "anna", r.Server.Identity(1))
	_, ok := r.Server.ClientStats(1)
	require.False(t, ok, "it is not connected")
	carl := enter(r, p, "carl")
	require.EqualValues(t, 3, carl.ID(), "not the id of who is away")

	again := enter(r, p, "anna")
	require.EqualValues(t, 1, again.ID())
	require.True(t, r.Server.Returned(1))
	require.False(t, r.Server.Returned(bert.ID()))
	require.Empty(t, away(r.Server.Server))
	require.Equal(t, again.ID(), r.Server.Owner(id))
	r.Until(func() bool { return again.Replica().Entity(id.Index).Alive })
	require.EqualValues(t, 1, r.Server.Stats().Returned)
	require.Equal(t, "connect 1", r.Server.Log[len(r.Server.Log)-1])
	r.Run(2 * time.Minute)
	require.NotContains(t, r.Server.Log, "leave 1")

	enter(r, p, "anna")
	require.Equal(t, []string{"disconnect 1: the same player connected anew", "connect 1"}, r.Server.Log[len(r.Server.Log)-2:], "who returned is connected as before")
}

func TestPlayersLeaveForGood(t *testing.T) {
	p := protocol()
	for _, test := range []struct {
		name string
		keep time.Duration
		end  func(r *rig.Rig, c *rig.ClientEnd)
		want []string
	}{
		{"without Keep", 0, func(r *rig.Rig, c *rig.ClientEnd) { kill(r, c) }, []string{"disconnect 1: timed out", "leave 1"}},
		{"when Keep is over", 5 * time.Second, func(r *rig.Rig, c *rig.ClientEnd) { kill(r, c) }, []string{"disconnect 1: timed out", "leave 1"}},
		{"that closed", time.Hour, func(_ *rig.Rig, c *rig.ClientEnd) { c.Close() }, []string{"disconnect 1: closed", "leave 1"}},
		{"that were kicked", time.Hour, func(r *rig.Rig, _ *rig.ClientEnd) { r.Server.Kick(1, "cheat") }, []string{"disconnect 1: kicked: cheat", "leave 1"}},
		{"when the server closes", time.Hour, func(r *rig.Rig, _ *rig.ClientEnd) { r.Server.Close(0) }, []string{"disconnect 1: server is shutting down", "leave 1"}},
		{"that are away and were kicked", time.Hour, func(r *rig.Rig, c *rig.ClientEnd) {
			kill(r, c)
			r.Run(11 * time.Second)
			require.True(t, r.Server.Kick(1, ""))
			require.False(t, r.Server.Kick(1, ""), "it is nobody any more")
		}, []string{"disconnect 1: timed out", "leave 1"}},
		{"that are away when the server closes", time.Hour, func(r *rig.Rig, c *rig.ClientEnd) {
			kill(r, c)
			r.Run(11 * time.Second)
			r.Server.Close(0)
		}, []string{"disconnect 1: timed out", "leave 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := keeper(t, p, netcode.Config{Keep: test.keep})
			c := enter(r, p, "anna")
			test.end(r, c)
			r.Run(20 * time.Second)
			require.Equal(t, append([]string{"connect 1"}, test.want...), r.Server.Log)
			require.Empty(t, away(r.Server.Server))
			require.Empty(t, r.Server.Identity(1))
			if !r.Server.Closed() {
				require.EqualValues(t, 2, enter(r, p, "anna").ID(), "a new player")
			}
		})
	}
}

// A client without an identity leaves with its connection.
func TestClientsWithoutIdentityLeaveAtOnce(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Hour})
	enter(r, p, "")
	enter(r, p, "")
	require.Len(t, r.Clients, 2)
	kill(r, r.Clients[0])
	r.Run(11 * time.Second)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: timed out", "leave 1"}, r.Server.Log)
}

// The second connection of a player replaces the first, which is told.
func TestSecondConnectionTakesOver(t *testing.T) {
	p := protocol()
	for _, keep := range []time.Duration{0, time.Minute} {
		r := keeper(t, p, netcode.Config{Keep: keep})
		first := enter(r, p, "anna")
		var told []bool
		r.Server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) {
			told = append(told, extend.OfServer(r.Server).Session(id) == nil)
		})
		second := enter(r, p, "anna")
		r.Run(time.Second)
		require.Equal(t, []string{"connect 1", "disconnect 1: the same player connected anew", "connect 1"}, r.Server.Log)
		require.Equal(t, []bool{true}, told, "nobody has the id in OnDisconnect")
		require.ErrorIs(t, first.Err(), errs.ReasonTakenOver)
		require.Equal(t, netcode.Connected, second.State())
		require.True(t, r.Server.Returned(1))
		require.EqualValues(t, 1, r.Server.Stats().TakenOver)
		r.Run(2 * time.Minute)
		require.Equal(t, netcode.Connected, second.State())
		require.NotContains(t, r.Server.Log, "leave 1")
		_, ok := r.Server.ClientStats(1)
		require.True(t, ok, "the close of the first takes nothing from the second")
	}
}

func TestSecondConnectionCanBeRefused(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Minute, RefuseSecond: true})
	first := enter(r, p, "anna")
	second := joinWith(r, p, netcode.Config{}, "anna")
	r.Until(func() bool { return second.Err() != nil })
	require.ErrorIs(t, second.Err(), errs.ReasonAlreadyConnected)
	require.Equal(t, netcode.Connected, first.State())
	require.EqualValues(t, 1, r.Server.Stats().RefusedSecond)
	kill(r, first)
	r.Run(11 * time.Second)
	require.EqualValues(t, 1, enter(r, p, "anna").ID(), "the first is away now")
}

// A second connection that finds no room leaves the first one as it is. The place of the first counts as free for it.
func TestSecondConnectionThatFindsNoRoom(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Clients: 2, ClientsPerAddress: 1})
	enter := func(name, at string) *rig.ClientEnd {
		c := joinWith(r, p, netcode.Config{}, name)
		rebind(r, c, transport.MustParseAddr(at))
		r.Run(2 * time.Second)
		return c
	}
	first, other := enter("ann", "192.0.2.1:1000"), enter("bob", "192.0.2.2:1000")
	second := enter("ann", "192.0.2.2:2000")
	require.ErrorIs(t, second.Err(), errs.ReasonCrowded)
	require.Equal(t, netcode.Connected, first.State(), "%v", first.Err())
	require.Equal(t, netcode.Connected, other.State(), "%v", other.Err())
	require.Zero(t, r.Server.Stats().TakenOver)

	second = enter("ann", "192.0.2.1:2000")
	require.Equal(t, netcode.Connected, second.State(), "%v", second.Err())
	require.ErrorIs(t, first.Err(), errs.ReasonTakenOver)
	require.Equal(t, netcode.Connected, other.State(), "%v", other.Err())
}

// A player has left when its client closed in order, though its messages are still handled. The next connection of the player is a
// new one beside it.
func TestPlayerThatLeavesAndComesAgainIsNew(t *testing.T) {
	p := netcode.NewProtocol()
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ }, netcode.Over(netcode.Reliable))
	r := keeper(t, p, netcode.Config{Keep: time.Minute})
	first := enter(r, p, "anna")
	require.NoError(t, netcode.Send(first, netcode.ToServer(), &chat{}, netcode.NotBefore(r.Server.Tick()+30)))
	first.Close()
	r.Run(200 * time.Millisecond)
	second := joinWith(r, p, netcode.Config{}, "anna")
	r.Until(func() bool { return second.State() == netcode.Connected })
	require.EqualValues(t, 2, second.ID())
	require.Zero(t, handled)
	r.Run(2 * time.Second)
	require.Equal(t, 1, handled)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: closed", "leave 1"}, r.Server.Log)
	require.Equal(t, "anna", r.Server.Identity(2))
	kill(r, second)
	r.Run(11 * time.Second)
	require.EqualValues(t, 2, enter(r, p, "anna").ID())
}

// At most Config.Clients players are away: of more, the first that went has left.
func TestPlayersAwayHaveALimit(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Hour, Clients: 3})
	for i := range 5 {
		kill(r, enter(r, p, fmt.Sprint(i)))
		r.Run(11 * time.Second)
	}
	require.Equal(t, []netcode.ClientID{3, 4, 5}, away(r.Server.Server))
	require.EqualValues(t, 2, r.Server.Stats().KeptFull)
	require.Contains(t, r.Server.Log, "leave 1")
	require.Contains(t, r.Server.Log, "leave 2")
	require.EqualValues(t, 6, enter(r, p, "0").ID())
	require.EqualValues(t, 3, enter(r, p, "2").ID())
}

// One network with many identities does not end the time of players from elsewhere.
func TestManyIdentitiesTakeNoTimeOfOthers(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Hour, Clients: 4})
	from := func(address, name string) {
		t.Helper()
		r.From = transport.MustParseAddr(address)
		kill(r, enter(r, p, name))
		r.Run(11 * time.Second)
	}
	from("192.0.2.1:9001", "anna")
	from("198.51.100.1:9002", "bert")
	for i := range 6 {
		from(fmt.Sprintf("203.0.113.%d:%d", 7+i%2, 9100+i), fmt.Sprint("many ", i))
	}
	require.Equal(t, []netcode.ClientID{1, 2, 7, 8}, away(r.Server.Server), "of the many the last are there")
	require.EqualValues(t, 4, r.Server.Stats().KeptFull)
	r.From = transport.MustParseAddr("192.0.2.1:9003")
	require.EqualValues(t, 1, enter(r, p, "anna").ID(), "it comes back")
	require.Equal(t, []netcode.ClientID{2, 7, 8}, away(r.Server.Server))
}

// An interest policy keeps its place for a player that is away, and forgets who left.
func TestInterestIsKeptWhileAPlayerIsAway(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: 20 * time.Second})
	rooms := interest.NewRooms()
	r.Server.SetInterest(interest.New(rooms, interest.Despawn))
	inside, outside := r.Spawn(1), r.Spawn(2)
	anna := enter(r, p, "anna")
	rooms.Add(inside, 7)
	rooms.Enter(anna.ID(), 7)
	r.Until(func() bool { return r.Server.Visible(1, inside) && !r.Server.Visible(1, outside) })
	kill(r, anna)
	r.Run(11 * time.Second)
	again := enter(r, p, "anna")
	r.Until(func() bool { return again.Replica().Entity(inside.Index).Alive })
	require.False(t, r.Server.Visible(1, outside))
	kill(r, again)
	r.Run(40 * time.Second)
	require.Contains(t, r.Server.Log, "leave 1")
	require.False(t, rooms.Exit(1, 7), "it is in no room any more")
}

// A call to a player that went away fails, and its answer reaches no later session.
func TestCallsEndWithTheSessionOfAPlayer(t *testing.T) {
	p := netcode.NewProtocol()
	answered := 0
	netcode.Answer(p, func(*netcode.Context, *chat, *health) error { answered++; return nil })
	r := keeper(t, p, netcode.Config{Keep: time.Minute})
	first := enter(r, p, "anna")
	kill(r, first)
	var told []error
	require.NoError(t, netcode.Call(t.Context(), r.Server, 1, &chat{}, func(_ *health, err error) { told = append(told, err) }, netcode.Within(time.Hour)))
	second := enter(r, p, "anna")
	require.Len(t, told, 1)
	require.ErrorIs(t, told[0], errs.ReasonTakenOver)
	r.Run(time.Second)
	require.Equal(t, netcode.Connected, second.State())
	require.Len(t, told, 1)
	require.Zero(t, answered)
}

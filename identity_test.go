package netcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// keeper is a rig with a server that keeps players, and tells when they leave for good.
func keeper(t *testing.T, p *netcode.Protocol, config netcode.Config) *rig {
	r := newRig(t, p, config)
	r.server.OnApprove(byPayload)
	r.server.OnLeave(func(id netcode.ClientID) { r.server.log = append(r.server.log, fmt.Sprintf("leave %d", id)) })
	return r
}

// enter lets a player connect.
func (r *rig) enter(p *netcode.Protocol, name string) *clientEnd {
	r.t.Helper()
	c := r.joinWith(p, netcode.Config{SilenceTimeout: time.Hour, KeepAlive: time.Second}, name)
	r.until(func() bool { return c.State() == netcode.Connected })
	return c
}

// kill takes the frames of a client away.
func (r *rig) kill(c *clientEnd) {
	for i, one := range r.clients {
		if one == c {
			r.clients = append(r.clients[:i], r.clients[i+1:]...)
			return
		}
	}
}

func away(s *netcode.Server) (ids []netcode.ClientID) {
	s.Away(func(id netcode.ClientID) bool { ids = append(ids, id); return true })
	return ids
}

// A player whose line broke comes back within Keep under its id, and owns what it owned.
func TestPlayerReturnsWithinKeep(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Minute})
	anna, bert := r.enter(p, "anna"), r.enter(p, "bert")
	id := r.spawn(1)
	r.server.SetOwner(id, anna.ID())
	r.kill(anna)
	r.run(11 * time.Second)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: timed out"}, r.server.log)
	require.Equal(t, []netcode.ClientID{1}, away(r.server.Server))
	require.Equal(t, "anna", r.server.Identity(1))
	_, ok := r.server.ClientStats(1)
	require.False(t, ok, "it is not connected")
	carl := r.enter(p, "carl")
	require.EqualValues(t, 3, carl.ID(), "not the id of who is away")

	again := r.enter(p, "anna")
	require.EqualValues(t, 1, again.ID())
	require.True(t, r.server.Returned(1))
	require.False(t, r.server.Returned(bert.ID()))
	require.Empty(t, away(r.server.Server))
	require.Equal(t, again.ID(), r.server.Owner(id))
	r.until(func() bool { return again.Replica().Entity(id.Index).Alive })
	require.EqualValues(t, 1, r.server.Stats().Returned)
	require.Equal(t, "connect 1", r.server.log[len(r.server.log)-1])
	r.run(2 * time.Minute)
	require.NotContains(t, r.server.log, "leave 1")
}

func TestPlayersLeaveForGood(t *testing.T) {
	p := protocol()
	for _, test := range []struct {
		name string
		keep time.Duration
		end  func(r *rig, c *clientEnd)
		want []string
	}{
		{"without Keep", 0, func(r *rig, c *clientEnd) { r.kill(c) }, []string{"disconnect 1: timed out", "leave 1"}},
		{"when Keep is over", 5 * time.Second, func(r *rig, c *clientEnd) { r.kill(c) }, []string{"disconnect 1: timed out", "leave 1"}},
		{"that closed", time.Hour, func(_ *rig, c *clientEnd) { c.Close() }, []string{"disconnect 1: closed", "leave 1"}},
		{"that were kicked", time.Hour, func(r *rig, _ *clientEnd) { r.server.Kick(1, "cheat") }, []string{"disconnect 1: kicked: cheat", "leave 1"}},
		{"when the server closes", time.Hour, func(r *rig, _ *clientEnd) { r.server.Close(0) }, []string{"disconnect 1: server is shutting down", "leave 1"}},
		{"that are away and were kicked", time.Hour, func(r *rig, c *clientEnd) {
			r.kill(c)
			r.run(11 * time.Second)
			require.True(t, r.server.Kick(1, ""))
			require.False(t, r.server.Kick(1, ""), "it is nobody any more")
		}, []string{"disconnect 1: timed out", "leave 1"}},
		{"that are away when the server closes", time.Hour, func(r *rig, c *clientEnd) {
			r.kill(c)
			r.run(11 * time.Second)
			r.server.Close(0)
		}, []string{"disconnect 1: timed out", "leave 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := keeper(t, p, netcode.Config{Keep: test.keep})
			c := r.enter(p, "anna")
			test.end(r, c)
			r.run(20 * time.Second)
			require.Equal(t, append([]string{"connect 1"}, test.want...), r.server.log)
			require.Empty(t, away(r.server.Server))
			require.Empty(t, r.server.Identity(1))
			if !r.server.Closed() {
				require.EqualValues(t, 2, r.enter(p, "anna").ID(), "a new player")
			}
		})
	}
}

// A client without an identity leaves with its connection.
func TestClientsWithoutIdentityLeaveAtOnce(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Hour})
	r.enter(p, "")
	r.enter(p, "")
	require.Len(t, r.clients, 2)
	r.kill(r.clients[0])
	r.run(11 * time.Second)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: timed out", "leave 1"}, r.server.log)
}

// The second connection of a player replaces the first, which is told.
func TestSecondConnectionTakesOver(t *testing.T) {
	p := protocol()
	for _, keep := range []time.Duration{0, time.Minute} {
		r := keeper(t, p, netcode.Config{Keep: keep})
		first := r.enter(p, "anna")
		var told []bool
		r.server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) {
			told = append(told, r.server.Session(id) == nil)
		})
		second := r.enter(p, "anna")
		r.run(time.Second)
		require.Equal(t, []string{"connect 1", "disconnect 1: the same player connected anew", "connect 1"}, r.server.log)
		require.Equal(t, []bool{true}, told, "nobody has the id in OnDisconnect")
		require.ErrorIs(t, first.Err(), peer.ReasonTakenOver)
		require.Equal(t, netcode.Connected, second.State())
		require.True(t, r.server.Returned(1))
		require.EqualValues(t, 1, r.server.Stats().TakenOver)
		r.run(2 * time.Minute)
		require.Equal(t, netcode.Connected, second.State())
		require.NotContains(t, r.server.log, "leave 1")
		_, ok := r.server.ClientStats(1)
		require.True(t, ok, "the close of the first takes nothing from the second")
	}
}

func TestSecondConnectionCanBeRefused(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Minute, RefuseSecond: true})
	first := r.enter(p, "anna")
	second := r.joinWith(p, netcode.Config{}, "anna")
	r.until(func() bool { return second.Err() != nil })
	require.ErrorIs(t, second.Err(), peer.ReasonAlreadyConnected)
	require.Equal(t, netcode.Connected, first.State())
	require.EqualValues(t, 1, r.server.Stats().RefusedSecond)
	r.kill(first)
	r.run(11 * time.Second)
	require.EqualValues(t, 1, r.enter(p, "anna").ID(), "the first is away now")
}

// A second connection that finds no room leaves the first one as it is. The place of the first counts as free for it.
func TestSecondConnectionThatFindsNoRoom(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Clients: 2, ClientsPerAddress: 1})
	enter := func(name, at string) *clientEnd {
		c := r.joinWith(p, netcode.Config{}, name)
		r.rebind(c, transport.MustParseAddr(at))
		r.run(2 * time.Second)
		return c
	}
	first, other := enter("ann", "192.0.2.1:1000"), enter("bob", "192.0.2.2:1000")
	second := enter("ann", "192.0.2.2:2000")
	require.ErrorIs(t, second.Err(), peer.ReasonCrowded)
	require.Equal(t, netcode.Connected, first.State(), "%v", first.Err())
	require.Equal(t, netcode.Connected, other.State(), "%v", other.Err())
	require.Zero(t, r.server.Stats().TakenOver)

	second = enter("ann", "192.0.2.1:2000")
	require.Equal(t, netcode.Connected, second.State(), "%v", second.Err())
	require.ErrorIs(t, first.Err(), peer.ReasonTakenOver)
	require.Equal(t, netcode.Connected, other.State(), "%v", other.Err())
}

// A player has left when its client closed in order, though its messages are still handled. The next connection of the player is a
// new one beside it.
func TestPlayerThatLeavesAndComesAgainIsNew(t *testing.T) {
	p := netcode.NewProtocol()
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ }, netcode.Over(netcode.Reliable))
	r := keeper(t, p, netcode.Config{Keep: time.Minute})
	first := r.enter(p, "anna")
	require.NoError(t, netcode.Send(first, netcode.ToServer(), &chat{}, netcode.NotBefore(r.server.Tick()+30)))
	first.Close()
	r.run(200 * time.Millisecond)
	second := r.joinWith(p, netcode.Config{}, "anna")
	r.until(func() bool { return second.State() == netcode.Connected })
	require.EqualValues(t, 2, second.ID())
	require.Zero(t, handled)
	r.run(2 * time.Second)
	require.Equal(t, 1, handled)
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 1: closed", "leave 1"}, r.server.log)
	require.Equal(t, "anna", r.server.Identity(2))
	r.kill(second)
	r.run(11 * time.Second)
	require.EqualValues(t, 2, r.enter(p, "anna").ID())
}

// At most Config.Clients players are away: of more, the first that went has left.
func TestPlayersAwayHaveALimit(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Hour, Clients: 3})
	for i := range 5 {
		r.kill(r.enter(p, fmt.Sprint(i)))
		r.run(11 * time.Second)
	}
	require.Equal(t, []netcode.ClientID{3, 4, 5}, away(r.server.Server))
	require.EqualValues(t, 2, r.server.Stats().KeptFull)
	require.Contains(t, r.server.log, "leave 1")
	require.Contains(t, r.server.log, "leave 2")
	require.EqualValues(t, 6, r.enter(p, "0").ID())
	require.EqualValues(t, 3, r.enter(p, "2").ID())
}

// One network with many identities does not end the time of players from elsewhere.
func TestManyIdentitiesTakeNoTimeOfOthers(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: time.Hour, Clients: 4})
	from := func(address, name string) {
		t.Helper()
		r.from = transport.MustParseAddr(address)
		r.kill(r.enter(p, name))
		r.run(11 * time.Second)
	}
	from("192.0.2.1:9001", "anna")
	from("198.51.100.1:9002", "bert")
	for i := range 6 {
		from(fmt.Sprintf("203.0.113.%d:%d", 7+i%2, 9100+i), fmt.Sprint("many ", i))
	}
	require.Equal(t, []netcode.ClientID{1, 2, 7, 8}, away(r.server.Server), "of the many the last are there")
	require.EqualValues(t, 4, r.server.Stats().KeptFull)
	r.from = transport.MustParseAddr("192.0.2.1:9003")
	require.EqualValues(t, 1, r.enter(p, "anna").ID(), "it comes back")
	require.Equal(t, []netcode.ClientID{2, 7, 8}, away(r.server.Server))
}

// An interest policy keeps its place for a player that is away, and forgets who left.
func TestInterestIsKeptWhileAPlayerIsAway(t *testing.T) {
	p := protocol()
	r := keeper(t, p, netcode.Config{Keep: 20 * time.Second})
	rooms := interest.NewRooms()
	r.server.SetInterest(interest.New(rooms, interest.Despawn))
	inside, outside := r.spawn(1), r.spawn(2)
	anna := r.enter(p, "anna")
	rooms.Add(inside, 7)
	rooms.Enter(anna.ID(), 7)
	r.until(func() bool { return r.server.Visible(1, inside) && !r.server.Visible(1, outside) })
	r.kill(anna)
	r.run(11 * time.Second)
	again := r.enter(p, "anna")
	r.until(func() bool { return again.Replica().Entity(inside.Index).Alive })
	require.False(t, r.server.Visible(1, outside))
	r.kill(again)
	r.run(40 * time.Second)
	require.Contains(t, r.server.log, "leave 1")
	require.False(t, rooms.Exit(1, 7), "it is in no room any more")
}

// A call to a player that went away fails, and its answer reaches no later session.
func TestCallsEndWithTheSessionOfAPlayer(t *testing.T) {
	p := netcode.NewProtocol()
	answered := 0
	netcode.Answer(p, func(*netcode.Context, *chat, *health) error { answered++; return nil })
	r := keeper(t, p, netcode.Config{Keep: time.Minute})
	first := r.enter(p, "anna")
	r.kill(first)
	var errs []error
	require.NoError(t, netcode.Call(t.Context(), r.server, 1, &chat{}, func(_ *health, err error) { errs = append(errs, err) }, netcode.Within(time.Hour)))
	second := r.enter(p, "anna")
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], peer.ReasonTakenOver)
	r.run(time.Second)
	require.Equal(t, netcode.Connected, second.State())
	require.Len(t, errs, 1)
	require.Zero(t, answered)
}

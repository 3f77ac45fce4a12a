package netcode_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

func TestServerRefusesWhenFull(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 1})
	first := r.Joined(p, netcode.Config{})
	second := r.Join(p, netcode.Config{})
	r.Until(func() bool { return second.State() == netcode.Disconnected })
	require.ErrorIs(t, second.Err(), errs.ReasonFull)
	require.Equal(t, []string{"disconnect 0: server is full: 1 of 1 places are taken"}, second.Log)
	require.EqualValues(t, 1, r.Server.Stats().RefusedFull)
	first.Close()
	r.Until(func() bool { return len(r.Server.Log) == 2 })
	require.NoError(t, second.Connect(r.Server.Conn.LocalAddr()))
	r.Until(func() bool { return second.State() == netcode.Connected })
	require.EqualValues(t, 2, second.ID(), "no client has the id of an earlier one")
}

func TestClientThatReconnectsIsAnother(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	id := r.Spawn(1)
	r.Sees(c, id, 1)
	old := c.Replica()
	require.NoError(t, c.Connect(r.Server.Conn.LocalAddr()))
	require.Equal(t, "disconnect 1: replaced by a new connection: Connect was called again", c.Log[1])
	r.Until(func() bool { return c.State() == netcode.Connected && len(r.Server.Log) == 3 })
	require.Equal(t, []string{
		"connect 1", "disconnect 1: replaced by a new connection: from the same address", "connect 2",
	}, r.Server.Log)
	require.NotSame(t, old, c.Replica())
	r.Sees(c, id, 1)
	require.EqualValues(t, 1, r.Server.Stats().Replaced)
}

func TestHelloThatWasHeldBackReplacesNothing(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	var hellos [][]byte
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.Server.Conn.LocalAddr() && peer.KindOf(packet) == peer.KindHello {
			hellos = append(hellos, append([]byte(nil), packet...))
		}
		return packet
	}
	c := r.Joined(p, netcode.Config{})
	earlier := len(hellos)
	require.NoError(t, c.Connect(r.Server.Conn.LocalAddr()))
	r.Until(func() bool { return c.State() == netcode.Connected && len(r.Server.Log) == 3 })
	for _, hello := range hellos[:earlier] {
		steps.OfServer(r.Server).Receive(c.Conn.LocalAddr(), hello)
	}
	r.Run(time.Second)
	require.Len(t, r.Server.Log, 3)
	for _, hello := range hellos[earlier:] {
		steps.OfServer(r.Server).Receive(c.Conn.LocalAddr(), hello)
	}
	r.Run(time.Second)
	require.Len(t, r.Server.Log, 3)
	require.Equal(t, netcode.Connected, c.State())
}

func TestSilenceEndsTheConnectionOnBothEnds(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	r.Run(15 * time.Second)
	require.Equal(t, netcode.Connected, c.State(), "keep-alives keep an idle connection")
	r.Tamper = func(_, _ transport.Addr, _ []byte) []byte { return nil }
	r.Run(9 * time.Second)
	require.Equal(t, netcode.Connected, c.State())
	r.Run(2 * time.Second)
	require.Equal(t, []string{"connect 1", "disconnect 1: timed out"}, r.Server.Log)
	require.Equal(t, []string{"connect 1", "disconnect 1: timed out"}, c.Log)
	require.EqualValues(t, 1, r.Server.Stats().SilenceTimeouts)
	require.Equal(t, netcode.Disconnected, c.State())
}

func TestStallOfTheServerIsNotSilenceOfItsClients(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	r.Now += 30 * time.Second
	r.Step()
	r.Run(time.Second)
	require.Equal(t, []string{"connect 1"}, r.Server.Log)
	require.Equal(t, netcode.Connected, c.State())
	require.Positive(t, r.Server.Stats().TicksSlipped)
}

func TestKick(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	require.False(t, r.Server.Kick(7, "who"))
	require.True(t, r.Server.Kick(1, "bad manners"))
	require.Equal(t, []string{"connect 1", "disconnect 1: kicked: bad manners"}, r.Server.Log)
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	require.ErrorIs(t, c.Err(), errs.ReasonKicked)
	require.Equal(t, "bad manners", c.Err().Detail)
	require.False(t, r.Server.Kick(1, "again"))
}

func TestEndRecordedLeavesAClientThatConnected(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	extend.OfServer(r.Server).Session(c.ID()).EndRecorded(false)
	extend.OfServer(r.Server).Session(c.ID()).EndRecorded(true)
	r.Run(time.Second)
	require.Equal(t, []string{"connect 1"}, r.Server.Log)
	require.Equal(t, netcode.Connected, c.State())
}

func TestCloseByTheClient(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	c.Close()
	require.Equal(t, netcode.Closing, c.State())
	r.Until(c.Closed)
	require.Equal(t, []string{"connect 1", "disconnect 1: closed"}, r.Server.Log)
	require.Equal(t, []string{"connect 1", "disconnect 1: closed"}, c.Log)
}

func TestCloseByTheServer(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	r.Server.Close(errs.ReasonNone)
	require.False(t, r.Server.Closed())
	late := r.Join(p, netcode.Config{})
	r.Until(func() bool { return r.Server.Closed() && c.Closed() && late.Closed() })
	require.ErrorIs(t, c.Err(), errs.ReasonShuttingDown)
	require.ErrorIs(t, late.Err(), errs.ReasonShuttingDown)
	require.Equal(t, []string{"connect 1", "disconnect 1: server is shutting down"}, r.Server.Log)
}

func TestHandshakeTimeout(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Tamper = func(_, _ transport.Addr, _ []byte) []byte { return nil }
	c := r.Join(p, netcode.Config{})
	require.Equal(t, netcode.Connecting, c.State())
	r.Run(6 * time.Second)
	require.ErrorIs(t, c.Err(), errs.ReasonHandshakeTimeout)
	require.EqualValues(t, 1, c.Stats().HandshakeTimeouts)
}

func TestResync(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	id := r.Spawn(1)
	r.Sees(c, id, 1)
	r.Until(func() bool { stats, _ := r.Server.ClientStats(1); return stats.Synced })
	c.Replica().Lose()
	r.Change(func(store *snapshot.Store) { r.Set(store, id, 2) })
	r.Sees(c, id, 2)
	require.EqualValues(t, 1, r.Server.Stats().Resyncs)
	require.Equal(t, netcode.Connected, c.State())
	r.Until(func() bool { _, want := c.Replica().WantResync(); return !want })
	c.Replica().Lose()
	r.Change(func(store *snapshot.Store) { r.Set(store, id, 3) })
	r.Sees(c, id, 3)
	require.EqualValues(t, 2, r.Server.Stats().Resyncs)
	require.Positive(t, r.Server.Stats().ResyncsDeferred, "at most one in two seconds")
}

func TestClientsAndTheirStats(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.Joined(p, netcode.Config{})
	r.Joined(p, netcode.Config{})
	var ids []wire.ClientID
	for id := range r.Server.Clients {
		ids = append(ids, id)
	}
	require.Equal(t, []wire.ClientID{1, 2}, ids)
	for id := range r.Server.Clients {
		ids = ids[:0]
		require.EqualValues(t, 1, id)
		break
	}
	_, ok := r.Server.ClientStats(3)
	require.False(t, ok)
	require.Positive(t, r.Server.Stats().Packets.Received)
	require.EqualValues(t, 2, r.Server.Stats().Connected)
}

func TestServerMayBeNamedByAMappedAddress(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	c := r.Join(p, netcode.Config{})
	at := r.Server.Conn.LocalAddr()
	require.NoError(t, c.Connect(transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom16(at.IP.Addr().As16()), at.IP.Port()))))
	r.Until(func() bool { return c.State() == netcode.Connected })
}

// Of two that come in at once for one place, the second is told when it joins.
func TestTheLastPlaceGoesToTheFirstToJoin(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 1})
	first, second := r.Join(p, netcode.Config{}), r.Join(p, netcode.Config{})
	r.Until(func() bool {
		return first.State() == netcode.Disconnected || second.State() == netcode.Disconnected
	})
	loser := first
	if second.State() == netcode.Disconnected {
		loser = second
	}
	require.ErrorIs(t, loser.Err(), errs.ReasonFull)
	require.Equal(t, []string{"connect 1"}, r.Server.Log[:1])
	require.Len(t, r.Server.Log, 1)
	require.EqualValues(t, 1, r.Server.Stats().RefusedFull)
}

func TestConnectingElsewhereTellsTheServer(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	require.NoError(t, c.Connect(transport.MustParseAddr("127.0.0.1:9")))
	r.Until(func() bool { return len(r.Server.Log) == 2 })
	require.Equal(t, "disconnect 1: closed", r.Server.Log[1])
}

func TestGoodbyesAreBounded(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 400})
	for range 300 {
		r.Joined(p, netcode.Config{SentPackets: 64, Entities: 1})
	}
	r.Tamper = func(transport.Addr, transport.Addr, []byte) []byte { return nil }
	r.Server.Close(errs.ReasonNone)
	require.EqualValues(t, 300-256, r.Server.Stats().LingeringFull)
	r.Until(r.Server.Closed)
	require.Len(t, r.Server.Log, 600)
}

func TestConnectRefusesBadAddresses(t *testing.T) {
	c, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	require.Error(t, c.Connect(transport.Addr{}))
	require.Error(t, c.Connect(transport.MustParseAddr("127.0.0.1:0")))
	require.Equal(t, netcode.Disconnected, c.State())
}

// The clock of a game may stand anywhere when it connects.
func TestConnectingTakesItsTimeFromTheFirstFrame(t *testing.T) {
	c, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Connect(transport.MustParseAddr("127.0.0.1:9")))
	for _, now := range []time.Duration{time.Hour, time.Hour + 4*time.Second} {
		steps.OfClient(c).BeginFrame(now)
		steps.OfClient(c).Send()
		require.Equal(t, netcode.Connecting, c.State())
	}
	for now := time.Hour + 4*time.Second; now < time.Hour+10*time.Second; now += time.Second / 2 {
		steps.OfClient(c).BeginFrame(now)
		steps.OfClient(c).Send()
	}
	require.Equal(t, netcode.Disconnected, c.State())
	require.ErrorContains(t, c.Err(), "no answer from 127.0.0.1:9 in 5s")
}

func TestAKeepAliveLongerThanTheSilenceIsRefused(t *testing.T) {
	_, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{KeepAlive: 20 * time.Second})
	require.ErrorContains(t, err, "KeepAlive")
}

// 131072 entities in some 118 kB of snapshots: a client ends the connection at MaxEntities, and the server is told why.
func TestClientEndsTheConnectionAtMaxEntities(t *testing.T) {
	const many = 1 << 17
	p := protocol()
	r := rig.New(t, p, netcode.Config{SendBudget: -1, MaxEntities: 1 << 18})
	r.Change(func(s *snapshot.Store) {
		for range many {
			s.Spawn()
		}
	})
	before := alloctest.Heap(t)
	c := r.Join(p, netcode.Config{SendBudget: -1})
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	require.ErrorIs(t, c.Err(), errs.ReasonTooManyEntities)
	require.ErrorContains(t, c.Err(), "Config.MaxEntities of the client, 65536")
	require.EqualValues(t, 1, c.Stats().TooManyEntities)
	require.Zero(t, c.Stats().Malformed)
	require.LessOrEqual(t, c.Replica().Len(), 1<<16)
	require.Contains(t, r.Server.Log[len(r.Server.Log)-1], "more entities than Config.MaxEntities")
	const each = 400 // bytes, of Replica
	require.Less(t, alloctest.Heap(t)-before, each<<16)

	more := r.Join(p, netcode.Config{SendBudget: -1, MaxEntities: many})
	r.Until(func() bool { return more.Replica() != nil && more.Replica().Len() == many })
	require.Equal(t, netcode.Connected, more.State())
}

func TestServerSpawnsNoMoreThanMaxEntities(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{MaxEntities: 100, Entities: 10})
	r.Change(func(s *snapshot.Store) {
		for range 100 {
			require.False(t, s.Spawn().IsZero())
		}
		require.True(t, s.Spawn().IsZero())
	})
	require.EqualValues(t, 1, r.Server.Stats().EntitiesRefused)
	_, err := netcode.NewServer(p, netcode.Config{MaxEntities: 100, Entities: 101})
	require.ErrorContains(t, err, "Config.Entities is 101: it must be 1 to 100")
	_, err = netcode.NewServer(p, netcode.Config{Entities: 1 << 17})
	require.NoError(t, err, "room for so many says that so many may come")
}

func TestHideAndShow(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	id := r.Spawn(1)
	r.Sees(c, id, 1)
	require.True(t, r.Server.Visible(1, id))
	require.True(t, r.Server.Hide(1, id))
	r.Until(func() bool { _, alive := r.X(c, id); return !alive })
	require.False(t, r.Server.Visible(1, id))
	require.True(t, r.Server.Show(1, id))
	r.Sees(c, id, 1)
	require.False(t, r.Server.Hide(9, id))
	require.False(t, r.Server.Show(9, id))
}

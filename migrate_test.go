package netcode_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// rebind gives a client another address. An invalid one is chosen by the network.
func rebind(r *rig.Rig, c *rig.ClientEnd, to transport.Addr) {
	next, err := r.Network.Listen(to)
	require.NoError(r.T, err)
	require.NoError(r.T, c.Conn.Close())
	c.Conn, c.Out = next, r.Sender(next)
}

// mover is a rig with one client and an entity that moves each tick, so that there is always something to show.
func mover(t *testing.T, config netcode.Config) (r *rig.Rig, c *rig.ClientEnd, shows func() float32) {
	p := protocol()
	r = rig.New(t, p, config)
	c = r.Joined(p, netcode.Config{})
	id, x := r.Spawn(0), float32(0)
	r.Server.Game = func(store *snapshot.Store) { x++; r.Set(store, id, x) }
	r.Run(time.Second)
	return r, c, func() float32 { x, _ := r.X(c, id); return x }
}

// tapped collects the datagrams of a kind that cross the network.
func tapped(r *rig.Rig, kind peer.Kind) *[][]byte {
	all, before := &[][]byte{}, r.Tamper
	r.Tamper = func(from, to transport.Addr, packet []byte) []byte {
		if before != nil {
			packet = before(from, to, packet)
		}
		if packet != nil && peer.KindOf(packet) == kind {
			*all = append(*all, append([]byte(nil), packet...))
		}
		return packet
	}
	return all
}

// A client whose address changes goes on with its session: it has its id and its world, the game is told once, and what was known of
// the old path is forgotten.
func TestAClientThatMovesKeepsItsSession(t *testing.T) {
	r, c, shows := mover(t, netcode.Config{})
	type move struct {
		client   netcode.ClientID
		from, to transport.Addr
	}
	var moves []move
	r.Server.OnMigrate(func(client netcode.ClientID, from, to transport.Addr) { moves = append(moves, move{client, from, to}) })
	from := c.Conn.LocalAddr()
	rebind(r, c, transport.Addr{})
	before, since := shows(), r.Now
	r.Until(func() bool { return shows() > before })
	require.LessOrEqual(t, r.Now-since, time.Second)
	stats, _ := r.Server.ClientStats(1)
	require.Equal(t, c.Conn.LocalAddr(), stats.Address)
	require.Zero(t, stats.RTT, "that of another path")
	require.Equal(t, []move{{1, from, c.Conn.LocalAddr()}}, moves)
	require.Equal(t, []string{"connect 1"}, r.Server.Log)
	require.Equal(t, []string{"connect 1"}, c.Log)
	r.Run(time.Second)
	require.EqualValues(t, 1, r.Server.Stats().Migrated)
	require.EqualValues(t, 1, c.Stats().Migrated)
	stats, _ = r.Server.ClientStats(1)
	require.NotZero(t, stats.RTT, "it is measured anew")
	require.True(t, stats.Unacked <= 1, "acknowledgements go on")
	resumes := c.Stats().Resumes
	r.Run(5 * time.Second)
	require.Equal(t, resumes, c.Stats().Resumes, "a client that hears its server is silent about it")
}

// A world at rest is heard of each Pulse: nobody resumes, whatever the tick rate.
func TestAQuietWorldIsNoSilence(t *testing.T) {
	for _, config := range []netcode.Config{{}, {TickRate: 1}, {TickRate: 4}, {Pulse: 2 * time.Second, KeepAlive: 2 * time.Second}} {
		p := protocol()
		r := rig.New(t, p, config)
		c := r.Joined(p, netcode.Config{Pulse: config.Pulse, KeepAlive: config.KeepAlive})
		r.Run(10 * time.Second)
		before := c.Stats().Resumes
		r.Run(10 * time.Second)
		require.Equal(t, before, c.Stats().Resumes, "%+v", config)
	}
}

// The server answers a Resume by the state of its session.
func TestServerAnswersResume(t *testing.T) {
	const nothing = peer.KindUnknown
	stranger := transport.MustParseAddr("127.0.0.1:7777")
	for _, c := range []struct {
		name   string
		before func(r *rig.Rig, th *rig.Thief)
		change func(v *peer.Resume)
		spoil  bool
		from   transport.Addr
		answer peer.Kind
		reason errs.Reason
		counts func(s netcode.Stats) uint64
	}{
		{name: "another address", answer: peer.KindChallenge, counts: func(s netcode.Stats) uint64 { return s.Challenges - 1 }},
		{name: "its own address", from: transport.MustParseAddr("127.0.0.1:6666"), answer: peer.KindPacket, counts: func(s netcode.Stats) uint64 { return s.Resumes }},
		{name: "a cookie that the server never made", change: func(v *peer.Resume) { v.Cookie[3] = 1 }, answer: peer.KindChallenge},
		{name: "another client id", change: func(v *peer.Resume) { v.Client = 77 }, answer: peer.KindReset, reason: errs.ReasonReset, counts: func(s netcode.Stats) uint64 { return s.Resets }},
		{name: "another nonce", change: func(v *peer.Resume) { v.Nonce++ }, answer: peer.KindReset, reason: errs.ReasonReset},
		{name: "a checksum of another session", spoil: true, answer: nothing, counts: func(s netcode.Stats) uint64 { return s.BadHandshakes }},
		{name: "a kicked client", before: func(r *rig.Rig, _ *rig.Thief) { r.Server.Kick(1, "") }, answer: peer.KindReset, reason: errs.ReasonKicked},
		{
			name: "a kicked client, at the address that is told", from: transport.MustParseAddr("127.0.0.1:6666"),
			before: func(r *rig.Rig, _ *rig.Thief) { r.Server.Kick(1, ""); r.Step() }, answer: nothing,
		},
		{name: "a server that closes", before: func(r *rig.Rig, _ *rig.Thief) { r.Server.Close(errs.ReasonNone) }, answer: peer.KindReset, reason: errs.ReasonShuttingDown},
		{
			name: "a client that was silent for too long", before: func(r *rig.Rig, _ *rig.Thief) { r.Run(12 * time.Second) },
			answer: peer.KindReset, reason: errs.ReasonTimeout,
		},
		{name: "a client that leaves", before: func(r *rig.Rig, th *rig.Thief) {
			th.Post(&peer.Post{Type: 16, Channel: wire.NewChannel(wire.Reliable, 0), Stage: 6, Flags: wire.FlagTick, Tick: 60}, []byte{1, 0, 0, 0})
			th.Send(wire.MessageClose, 0, []byte{byte(errs.ReasonClosed)})
		}, answer: nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := protocol()
			netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
			r := rig.New(t, p, netcode.Config{})
			th := rig.NewThief(r, p)
			r.Step()
			if c.before != nil {
				c.before(r, th)
			}
			ear, from := th.Socket, c.from
			if !from.IsValid() {
				from = stranger
				var err error
				ear, err = r.Network.Listen(from)
				require.NoError(t, err)
			}
			for n := 1; n > 0; { // What came before.
				n, _, _ = ear.Receive(r.Buf[:])
			}
			v := peer.Resume{Client: 1, Nonce: 0x7411EF, Path: 5, Number: 1}
			if c.change != nil {
				c.change(&v)
			}
			check := th.Check
			if c.spoil {
				check = ^check
			}
			datagram := peer.AppendResume(nil, v, check)
			steps.OfServer(r.Server).Receive(from, datagram)
			steps.OfServer(r.Server).BeginFrame(r.Now)
			steps.OfServer(r.Server).Drain(r.Server.Out)
			n, _, err := ear.Receive(r.Buf[:])
			require.NoError(t, err)
			if c.answer == peer.KindPacket { // It comes with the next tick.
				require.Zero(t, n)
				r.Run(100 * time.Millisecond)
				n, _, _ = ear.Receive(r.Buf[:])
			}
			require.Equal(t, c.answer, peer.KindOf(r.Buf[:n]))
			if c.answer != peer.KindPacket {
				require.Less(t, n, len(datagram), "no answer is longer than its question")
			}
			if c.answer == peer.KindReset {
				reset, err := peer.ParseReset(r.Buf[:n])
				require.NoError(t, err)
				require.Equal(t, c.reason, reset.Reason)
				require.EqualValues(t, 5, reset.Path)
			}
			if c.counts != nil {
				require.EqualValues(t, 1, c.counts(r.Server.Stats()))
			}
			require.Zero(t, r.Server.Stats().Migrated)
		})
	}
}

// A Resume that comes again moves nothing: neither from the old address after the move, nor one that was held back while a
// later one moved the session.
func TestAnOldResumeMovesNothing(t *testing.T) {
	r, c, shows := mover(t, netcode.Config{})
	resumes := tapped(r, peer.KindResume)
	var where []transport.Addr
	r.Server.OnMigrate(func(_ netcode.ClientID, _, to transport.Addr) { where = append(where, to) })
	first := c.Conn.LocalAddr()
	for range 2 {
		rebind(r, c, transport.Addr{})
		before := shows()
		r.Until(func() bool { return shows() > before })
	}
	require.Len(t, where, 2)
	for _, from := range []transport.Addr{first, where[0], where[1]} {
		for _, old := range *resumes { // Their cookies are still good.
			steps.OfServer(r.Server).Receive(from, old)
			r.Step()
		}
	}
	require.Len(t, where, 2)
	stats, _ := r.Server.ClientStats(1)
	require.Equal(t, where[1], stats.Address)
	require.Positive(t, r.Server.Stats().ResumesOld)
	require.Equal(t, netcode.Connected, c.State())
}

// Someone who copies each datagram of a client and sends it from an address of its own gets no session: the cookie goes to the
// address that it names, and a Resume with it needs the checksum of the session.
func TestACopiedResumeTakesNoSession(t *testing.T) {
	r, c, shows := mover(t, netcode.Config{})
	thief := transport.MustParseAddr("127.0.0.1:6666")
	ear, err := r.Network.Listen(thief)
	require.NoError(t, err)
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.Server.Conn.LocalAddr() {
			require.NoError(t, ear.Send(to, packet))
		}
		return packet
	}
	rebind(r, c, transport.Addr{})
	before := shows()
	r.Until(func() bool { return shows() > before })
	r.Run(time.Second)
	stats, _ := r.Server.ClientStats(1)
	require.Equal(t, c.Conn.LocalAddr(), stats.Address)
	got := 0
	for {
		n, _, _ := ear.Receive(r.Buf[:])
		if n == 0 {
			break
		}
		got++
		require.Equal(t, peer.KindChallenge, peer.KindOf(r.Buf[:n]), "nothing of the game reaches it")
	}
	require.Positive(t, got)
	require.EqualValues(t, 1, r.Server.Stats().Migrated)
}

// A session whose user the transport proved at its Join moves only to where the transport proves the same one, even for somebody who
// has all of the session's secrets: each WebSocket has an address of its own, so that nothing else stands in his way.
func TestAResumeMovesNoSessionToAnotherUser(t *testing.T) {
	connection := func(n uint64) transport.Addr {
		return transport.Addr{IP: transport.MustParseAddr("198.51.100.7:4000").IP, Key: n}
	}
	for name, row := range map[string]struct {
		joined, there string // The users that are proved; empty: none.
		moves         bool
	}{
		"the same user":              {"ada", "ada", true},
		"another user":               {"ada", "mallory", false},
		"nobody":                     {"ada", "", false},
		"a session without a user":   {"", "mallory", false},
		"a transport without proofs": {"", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			r := rig.New(t, p, netcode.Config{})
			proofs := prover{}
			steps.OfServer(r.Server).SetProver(proofs)
			r.Server.OnApprove(func(a *netcode.Approval) { a.Accept(a.User) })
			prove := func(at transport.Addr, user string) {
				if user != "" {
					proofs[at] = user
				}
			}
			prove(connection(1), row.joined)
			prove(connection(2), row.there)
			c := r.Join(p, netcode.Config{})
			rebind(r, c, connection(1))
			r.Until(func() bool { return c.State() == netcode.Connected })
			id, x := r.Spawn(0), float32(0)
			r.Server.Game = func(store *snapshot.Store) { x++; r.Set(store, id, x) }
			r.Run(time.Second)
			rebind(r, c, connection(2))
			before, _ := r.X(c, id)
			r.Run(2 * time.Second)
			after, _ := r.X(c, id)
			require.Equal(t, row.moves, after > before)
			stats, _ := r.Server.ClientStats(1)
			if row.moves {
				require.Equal(t, connection(2), stats.Address)
				return
			}
			require.Equal(t, connection(1), stats.Address)
			require.Equal(t, row.joined, r.Server.Identity(1))
			require.ErrorIs(t, c.Err(), errs.ReasonReset, "it is told to join anew")
			require.Positive(t, r.Server.Stats().ResumesForeign)
			require.Zero(t, r.Server.Stats().Migrated)
		})
	}
}

// A session that lost its address to another is found by it again when that one moves on.
func TestAnAddressFallsBackToTheSessionThatHadIt(t *testing.T) {
	r, a, _ := mover(t, netcode.Config{})
	b := r.Joined(protocol(), netcode.Config{})
	atB := b.Conn.LocalAddr()
	require.NoError(t, b.Conn.Close())
	b.Out = func(transport.Addr, []byte) {}
	r.Clients = r.Clients[:1]
	rebind(r, a, atB)
	r.Run(time.Second)
	rebind(r, a, transport.Addr{})
	b.Conn, _ = r.Network.Listen(atB)
	b.Out = r.Sender(b.Conn)
	r.Clients = append(r.Clients, b)
	r.Run(12 * time.Second)
	require.EqualValues(t, 2, r.Server.Stats().Migrated, "b has its address, and needs no Resume")
	require.Equal(t, []string{"connect 1", "connect 2"}, r.Server.Log)
}

// A session takes its place along: the limit of an address holds where it goes, and its own place is never in its way.
func TestAMoveKeepsToThePlacesOfAnAddress(t *testing.T) {
	at := func(text string) transport.Addr { return transport.MustParseAddr(text) }
	p := protocol()
	r := rig.New(t, p, netcode.Config{ClientsPerAddress: 1})
	a, b := r.Join(p, netcode.Config{}), r.Join(p, netcode.Config{})
	rebind(r, a, at("192.0.2.1:1000"))
	rebind(r, b, at("192.0.2.2:1000"))
	r.Until(func() bool { return len(r.Server.Log) == 2 })
	rebind(r, a, at("192.0.2.1:2000"))
	r.Run(time.Second)
	require.EqualValues(t, 1, r.Server.Stats().Migrated, "another port of the same address")
	rebind(r, a, at("192.0.2.2:2000"))
	r.Run(3 * time.Second)
	require.EqualValues(t, 1, r.Server.Stats().Migrated)
	require.Positive(t, r.Server.Stats().RefusedAddress)
	require.Equal(t, netcode.Connected, a.State(), "the place may become free")
	b.Close()
	r.Run(2 * time.Second)
	require.EqualValues(t, 2, r.Server.Stats().Migrated, "and did")
	require.Equal(t, netcode.Connected, a.State())
	c := r.Join(p, netcode.Config{})
	rebind(r, c, at("192.0.2.1:1000"))
	r.Run(time.Second)
	require.Equal(t, netcode.Connected, c.State(), "the place at the old address is free")
	rebind(r, a, at("192.0.2.1:3000"))
	r.Run(12 * time.Second)
	require.ErrorIs(t, a.Err(), errs.ReasonCrowded, "it says why it ended")
}

// restart replaces the server by one that knows nobody.
func restart(r *rig.Rig, p *netcode.Protocol, config netcode.Config) {
	config.Random = rig.Random(99)
	s, err := netcode.NewServer(p, config)
	require.NoError(r.T, err)
	conn, out := r.Server.Conn, r.Server.Out
	r.Server = &rig.ServerEnd{Server: s, Conn: conn, Out: out}
}

// The client of a server that was restarted is told, with the key of before at once, and without it half a second after it heard the
// last. It rejoins by itself if it is to.
func TestAClientIsToldOfARestart(t *testing.T) {
	key := [32]byte{1, 2, 3}
	for _, c := range []struct {
		name          string
		before, after [32]byte
		within        time.Duration
		waits         bool
	}{
		{"the same key", key, key, 400 * time.Millisecond, false},
		{"another key", key, [32]byte{9}, 700 * time.Millisecond, true},
		{"no key", [32]byte{}, [32]byte{}, 700 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := protocol()
			r := rig.New(t, p, netcode.Config{ResetKey: c.before})
			stays, rejoins := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{Rejoin: true})
			r.Run(time.Second)
			restart(r, p, netcode.Config{ResetKey: c.after})
			since := r.Now
			r.Until(func() bool { return stays.State() == netcode.Disconnected })
			require.LessOrEqual(t, r.Now-since, c.within)
			require.ErrorIs(t, stays.Err(), errs.ReasonReset)
			require.Equal(t, c.waits, stays.Stats().ResetsWaited > 0)
			require.EqualValues(t, 1, stays.Stats().Resets)
			r.Run(time.Second)
			require.Equal(t, netcode.Connected, rejoins.State(), "%v", rejoins.Log)
			require.Equal(t, []string{"connect 2", "disconnect 2: the server does not know the session any more", "connect 1"}, rejoins.Log)
			require.Equal(t, netcode.Disconnected, stays.State(), "it is the game's to say")
		})
	}
}

// A client that rejoins gives the server what it gave it before.
func TestRejoinKeepsThePayload(t *testing.T) {
	key := [32]byte{7}
	p := protocol()
	r := rig.New(t, p, netcode.Config{ResetKey: key})
	c := joinWith(r, p, netcode.Config{Rejoin: true}, "ann")
	r.Until(func() bool { return c.State() == netcode.Connected })
	r.Run(time.Second)
	restart(r, p, netcode.Config{ResetKey: key})
	r.Server.OnApprove(func(a *netcode.Approval) {
		if len(a.Payload) == 0 {
			a.Refuse("no ticket")
			return
		}
		a.Accept(string(a.Payload))
	})
	r.Run(2 * time.Second)
	require.Equal(t, netcode.Connected, c.State(), "%v", c.Err())
}

// With Rejoin, what a game does in OnDisconnect counts: an attempt of its own is the only one.
func TestRejoinAndAGameThatConnectsAgain(t *testing.T) {
	key := [32]byte{7}
	p := protocol()
	r := rig.New(t, p, netcode.Config{ResetKey: key})
	c := joinWith(r, p, netcode.Config{Rejoin: true}, "ann")
	n := 0
	r.Until(func() bool { return c.State() == netcode.Connected })
	c.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) {
		if n++; n < 1000 { // Without this bound it never ends.
			_ = c.ConnectWith(r.Server.Conn.LocalAddr(), []byte("ann"))
		}
	})
	r.Run(time.Second)
	restart(r, p, netcode.Config{ResetKey: key})
	r.Run(2 * time.Second)
	require.Equal(t, 1, n)
	require.Equal(t, netcode.Connected, c.State(), "%v", c.Err())
}

// Close in OnDisconnect says that the client is not to rejoin.
func TestCloseInOnDisconnectStopsRejoin(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{Rejoin: true})
	c.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { c.Close() })
	r.Run(time.Second)
	restart(r, p, netcode.Config{})
	r.Run(2 * time.Second)
	require.Equal(t, netcode.Disconnected, c.State())
	require.ErrorIs(t, c.Err(), errs.ReasonReset)
}

// A Reset counts for a client that asked, with the number of its question, and with the token of its session unless the server is silent
// for long. What anyone off the path can send ends nothing.
func TestAForgedResetEndsNothing(t *testing.T) {
	r, c, shows := mover(t, netcode.Config{})
	server := r.Server.Conn.LocalAddr()
	give := func(v peer.Reset) { steps.OfClient(c).Receive(server, peer.AppendReset(nil, v)) }
	give(peer.Reset{Reason: errs.ReasonReset})
	give(peer.Reset{Path: 1, Reason: errs.ReasonReset})
	require.Equal(t, netcode.Connected, c.State(), "it did not ask")
	require.EqualValues(t, 2, c.Stats().BadHandshakes)

	path, nonce, mute := uint64(0), uint64(0), true
	r.Tamper = func(from, to transport.Addr, packet []byte) []byte {
		if v, err := peer.ParseResume(packet); err == nil {
			path, nonce = v.Path, v.Nonce
		}
		if from == server && mute {
			return nil
		}
		return packet
	}
	r.Until(func() bool { return path != 0 })
	give(peer.Reset{Client: c.ID(), Nonce: nonce, Path: path + 1, Reason: errs.ReasonReset})
	give(peer.Reset{Client: c.ID() + 1, Nonce: nonce, Path: path, Reason: errs.ReasonReset})
	give(peer.Reset{Client: c.ID(), Nonce: nonce + 1, Path: path, Reason: errs.ReasonReset})
	require.EqualValues(t, 5, c.Stats().BadHandshakes, "answers to other questions")
	give(peer.Reset{Client: c.ID(), Nonce: nonce, Path: path, Reason: errs.ReasonReset})
	require.Equal(t, netcode.Connected, c.State(), "the server was silent for too short a time to believe one without the token")
	require.EqualValues(t, 1, c.Stats().ResetsWaited)
	mute = false
	before := shows()
	r.Until(func() bool { return shows() > before })
	give(peer.Reset{Client: c.ID(), Nonce: nonce, Path: path, Reason: errs.ReasonReset})
	require.Equal(t, netcode.Connected, c.State(), "the question is over: the server is heard")
	require.EqualValues(t, 6, c.Stats().BadHandshakes)
}

// Resets are limited as every other answer, and none answers a Reset: there is no loop.
func TestResetsAreLimited(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{HandshakesPerAddress: 10})
	from := transport.MustParseAddr("192.0.2.1:1000")
	ear, err := r.Network.Listen(from)
	require.NoError(t, err)
	for n := range uint32(1000) {
		steps.OfServer(r.Server).Receive(from, peer.AppendResume(nil, peer.Resume{Client: 1, Nonce: 1, Path: 1, Number: n + 1}, 0))
	}
	r.Step()
	resets := 0
	for {
		n, _, _ := ear.Receive(r.Buf[:])
		if n == 0 {
			break
		}
		if peer.KindOf(r.Buf[:n]) == peer.KindReset {
			resets++
			steps.OfServer(r.Server).Receive(from, r.Buf[:n])
		}
	}
	require.Equal(t, 10, resets)
	require.EqualValues(t, 990, r.Server.Stats().BusyAddress)
	require.EqualValues(t, 10, r.Server.Stats().BadHandshakes)
	r.Step()
	n, _, _ := ear.Receive(r.Buf[:])
	require.Zero(t, n, "a Reset is not answered")
}

// A host's player has no address and no packets, so it has no session that anyone could resume.
func TestNobodyResumesAHost(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	h, err := netcode.NewClient(p, netcode.Config{Random: rig.Random(9)})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.Server.Server, h))
	r.Step()
	from := transport.MustParseAddr("127.0.0.1:7777")
	ear, err := r.Network.Listen(from)
	require.NoError(t, err)
	for epoch := range uint32(3) {
		steps.OfServer(r.Server).Receive(from, peer.AppendResume(nil, peer.Resume{Client: h.ID(), Path: 1, Number: 1}, wire.NewChecksum(epoch, p.Hash())))
	}
	r.Step()
	n, _, _ := ear.Receive(r.Buf[:])
	require.Equal(t, peer.KindReset, peer.KindOf(r.Buf[:n]))
	require.Zero(t, r.Server.Stats().Migrated)
	require.Equal(t, netcode.Connected, h.State())
}

// A game that connects again in the frame in which it was refused has its whole time for that, however late it is on its clock.
func TestConnectWithinTheFrameOfARefusal(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 1})
	first := r.Joined(p, netcode.Config{})
	c, tries := r.Join(p, netcode.Config{}), 0
	c.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
		require.ErrorIs(t, reason, errs.ReasonFull)
		if tries++; tries == 5 {
			first.Close()
		}
		require.NoError(t, c.Connect(r.Server.Conn.LocalAddr()))
	})
	r.Run(2 * time.Second)
	require.Equal(t, netcode.Connected, c.State())
}

// nat is a relay of real sockets between one client and a server, which gives the client another port when it is told to.
type nat struct {
	t      *testing.T
	inside *net.UDPConn
	server *net.UDPAddr

	mu      sync.Mutex
	client  *net.UDPAddr
	outside *net.UDPConn
}

func newNAT(t *testing.T, server transport.Addr) *nat {
	n := &nat{t: t, inside: loopback(t), server: net.UDPAddrFromAddrPort(server.IP)}
	n.rebind()
	go func() {
		for buf := make([]byte, 2048); ; {
			size, from, err := n.inside.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			n.client = from
			_, _ = n.outside.WriteToUDP(buf[:size], n.server)
			n.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = n.outside.Close()
	})
	return n
}

func loopback(t *testing.T) *net.UDPConn {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// rebind opens another port towards the server. The old one is gone.
func (n *nat) rebind() {
	next := loopback(n.t)
	n.mu.Lock()
	if n.outside != nil {
		_ = n.outside.Close()
	}
	n.outside = next
	n.mu.Unlock()
	go func() {
		for buf := make([]byte, 2048); ; {
			size, _, err := next.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			if n.client != nil {
				_, _ = n.inside.WriteToUDP(buf[:size], n.client)
			}
			n.mu.Unlock()
		}
	}()
}

// live is a server and a client over real sockets, in real time.
type live struct {
	t      *testing.T
	began  time.Time
	server *netcode.Server
	client *netcode.Client
	here   *udp.Conn
	there  *udp.Conn
	x      float32
	body   netcode.NetworkID
}

func newLive(t *testing.T, p *netcode.Protocol) *live {
	l := &live{t: t, began: time.Now()}
	var err error
	l.here, err = udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	l.there, err = udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = l.here.Close(), l.there.Close() })
	l.serve(p, netcode.Config{ResetKey: [32]byte{5}, SilenceTimeout: time.Minute})
	l.client, err = netcode.NewClient(p, netcode.Config{Rejoin: true, HandshakeTimeout: time.Minute, SilenceTimeout: time.Minute})
	require.NoError(t, err)
	return l
}

// serve starts a server that knows nobody.
func (l *live) serve(p *netcode.Protocol, config netcode.Config) {
	var err error
	l.server, err = netcode.NewServer(p, config)
	require.NoError(l.t, err)
	l.body = netcode.NetworkID{}
}

func (l *live) frame() {
	time.Sleep(time.Millisecond)
	now, buf := time.Since(l.began), make([]byte, 2048)
	steps.OfServer(l.server).BeginFrame(now)
	steps.OfClient(l.client).BeginFrame(now)
	for _, end := range []struct {
		socket *udp.Conn
		take   func(transport.Addr, []byte)
	}{{l.here, steps.OfServer(l.server).Receive}, {l.there, steps.OfClient(l.client).Receive}} {
		for n, from, _ := end.socket.Receive(buf); n > 0; n, from, _ = end.socket.Receive(buf) {
			end.take(from, buf[:n])
		}
	}
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfServer(l.server).Dispatch(stage)
		steps.OfClient(l.client).Dispatch(stage)
	}
	if s := l.server.Store(); l.server.TickDue() && l.server.Tick() > s.Tick() {
		s.Begin(l.server.Tick())
		l.move(s)
		s.Commit()
	}
	steps.OfServer(l.server).Send()
	steps.OfClient(l.client).Send()
	steps.OfServer(l.server).Drain(func(to transport.Addr, packet []byte) { _ = l.here.Send(to, packet) })
	steps.OfClient(l.client).Drain(func(to transport.Addr, packet []byte) { _ = l.there.Send(to, packet) })
}

func (l *live) move(s *snapshot.Store) {
	if l.body.IsZero() {
		l.body = s.Spawn()
	}
	l.x++
	s.Set(l.body, 1, []uint32{uint32(l.x), 0})
}

// until runs frames until a condition holds. The limit is for a machine that stands still.
func (l *live) until(condition func() bool) time.Duration {
	l.t.Helper()
	since := time.Now()
	for !condition() {
		l.frame()
		require.Less(l.t, time.Since(since), time.Minute)
	}
	return time.Since(since)
}

// Over real sockets, behind a NAT that gives another port in mid-game, and with a server that is started anew.
func TestMigrationOverUDP(t *testing.T) {
	p := protocol()
	l := newLive(t, p)
	n := newNAT(t, l.here.LocalAddr())
	require.NoError(t, l.client.Connect(transport.AddrOf(n.inside.LocalAddr().(*net.UDPAddr).AddrPort())))
	shown := func() netcode.Tick {
		if l.client.Replica() == nil {
			return 0
		}
		return l.client.Replica().Tick()
	}
	l.until(func() bool { return shown() > 10 })
	stats, _ := l.server.ClientStats(1)
	for move := range uint64(3) {
		n.rebind()
		before := shown()
		t.Logf("goes on after %v", l.until(func() bool { return shown() > before+1 && l.server.Stats().Migrated > move }))
	}
	after, ok := l.server.ClientStats(1)
	require.True(t, ok)
	require.NotEqual(t, stats.Address, after.Address)
	require.EqualValues(t, 3, l.server.Stats().Migrated)
	require.EqualValues(t, 1, l.server.Stats().Connected)

	var why *netcode.CloseError
	l.client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { why = reason })
	l.serve(p, netcode.Config{ResetKey: [32]byte{5}})
	t.Logf("is told of a restart after %v", l.until(func() bool { return why != nil }))
	require.ErrorIs(t, why, errs.ReasonReset)
	l.until(func() bool { return l.client.State() == netcode.Connected && l.client.Replica().Len() == 1 })
}

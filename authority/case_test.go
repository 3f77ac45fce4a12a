package authority_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type chat struct{ Number uint32 }

// writtenProtocol has positions that owners write; health is the server's. Rows by name: 0 health, 1 position.
func writtenProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[rig.Position](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[rig.Health](p)
	return p
}

// accepting is the rig's game: what clients write goes into the store.
func accepting(r *rig.Rig) {
	r.Server.Game = func(store *snapshot.Store) {
		authority.Writes(r.Server.Server, func(_ netcode.ClientID, id netcode.NetworkID, row int, lanes []uint32) { store.Set(id, row, lanes) })
	}
}

// TestCase44WriteEverything: a client writes each component of each entity, those of the server, of others, hidden, dead and
// never born ones. Nothing of it arrives anywhere, each packet counts, and after enough of them the connection ends.
func TestCase44WriteEverything(t *testing.T) {
	p := writtenProtocol()
	r := rig.New(t, p, netcode.Config{Strikes: 10})
	honest := r.Joined(p, netcode.Config{})
	th := rig.NewThief(r, p)
	own, others, servers, hidden := r.Spawn(1), r.Spawn(2), r.Spawn(3), r.Spawn(4)
	require.True(t, r.Server.SetOwner(own, 2))
	require.True(t, r.Server.SetOwner(others, 1))
	require.True(t, r.Server.SetOwner(hidden, 2))
	require.True(t, r.Server.Hide(2, hidden))
	accepting(r)
	r.Run(time.Second / 2)
	x := func(v float32) func(*snapshot.Store, wire.NetworkID) {
		return func(store *snapshot.Store, id wire.NetworkID) { r.Set(store, id, v) }
	}
	at := func(id wire.NetworkID) float32 { return math.Float32frombits(r.Server.Store().Row(id, 1)[0]) }
	write := func(id wire.NetworkID, set func(*snapshot.Store, wire.NetworkID)) {
		th.Send(wire.MessageSnapshot, 0, rig.Forged(p, r.Server.Tick(), []wire.NetworkID{id}, set))
		r.Run(time.Second / 10)
	}
	write(under(own, 1), x(50))
	require.EqualValues(t, 50, at(own), "what is its own it may write")
	require.Zero(t, r.Server.Stats().NotAllowed)
	healthOf := func(store *snapshot.Store, id wire.NetworkID) { store.Set(id, 0, []uint32{9}) }
	write(under(own, 1), healthOf)
	require.EqualValues(t, 1, r.Server.Stats().NotAllowed, "its own, but not that component")
	write(under(own, 2), x(52))
	require.EqualValues(t, 50, at(own), "not under a number that it was not told")
	write(under(hidden, 1), x(51))
	require.EqualValues(t, 4, at(hidden), "nor what it may not see")
	never := wire.NetworkID{Index: 9999, Generation: 1}
	next := wire.NetworkID{Index: own.Index, Generation: own.Generation + 1}
	for i, id := range []wire.NetworkID{others, servers, never, next} {
		write(id, x(60))
		require.EqualValues(t, 4+2*i, r.Server.Stats().NotAllowed, "%v", id)
		if i < 3 {
			write(id, healthOf)
		}
	}
	require.Len(t, r.Server.Log, 3, "that was the tenth")
	casebook.Injected(t, r.Server.Stats().NotAllowed, "writes without authority")
	require.Contains(t, r.Server.Log[2], "wrote what it has no authority over")
	require.EqualValues(t, 2, at(others))
	require.EqualValues(t, 3, at(servers))
	require.Nil(t, r.Server.Store().Row(servers, 0))
	require.Equal(t, 4, r.Server.Store().Len())
	r.Run(time.Second / 2)
	require.Equal(t, netcode.Connected, honest.State())
	got, _ := r.X(honest, own)
	require.EqualValues(t, 50, got)
}

// under is the id of a client's record of an entity: the number of its right stands in place of the generation.
func under(id wire.NetworkID, number uint32) wire.NetworkID {
	return wire.NetworkID{Index: id.Index, Generation: number}
}

// TestCase44RecordsWithoutRows: a record that holds nothing is judged like any other, or a client could make the server
// remember whatever it names.
func TestCase44RecordsWithoutRows(t *testing.T) {
	p := writtenProtocol()
	r := rig.New(t, p, netcode.Config{Strikes: 100})
	r.Joined(p, netcode.Config{})
	th := rig.NewThief(r, p)
	own, others := r.Spawn(1), r.Spawn(2)
	require.True(t, r.Server.SetOwner(own, 2))
	require.True(t, r.Server.SetOwner(others, 1))
	accepting(r)
	r.Run(time.Second / 2)
	nothing := func(*snapshot.Store, wire.NetworkID) {}
	refused := uint64(0)
	for _, id := range []wire.NetworkID{under(own, 1), others, {Index: 9999, Generation: 1}, {Index: snapshot.MaxEntities - 1, Generation: 7}} {
		th.Send(wire.MessageSnapshot, 0, rig.Forged(p, r.Server.Tick(), []wire.NetworkID{id}, nothing))
		r.Run(time.Second / 10)
		if id.Index != own.Index {
			refused++
		}
		require.Equal(t, refused, r.Server.Stats().NotAllowed, "%v", id)
	}
}

// In a protocol in which clients write nothing, one that does loses its connection at once.
func TestCase44WithoutWritersStateFromAClientIsMalformed(t *testing.T) {
	p := rig.Protocol()
	r := rig.New(t, p, netcode.Config{})
	id := r.Spawn(1)
	th := rig.NewThief(r, p)
	th.Send(wire.MessageSnapshot, 0, rig.Forged(p, 1, []wire.NetworkID{id}, func(s *snapshot.Store, id wire.NetworkID) { r.Set(s, id, 2) }))
	require.Contains(t, r.Server.Log[1], "malformed packet")
}

// TestCase45IdentityInPayload: who speaks is who the connection belongs to, whatever a payload says: a message's sender, the
// owner that OwnerOnly asks for, the author of a write, and who asks for authority.
func TestCase45IdentityInPayload(t *testing.T) {
	p := writtenProtocol()
	type claim struct{ Sender, Owner uint32 }
	var senders []netcode.ClientID
	own := 0
	netcode.Handle(p, func(ctx *message.Context, _ *claim) { senders = append(senders, ctx.Sender) }, netcode.AtStage(tick.Update))
	netcode.Handle(p, func(*message.Context, *chat) { own++ }, netcode.OwnerOnly(), netcode.AtStage(tick.Update))
	r := rig.New(t, p, netcode.Config{})
	r.Joined(p, netcode.Config{})
	th := rig.NewThief(r, p)
	theirs := r.Spawn(1)
	require.True(t, r.Server.SetOwner(theirs, 1))
	accepting(r)
	const firstChat, secondClaim, thirdRight = wire.FirstUserMessage, wire.FirstUserMessage + 1, wire.FirstUserMessage + 2 // By name.
	th.Send(secondClaim, tick.Update, []byte{1, 0, 0, 0, 1, 0, 0, 0})
	r.Step()
	require.Equal(t, []netcode.ClientID{2}, senders)
	th.Post(&peer.Post{Type: firstChat, Stage: tick.Update, Flags: wire.FlagEntity, Entity: theirs}, []byte{1, 0, 0, 0})
	r.Step()
	require.Zero(t, own)
	require.EqualValues(t, 1, r.Server.Stats().NotOwner)
	casebook.Injected(t, r.Server.Stats().NotOwner, "messages with the identity of another")
	asked := []netcode.ClientID{}
	authority.OnAsk(r.Server.Server, func(client netcode.ClientID, _ netcode.NetworkID) bool { asked = append(asked, client); return false })
	th.Send(wire.MessageSnapshot, 0, rig.Forged(p, r.Server.Tick(), []wire.NetworkID{theirs}, func(s *snapshot.Store, id wire.NetworkID) { r.Set(s, id, 9) }))
	r.Run(time.Second / 10)
	require.EqualValues(t, 1, r.Server.Stats().NotAllowed)
	require.EqualValues(t, 1, math.Float32frombits(r.Server.Store().Row(theirs, 1)[0]))
	// Only the server says who may write what.
	body := make([]byte, 20)
	body[0], body[8] = byte(theirs.Index), 3
	th.Post(&peer.Post{Type: thirdRight, Channel: wire.NewChannel(wire.ReliableOrdered, 63)}, body)
	require.Contains(t, r.Server.Log[2], "disconnect 2: malformed packet")
}

// TestCase48Relay: what one client writes and others are sent passes the same gate and budget: numbers that are none end the
// connection of their author, and a flood of writes is one change a tick to the others.
func TestCase48Relay(t *testing.T) {
	p := writtenProtocol()
	r := rig.New(t, p, netcode.Config{})
	honest := r.Joined(p, netcode.Config{})
	th := rig.NewThief(r, p)
	own := r.Spawn(1)
	require.True(t, r.Server.SetOwner(own, 2))
	accepting(r)
	r.Run(time.Second / 2)
	before, _ := r.Server.ClientStats(1)
	ticks := r.Server.Tick()
	for i := range 30 {
		for n := range 20 {
			v := float32(i*20 + n)
			th.Send(wire.MessageSnapshot, 0, rig.Forged(p, r.Server.Tick(), []wire.NetworkID{under(own, 1)}, func(s *snapshot.Store, id wire.NetworkID) { r.Set(s, id, v) }))
		}
		r.Step()
	}
	after, _ := r.Server.ClientStats(1)
	sent := after.Snapshot.Updates + after.Snapshot.Spawns - before.Snapshot.Updates - before.Snapshot.Spawns
	require.Positive(t, sent)
	require.LessOrEqual(t, sent, 2*uint64(r.Server.Tick()-ticks)+2, "600 writes")
	casebook.Injected(t, 30*20, "writes to be fanned out")
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if len(r.Server.Log) > 2 {
			break
		}
		th.Send(wire.MessageSnapshot, 0, rig.Forged(p, r.Server.Tick(), []wire.NetworkID{under(own, 1)}, func(s *snapshot.Store, id wire.NetworkID) { r.Set(s, id, bad) }))
	}
	require.Contains(t, r.Server.Log[2], "disconnect 2: malformed packet")
	r.Run(time.Second)
	got, ok := r.X(honest, own)
	require.True(t, ok)
	require.False(t, math.IsNaN(float64(got)) || math.IsInf(float64(got), 0))
	require.Equal(t, netcode.Connected, honest.State())
}

func TestWrittenByRefuses(t *testing.T) {
	type named struct{ Who wire.NetworkID }
	type tag struct{}
	p := netcode.NewProtocol()
	require.Panics(t, func() { authority.WrittenBy(9) })
	require.Panics(t, func() { netcode.Replicate[tag](p, authority.WrittenBy(authority.OwnerWrites)) })
	require.PanicsWithValue(t, "netcode: Handle[authority_test.chat]: WrittenBy is for components", func() {
		netcode.Handle[chat](p, nil, authority.WrittenBy(authority.OwnerWrites))
	})
	_ = named{}
	a, b := netcode.NewProtocol(), netcode.NewProtocol()
	netcode.Replicate[rig.Position](a)
	netcode.Replicate[rig.Position](b, authority.WrittenBy(authority.OwnerWrites))
	require.NotEqual(t, a.Hash(), b.Hash(), "both ends agree on who writes")
	require.False(t, authority.ClientsWrite(a))
	require.True(t, authority.ClientsWrite(b))
}

// newWriters is a rig without worlds, in which both of two clients see an entity of Spawn, at 1.
func newWriters(t *testing.T) (r *rig.Rig, c, other *rig.ClientEnd, id wire.NetworkID) {
	p := writtenProtocol()
	r = rig.New(t, p, netcode.Config{})
	c, other = r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	id = r.Server.Spawn()
	require.NoError(t, netcode.Put(r.Server.Server, id, &rig.Position{X: 1}))
	r.Server.Game = func(*snapshot.Store) { authority.Writes(r.Server.Server, nil); steps.OfServer(r.Server).Publish() }
	r.Sees(c, id, 1)
	r.Sees(other, id, 1)
	return r, c, other, id
}

// own makes an entity a client's, and waits until that may write it.
func own(r *rig.Rig, id wire.NetworkID, c *rig.ClientEnd) {
	require.True(r.T, r.Server.SetOwner(id, c.ID()))
	r.Until(func() bool { return authority.MayWrite[rig.Position](c.Client, id) })
}

// Entities of Spawn are written by a client that keeps no world, with Write.
func TestWriteWithoutAWorld(t *testing.T) {
	r, c, other, id := newWriters(t)
	require.ErrorIs(t, authority.Write(c.Client, id, &rig.Position{X: 2}), authority.ErrNotAllowed)
	require.ErrorIs(t, authority.Write(c.Client, id, &chat{}), errs.ErrNoComponent)
	own(r, id, c)
	require.False(t, authority.MayWrite[rig.Health](c.Client, id))
	require.NoError(t, authority.Write(c.Client, id, &rig.Position{X: 2}))
	require.Error(t, authority.Write(c.Client, id, &rig.Position{X: float32(math.NaN())}))
	r.Sees(other, id, 2)
	require.True(t, r.Server.SetOwner(id, 0))
	r.Until(func() bool { return !authority.MayWrite[rig.Position](c.Client, id) })
	r.Sees(c, id, 2)
}

// A server that lost what a client's state leans on asks for all of it anew, and goes on.
func TestServerThatLostAClientsStateAsksAgain(t *testing.T) {
	r, c, other, id := newWriters(t)
	own(r, id, c)
	for i := range 200 {
		if i%50 == 25 {
			extend.OfServer(r.Server).Session(c.ID()).Upstream().Lose()
		}
		require.NoError(t, authority.Write(c.Client, id, &rig.Position{X: float32(i)}))
		r.Step()
	}
	r.Sees(other, id, 199)
	epoch, waits := extend.OfServer(r.Server).Session(c.ID()).Upstream().WantResync()
	require.EqualValues(t, 4, epoch, "asked each time")
	require.False(t, waits, "and served")
	require.Equal(t, netcode.Connected, c.State())
	require.Zero(t, r.Server.Stats().NotAllowed)
}

// A client gives up what it was named for also when that has left its sight, and only what it was named for.
func TestReleaseAuthorityOfAHiddenEntity(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[rig.Position](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Replicate[rig.Health](p)
	r := rig.New(t, p, netcode.Config{})
	holder, other := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	id := r.Spawn(1)
	authority.Grant(r.Server.Server, id, holder.ID())
	r.Until(func() bool { return authority.MayWrite[rig.Position](holder.Client, id) })
	for _, c := range []*rig.ClientEnd{holder, other} {
		require.True(t, r.Server.Hide(c.ID(), id))
	}
	r.Run(time.Second / 2)
	require.False(t, authority.MayWrite[rig.Position](holder.Client, id), "out of sight")
	require.NoError(t, authority.Release(other.Client, id))
	r.Run(time.Second / 2)
	require.Equal(t, holder.ID(), authority.Granted(r.Server.Server, id), "it is not the other's to give up")
	require.EqualValues(t, 1, r.Server.Stats().NotVisible)
	require.NoError(t, authority.Release(holder.Client, id))
	r.Run(time.Second / 2)
	require.Zero(t, authority.Granted(r.Server.Server, id))
	require.EqualValues(t, 1, r.Server.Stats().NotVisible)
}

type sender struct{}

func (sender) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	extend.OfClient(c).SendState()
	return extend.ClientHooks{}
}

func TestStateIsSentWithUpstreamOnly(t *testing.T) {
	p := rig.Protocol()
	extend.OfProtocol(p).Extend(extend.Extension{Name: "sender", Client: sender{}})
	require.PanicsWithValue(t, "netcode: Client.SendState: set Upstream of an extension, so that servers take the state", func() {
		_, _ = netcode.NewClient(p, netcode.Config{})
	})
}

// Without a world too a release follows what was written in its frame, and a correction reaches who writes.
func TestReleaseAndCorrectionsWithoutAWorld(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[rig.Position](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Replicate[rig.Health](p)
	r := rig.New(t, p, netcode.Config{})
	c, other := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	id := r.Server.Spawn()
	require.NoError(t, netcode.Put(r.Server.Server, id, &rig.Position{X: 1}))
	r.Server.Game = func(*snapshot.Store) { authority.Writes(r.Server.Server, nil); steps.OfServer(r.Server).Publish() }
	for round := range 24 {
		x := float32(100 * (round + 1))
		authority.Grant(r.Server.Server, id, c.ID())
		r.Until(func() bool { return authority.MayWrite[rig.Position](c.Client, id) })
		for i := range 10 {
			require.NoError(t, authority.Write(c.Client, id, &rig.Position{X: x + float32(i)}))
			if i == 5 {
				require.NoError(t, netcode.Put(r.Server.Server, id, &rig.Position{X: x + 50}))
				authority.Correct(r.Server.Server, id)
			}
			r.Step()
		}
		r.Run(time.Duration(round) * time.Millisecond * 5)
		require.NoError(t, authority.Write(c.Client, id, &rig.Position{X: x + 77}))
		require.NoError(t, authority.Release(c.Client, id))
		r.Until(func() bool { return authority.Granted(r.Server.Server, id) == 0 })
		r.Sees(other, id, x+77)
		r.Sees(c, id, x+77)
	}
	require.Zero(t, r.Server.Stats().NotAllowed)
}

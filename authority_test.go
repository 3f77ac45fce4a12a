package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// writtenProtocol has positions that owners write; health is the server's. Rows by name: 0 health, 1 position.
func writtenProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[health](p)
	return p
}

// accepting is the rig's game: what clients write goes into the store.
func (r *rig) accepting() {
	r.server.game = func(store *snapshot.Store) {
		authority.Writes(r.server.Server, func(_ netcode.ClientID, id netcode.NetworkID, row int, lanes []uint32) { store.Set(id, row, lanes) })
	}
}

// forged is a snapshot in which a client writes rows of entities as it likes.
func forged(p *netcode.Protocol, now tick.Tick, ids []wire.NetworkID, set func(store *snapshot.Store, id wire.NetworkID)) []byte {
	store := snapshot.NewStore(p.Schema(), snapshot.Config{})
	view := snapshot.NewView(store, snapshot.Config{})
	store.Begin(now)
	for _, id := range ids {
		store.Mirror(id)
		set(store, id)
	}
	store.Commit()
	view.Observe()
	b := make([]byte, 1000)
	return b[:view.Write(b, 1)]
}

// TestCase44WriteEverything: a client writes each component of each entity, those of the server, of others, hidden, dead and
// never born ones. Nothing of it arrives anywhere, each packet counts, and after enough of them the connection ends.
func TestCase44WriteEverything(t *testing.T) {
	p := writtenProtocol()
	r := newRig(t, p, netcode.Config{Strikes: 10})
	honest := r.joined(p, netcode.Config{})
	th := newThief(t, r, p)
	own, others, servers, hidden := r.spawn(1), r.spawn(2), r.spawn(3), r.spawn(4)
	require.True(t, r.server.SetOwner(own, 2))
	require.True(t, r.server.SetOwner(others, 1))
	require.True(t, r.server.SetOwner(hidden, 2))
	require.True(t, r.server.Hide(2, hidden))
	r.accepting()
	r.run(time.Second / 2)
	x := func(v float32) func(*snapshot.Store, wire.NetworkID) {
		return func(store *snapshot.Store, id wire.NetworkID) { r.set(store, id, v) }
	}
	at := func(id wire.NetworkID) float32 { return math.Float32frombits(r.server.Store().Row(id, 1)[0]) }
	write := func(id wire.NetworkID, set func(*snapshot.Store, wire.NetworkID)) {
		th.send(wire.MessageSnapshot, 0, forged(p, r.server.Tick(), []wire.NetworkID{id}, set))
		r.run(time.Second / 10)
	}
	write(own, x(50))
	require.EqualValues(t, 50, at(own), "what is its own it may write")
	write(hidden, x(51))
	require.EqualValues(t, 4, at(hidden), "but not what it may not see")
	require.Zero(t, r.server.Stats().NotAllowed)
	healthOf := func(store *snapshot.Store, id wire.NetworkID) { store.Set(id, 0, []uint32{9}) }
	write(own, healthOf)
	require.EqualValues(t, 1, r.server.Stats().NotAllowed, "its own, but not that component")
	never := wire.NetworkID{Index: 9999, Generation: 1}
	next := wire.NetworkID{Index: own.Index, Generation: own.Generation + 1}
	for i, id := range []wire.NetworkID{others, servers, never, next, {Index: snapshot.MaxEntities - 1, Generation: 7}} {
		write(id, x(60))
		require.EqualValues(t, 2+2*i, r.server.Stats().NotAllowed, "%v", id)
		if i < 4 {
			write(id, healthOf)
		}
	}
	require.Len(t, r.server.log, 3, "that was the tenth")
	casebook.Injected(t, r.server.Stats().NotAllowed, "writes without authority")
	require.Contains(t, r.server.log[2], "wrote what it has no authority over")
	require.EqualValues(t, 2, at(others))
	require.EqualValues(t, 3, at(servers))
	require.Nil(t, r.server.Store().Row(servers, 0))
	require.Equal(t, 4, r.server.Store().Len())
	r.run(time.Second / 2)
	require.Equal(t, netcode.Connected, honest.State())
	got, _ := r.x(honest, own)
	require.EqualValues(t, 50, got)
}

// TestCase44RecordsWithoutRows: a record that holds nothing is judged like any other, or a client could make the server
// remember whatever it names.
func TestCase44RecordsWithoutRows(t *testing.T) {
	p := writtenProtocol()
	r := newRig(t, p, netcode.Config{Strikes: 100})
	r.joined(p, netcode.Config{})
	th := newThief(t, r, p)
	own, others := r.spawn(1), r.spawn(2)
	require.True(t, r.server.SetOwner(own, 2))
	require.True(t, r.server.SetOwner(others, 1))
	r.accepting()
	r.run(time.Second / 2)
	nothing := func(*snapshot.Store, wire.NetworkID) {}
	refused := uint64(0)
	for _, id := range []wire.NetworkID{own, others, {Index: 9999, Generation: 1}, {Index: snapshot.MaxEntities - 1, Generation: 7}} {
		th.send(wire.MessageSnapshot, 0, forged(p, r.server.Tick(), []wire.NetworkID{id}, nothing))
		r.run(time.Second / 10)
		if id != own {
			refused++
		}
		require.Equal(t, refused, r.server.Stats().NotAllowed, "%v", id)
	}
}

// In a protocol in which clients write nothing, one that does loses its connection at once.
func TestCase44WithoutWritersStateFromAClientIsMalformed(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	id := r.spawn(1)
	th := newThief(t, r, p)
	th.send(wire.MessageSnapshot, 0, forged(p, 1, []wire.NetworkID{id}, func(s *snapshot.Store, id wire.NetworkID) { r.set(s, id, 2) }))
	require.Contains(t, r.server.log[1], "malformed packet")
}

// TestCase45IdentityInPayload: who speaks is who the connection belongs to, whatever a payload says: a message's sender, the
// owner that OwnerOnly asks for, the author of a write, and who asks for authority.
func TestCase45IdentityInPayload(t *testing.T) {
	p := writtenProtocol()
	type claim struct{ Sender, Owner uint32 }
	var senders []netcode.ClientID
	own := 0
	netcode.Handle(p, func(ctx *message.Context, _ *claim) { senders = append(senders, ctx.Sender) }, netcode.AtStage(netcode.StageUpdate))
	netcode.Handle(p, func(*message.Context, *chat) { own++ }, netcode.OwnerOnly(), netcode.AtStage(netcode.StageUpdate))
	r := newRig(t, p, netcode.Config{})
	r.joined(p, netcode.Config{})
	th := newThief(t, r, p)
	theirs := r.spawn(1)
	require.True(t, r.server.SetOwner(theirs, 1))
	r.accepting()
	const firstChat, secondClaim, thirdRight = wire.FirstUserMessage, wire.FirstUserMessage + 1, wire.FirstUserMessage + 2 // By name.
	th.send(secondClaim, netcode.StageUpdate, []byte{1, 0, 0, 0, 1, 0, 0, 0})
	r.step()
	require.Equal(t, []netcode.ClientID{2}, senders)
	th.post(&peer.Post{Type: firstChat, Stage: netcode.StageUpdate, Flags: wire.FlagEntity, Entity: theirs}, []byte{1, 0, 0, 0})
	r.step()
	require.Zero(t, own)
	require.EqualValues(t, 1, r.server.Stats().NotOwner)
	casebook.Injected(t, r.server.Stats().NotOwner, "messages with the identity of another")
	asked := []netcode.ClientID{}
	authority.OnAsk(r.server.Server, func(client netcode.ClientID, _ netcode.NetworkID) bool { asked = append(asked, client); return false })
	th.send(wire.MessageSnapshot, 0, forged(p, r.server.Tick(), []wire.NetworkID{theirs}, func(s *snapshot.Store, id wire.NetworkID) { r.set(s, id, 9) }))
	r.run(time.Second / 10)
	require.EqualValues(t, 1, r.server.Stats().NotAllowed)
	require.EqualValues(t, 1, math.Float32frombits(r.server.Store().Row(theirs, 1)[0]))
	// Only the server says who may write what.
	body := make([]byte, 20)
	body[0], body[8] = byte(theirs.Index), 3
	th.post(&peer.Post{Type: thirdRight, Channel: wire.NewChannel(wire.ReliableOrdered, 63)}, body)
	require.Contains(t, r.server.log[2], "disconnect 2: malformed packet")
}

// TestCase48Relay: what one client writes and others are sent passes the same gate and budget: numbers that are none end the
// connection of their author, and a flood of writes is one change a tick to the others.
func TestCase48Relay(t *testing.T) {
	p := writtenProtocol()
	r := newRig(t, p, netcode.Config{})
	honest := r.joined(p, netcode.Config{})
	th := newThief(t, r, p)
	own := r.spawn(1)
	require.True(t, r.server.SetOwner(own, 2))
	r.accepting()
	r.run(time.Second / 2)
	before, _ := r.server.ClientStats(1)
	ticks := r.server.Tick()
	for i := range 30 {
		for n := range 20 {
			v := float32(i*20 + n)
			th.send(wire.MessageSnapshot, 0, forged(p, r.server.Tick(), []wire.NetworkID{own}, func(s *snapshot.Store, id wire.NetworkID) { r.set(s, id, v) }))
		}
		r.step()
	}
	after, _ := r.server.ClientStats(1)
	sent := after.Snapshot.Updates + after.Snapshot.Spawns - before.Snapshot.Updates - before.Snapshot.Spawns
	require.Positive(t, sent)
	require.LessOrEqual(t, sent, 2*uint64(r.server.Tick()-ticks)+2, "600 writes")
	casebook.Injected(t, 30*20, "writes to be fanned out")
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if len(r.server.log) > 2 {
			break
		}
		th.send(wire.MessageSnapshot, 0, forged(p, r.server.Tick(), []wire.NetworkID{own}, func(s *snapshot.Store, id wire.NetworkID) { r.set(s, id, bad) }))
	}
	require.Contains(t, r.server.log[2], "disconnect 2: malformed packet")
	r.run(time.Second)
	got, ok := r.x(honest, own)
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
	require.PanicsWithValue(t, "netcode: Handle[netcode_test.chat]: WrittenBy is for components", func() {
		netcode.Handle[chat](p, nil, authority.WrittenBy(authority.OwnerWrites))
	})
	_ = named{}
	a, b := netcode.NewProtocol(), netcode.NewProtocol()
	netcode.Replicate[position](a)
	netcode.Replicate[position](b, authority.WrittenBy(authority.OwnerWrites))
	require.NotEqual(t, a.Hash(), b.Hash(), "both ends agree on who writes")
	require.False(t, authority.ClientsWrite(a))
	require.True(t, authority.ClientsWrite(b))
}

// newWriters is a rig without worlds, in which both of two clients see an entity of Spawn, at 1.
func newWriters(t *testing.T) (r *rig, c, other *clientEnd, id wire.NetworkID) {
	p := writtenProtocol()
	r = newRig(t, p, netcode.Config{})
	c, other = r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})
	id = r.server.Spawn()
	require.NoError(t, netcode.Put(r.server.Server, id, &position{X: 1}))
	r.server.game = func(*snapshot.Store) { authority.Writes(r.server.Server, nil); r.server.Publish() }
	r.sees(c, id, 1)
	r.sees(other, id, 1)
	return r, c, other, id
}

// own makes an entity a client's, and waits until that may write it.
func (r *rig) own(id wire.NetworkID, c *clientEnd) {
	require.True(r.t, r.server.SetOwner(id, c.ID()))
	r.until(func() bool { return authority.MayWrite[position](c.Client, id) })
}

// Entities of Spawn are written by a client that keeps no world, with Write.
func TestWriteWithoutAWorld(t *testing.T) {
	r, c, other, id := newWriters(t)
	require.ErrorIs(t, authority.Write(c.Client, id, &position{X: 2}), authority.ErrNotAllowed)
	require.ErrorIs(t, authority.Write(c.Client, id, &chat{}), netcode.ErrNoComponent)
	r.own(id, c)
	require.False(t, authority.MayWrite[health](c.Client, id))
	require.NoError(t, authority.Write(c.Client, id, &position{X: 2}))
	require.Error(t, authority.Write(c.Client, id, &position{X: float32(math.NaN())}))
	r.sees(other, id, 2)
	require.True(t, r.server.SetOwner(id, 0))
	r.until(func() bool { return !authority.MayWrite[position](c.Client, id) })
	r.sees(c, id, 2)
}

// A server that lost what a client's state leans on asks for all of it anew, and goes on.
func TestServerThatLostAClientsStateAsksAgain(t *testing.T) {
	r, c, other, id := newWriters(t)
	r.own(id, c)
	for i := range 200 {
		if i%50 == 25 {
			r.server.Session(c.ID()).Upstream().Lose()
		}
		require.NoError(t, authority.Write(c.Client, id, &position{X: float32(i)}))
		r.step()
	}
	r.sees(other, id, 199)
	epoch, waits := r.server.Session(c.ID()).Upstream().WantResync()
	require.EqualValues(t, 4, epoch, "asked each time")
	require.False(t, waits, "and served")
	require.Equal(t, netcode.Connected, c.State())
	require.Zero(t, r.server.Stats().NotAllowed)
}

// A client gives up what it was named for also when that has left its sight, and only what it was named for.
func TestReleaseAuthorityOfAHiddenEntity(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Replicate[health](p)
	r := newRig(t, p, netcode.Config{})
	holder, other := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})
	id := r.spawn(1)
	authority.Grant(r.server.Server, id, holder.ID())
	r.until(func() bool { return authority.MayWrite[position](holder.Client, id) })
	for _, c := range []*clientEnd{holder, other} {
		require.True(t, r.server.Hide(c.ID(), id))
	}
	r.run(time.Second / 2)
	require.False(t, authority.MayWrite[position](holder.Client, id), "out of sight")
	require.NoError(t, authority.Release(other.Client, id))
	r.run(time.Second / 2)
	require.Equal(t, holder.ID(), authority.Granted(r.server.Server, id), "it is not the other's to give up")
	require.EqualValues(t, 1, r.server.Stats().NotVisible)
	require.NoError(t, authority.Release(holder.Client, id))
	r.run(time.Second / 2)
	require.Zero(t, authority.Granted(r.server.Server, id))
	require.EqualValues(t, 1, r.server.Stats().NotVisible)
}

type sender struct{}

func (sender) Client(c *netcode.Client) netcode.ClientHooks {
	c.SendState()
	return netcode.ClientHooks{}
}

func TestStateIsSentWithUpstreamOnly(t *testing.T) {
	p := protocol()
	p.Extend(netcode.Extension{Name: "sender", Client: sender{}})
	require.PanicsWithValue(t, "netcode: Client.SendState: set Upstream of an extension, so that servers take the state", func() {
		_, _ = netcode.NewClient(p, netcode.Config{})
	})
}

package netcode_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// order is a message that only clients may send, about an entity of theirs.
type order struct{ What uint32 }

// news is a message that only the server may send.
type news struct{ Number uint32 }

// talk is a rig whose chat messages are written down as "receiver<sender:number".
type talk struct {
	*rig.Rig
	heard []string
	ctx   netcode.Context // Of the newest one, without its memory.
}

func (k *talk) hear(ctx *netcode.Context, number uint32) {
	k.heard = append(k.heard, fmt.Sprintf("%d<%d:%d", ctx.Local, ctx.Sender, number))
	k.ctx = *ctx
}

func newTalk(t testing.TB, config netcode.Config, clients int) *talk {
	k := &talk{}
	p := protocol()
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) { k.hear(ctx, m.Number) })
	netcode.Handle(p, func(ctx *netcode.Context, m *order) { k.hear(ctx, m.What) }, netcode.FromClient(), netcode.OwnerOnly(),
		netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(3), netcode.AtStage(tick.PreUpdate))
	netcode.Handle(p, func(ctx *netcode.Context, m *news) { k.hear(ctx, m.Number) }, netcode.FromServer())
	k.Rig = rig.New(t, p, config)
	for range clients {
		k.Joined(p, netcode.Config{SendBudget: config.SendBudget})
	}
	return k
}

// says runs until so many messages were heard, and a while longer, and returns them.
func (k *talk) says(n int) []string {
	k.T.Helper()
	k.Until(func() bool { return len(k.heard) >= n })
	k.Run(100 * time.Millisecond)
	heard := k.heard
	k.heard = nil
	return heard
}

func TestRecipients(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 3)
	s := k.Server.Server
	id := k.Spawn(1)
	for _, c := range k.Clients {
		k.Sees(c, id, 1)
	}
	require.True(t, s.Hide(2, id))
	require.True(t, s.SetOwner(id, 3))
	require.EqualValues(t, 3, s.Owner(id))
	type ids []netcode.ClientID
	for name, c := range map[string]struct {
		to   netcode.Recipient
		want []string
	}{
		"one":                {netcode.To(2), []string{"2<0:7"}},
		"many":               {netcode.ToMany(ids{3, 1}), []string{"1<0:7", "3<0:7"}},
		"many, some twice":   {netcode.ToMany(ids{3, 1, 3, 1, 3}), []string{"1<0:7", "3<0:7"}},
		"many, itself among": {netcode.ToMany([]netcode.ClientID{0, 1}), []string{"1<0:7"}},
		"all":                {netcode.ToAll(), []string{"1<0:7", "2<0:7", "3<0:7"}},
		"all but one":        {netcode.ToAllBut(1), []string{"2<0:7", "3<0:7"}},
		"the owner":          {netcode.ToOwner(id), []string{"3<0:7"}},
		"the seers":          {netcode.ToSeers(id), []string{"1<0:7", "3<0:7"}},
		"itself":             {netcode.ToSelf(), []string{"0<0:7"}},
		"itself by its id":   {netcode.To(0), []string{"0<0:7"}},
		"the server":         {netcode.ToServer(), []string{"0<0:7"}},
	} {
		require.NoError(t, netcode.Send(s, c.to, &chat{7}), name)
		require.Equal(t, c.want, k.says(len(c.want)), name)
	}
	c := k.Clients[1].Client
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{8}))
	require.NoError(t, netcode.Send(c, netcode.To(0), &chat{9}))
	require.Equal(t, []string{"0<2:8", "0<2:9"}, k.says(2))
	require.NoError(t, netcode.Send(c, netcode.ToSelf(), &chat{8}))
	require.NoError(t, netcode.Send(c, netcode.To(2), &chat{9}))
	require.Equal(t, []string{"2<2:8", "2<2:9"}, k.says(2))
	for _, to := range []netcode.Recipient{{}, netcode.ToAll(), netcode.ToAllBut(1), netcode.ToOwner(id), netcode.ToSeers(id),
		netcode.ToMany(ids{1}), netcode.To(1)} {
		require.ErrorContains(t, netcode.Send(c, to, &chat{}), "a client sends to the server or to itself")
	}
	require.ErrorContains(t, netcode.Send(s, netcode.Recipient{}, &chat{}), "a client sends to the server or to itself")
	require.True(t, s.SetOwner(id, 0))
	require.NoError(t, netcode.Send(s, netcode.ToOwner(id), &chat{1}), "what nobody owns is the server's")
	require.Equal(t, []string{"0<0:1"}, k.says(1))
	require.False(t, s.SetOwner(wire.NetworkID{Index: 999, Generation: 1}, 1))
}

// Messages that are put straight behind others go nowhere once the connection is over, and find the next one.
func TestSendAfterTheEndOfAConnection(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 2)
	s, c := k.Server.Server, k.Clients[0]
	send := func(want error) {
		t.Helper()
		for i := range uint32(3) {
			require.ErrorIs(t, netcode.Send(s, netcode.To(1), &chat{i}), want)
			require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{10 + i}), want)
		}
	}
	send(nil)
	require.ElementsMatch(t, []string{"1<0:0", "1<0:1", "1<0:2", "0<1:10", "0<1:11", "0<1:12"}, k.says(6))
	require.True(t, s.Kick(1, "out"))
	require.ErrorIs(t, netcode.Send(s, netcode.To(1), &chat{}), errs.ErrNotConnected)
	k.Until(func() bool { return c.State() == netcode.Disconnected })
	send(errs.ErrNotConnected)
	require.NoError(t, netcode.Send(s, netcode.To(2), &chat{5}))
	require.Equal(t, []string{"2<0:5"}, k.says(1))
	c = k.Clients[1]
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{6}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{7}))
	require.Equal(t, []string{"0<2:6", "0<2:7"}, k.says(2))
	c.Close()
	require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{}), errs.ErrNotConnected)
	k.Until(c.Closed)
	require.NoError(t, c.Connect(k.Server.Conn.LocalAddr()))
	k.Until(func() bool { return c.State() == netcode.Connected })
	k.Run(100 * time.Millisecond)
	for i := range uint32(3) {
		require.NoError(t, netcode.Send(s, netcode.To(3), &chat{i}))
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{10 + i}))
	}
	require.ElementsMatch(t, []string{"3<0:0", "3<0:1", "3<0:2", "0<3:10", "0<3:11", "0<3:12"}, k.says(6))
}

func TestOptionsOfTheSender(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	s, c := k.Server.Server, k.Clients[0]
	id := k.Spawn(1)
	k.Sees(c, id, 1)
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{1}, netcode.AtStage(tick.PreLateUpdate),
		netcode.Over(netcode.UnreliableSequenced), netcode.OnChannel(9), netcode.About(id)))
	require.Equal(t, []string{"1<0:1"}, k.says(1))
	require.Equal(t, tick.PreLateUpdate, k.ctx.Stage)
	require.Equal(t, wire.NewChannel(wire.UnreliableSequenced, 9), k.ctx.Channel)
	require.Equal(t, netcode.UnreliableSequenced, k.ctx.Delivery())
	require.Equal(t, id, k.ctx.Entity)
	require.Equal(t, c.Client, k.ctx.End)
	require.Positive(t, k.ctx.Received)

	clock := func() tick.Tick { return max(c.Tick(), c.ServerTime().Tick) }
	later := clock() + 20
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{2}, netcode.NotBefore(later)))
	var handled tick.Tick
	k.Until(func() bool { handled = clock(); return len(k.heard) == 1 })
	require.Equal(t, later, handled)
	require.Equal(t, later, k.ctx.NotBefore)
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{3}, netcode.NotBefore(1)), "long past: at once")
	k.says(2)

	require.True(t, s.SetOwner(id, 1))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &order{4}, netcode.About(id)))
	require.Equal(t, []string{"0<1:4"}, k.says(1))
	require.Equal(t, tick.PreUpdate, k.ctx.Stage)
	require.Equal(t, wire.NewChannel(wire.ReliableOrdered, 3), k.ctx.Channel)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &order{5}, netcode.About(id), netcode.Over(netcode.Reliable)))
	k.says(1)
	require.Equal(t, wire.NewChannel(wire.Reliable, 3), k.ctx.Channel, "the number is kept")
}

func TestTheStageIsTheSendersUnlessSaid(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	s := k.Server.Server
	for _, stage := range []tick.Stage{tick.EarlyUpdate, tick.FixedUpdate, tick.PostLateUpdate} {
		require.NoError(t, netcode.Send(s, netcode.ToSelf(), &chat{1}))
		require.Equal(t, []string{"0<0:1"}, k.says(1))
		require.Equal(t, tick.Update, k.ctx.Stage, "outside of a frame")
		k.Now += rig.FrameTime
		steps.OfServer(s).BeginFrame(k.Now)
		steps.OfServer(s).Dispatch(stage)
		require.NoError(t, netcode.Send(s, netcode.To(1), &chat{2}))
		steps.OfServer(s).Send()
		steps.OfServer(s).Drain(k.Server.Out)
		k.says(1)
		require.Equal(t, stage, k.ctx.Stage)
	}
}

func TestEveryErrorOfSend(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 2)
	s, c := k.Server.Server, k.Clients[0].Client
	id, hidden := k.Spawn(1), k.Spawn(2)
	k.Sees(k.Clients[0], id, 1)
	k.Sees(k.Clients[0], hidden, 2)
	require.True(t, s.Hide(1, hidden))
	k.Run(300 * time.Millisecond)
	nobody := wire.NetworkID{Index: 77, Generation: 3}
	misuse := func(text string) error { return fmt.Errorf("%w: %s", errs.ErrMisuse, text) }
	for name, check := range map[string]struct {
		err  error
		want error
	}{
		"no end":                  {netcode.Send(nil, netcode.ToAll(), &chat{}), misuse("neither a server nor a client")},
		"nil server":              {netcode.Send((*netcode.Server)(nil), netcode.ToAll(), &chat{}), misuse("neither a server nor a client")},
		"nobody there":            {netcode.Send(s, netcode.To(9), &chat{}), errs.ErrNotConnected},
		"one of many not there":   {netcode.Send(s, netcode.ToMany([]netcode.ClientID{9}), &chat{}), errs.ErrNotConnected},
		"unknown type":            {netcode.Send(s, netcode.ToAll(), &wave{}), errs.ErrNotRegistered},
		"the server's order":      {netcode.Send(s, netcode.To(1), &order{}, netcode.About(id)), misuse("order was registered with FromClient")},
		"a client's news":         {netcode.Send(c, netcode.ToServer(), &news{}), misuse("news was registered with FromServer")},
		"an order about nothing":  {netcode.Send(c, netcode.ToServer(), &order{}), misuse("the message is for owners only")},
		"stage":                   {netcode.Send(s, netcode.ToAll(), &chat{}, netcode.AtStage(7)), misuse("no such stage")},
		"delivery":                {netcode.Send(s, netcode.ToAll(), &chat{}, netcode.Over(4)), misuse("no such mode of delivery")},
		"channel":                 {netcode.Send(s, netcode.ToAll(), &chat{}, netcode.OnChannel(64)), misuse("no such mode of delivery")},
		"channel below":           {netcode.Send(s, netcode.ToAll(), &chat{}, netcode.OnChannel(-1)), misuse("no such mode of delivery")},
		"too far":                 {netcode.Send(s, netcode.ToAll(), &chat{}, netcode.NotBefore(s.Tick()+20000)), misuse("the tick is too far ahead")},
		"about what is hidden":    {netcode.Send(s, netcode.To(1), &chat{}, netcode.About(hidden)), errs.ErrNotVisible},
		"about nobody":            {netcode.Send(s, netcode.To(1), &chat{}, netcode.About(nobody)), errs.ErrNotVisible},
		"about the zero entity":   {netcode.Send(s, netcode.To(1), &chat{}, netcode.About(wire.NetworkID{})), errs.ErrNotVisible},
		"client about hidden":     {netcode.Send(c, netcode.ToServer(), &chat{}, netcode.About(hidden)), errs.ErrNotVisible},
		"the owner of nobody":     {netcode.Send(s, netcode.ToOwner(nobody), &chat{}), errs.ErrNotVisible},
		"the seers of nobody":     {netcode.Send(s, netcode.ToSeers(nobody), &chat{}), errs.ErrNotVisible},
		"all about what is there": {netcode.Send(s, netcode.ToAll(), &chat{}, netcode.About(hidden)), nil},
	} {
		if check.want == nil {
			require.NoError(t, check.err, name)
		} else {
			require.ErrorContains(t, check.err, check.want.Error(), name)
		}
	}
	require.Equal(t, []string{"2<0:0"}, k.says(1), "only who sees it hears about it")
}

func TestOnlyTheOwnerGivesOrders(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 2)
	s := k.Server.Server
	id := k.Spawn(1)
	for _, c := range k.Clients {
		k.Sees(c, id, 1)
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &order{1}, netcode.About(id)))
	}
	k.Run(200 * time.Millisecond)
	require.Empty(t, k.heard)
	require.EqualValues(t, 2, s.Stats().NotOwner)
	require.True(t, s.SetOwner(id, 2))
	for _, c := range k.Clients {
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &order{2}, netcode.About(id)))
	}
	require.Equal(t, []string{"0<2:2"}, k.says(1))
	require.EqualValues(t, 3, s.Stats().NotOwner)
	require.NoError(t, netcode.Send(s, netcode.ToSelf(), &order{3}, netcode.About(id)), "the server may do anything")
	require.Equal(t, []string{"0<0:3"}, k.says(1))
}

// A client that speaks of what it may not see has lost sight of it on the way: nothing happens.
func TestClientSendsNothingAboutHiddenEntities(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	for _, mode := range []wire.Delivery{netcode.Unreliable, netcode.Reliable} {
		require.NoError(t, netcode.Send(k.Clients[0].Client, netcode.ToServer(), &chat{1}, netcode.About(id), netcode.Over(mode)))
	}
	require.True(t, k.Server.Hide(1, id))
	k.Run(200 * time.Millisecond)
	require.Empty(t, k.heard)
	require.EqualValues(t, 2, k.Server.Stats().NotVisible)
}

// A message about an entity that is spawned in the same tick is not handled before the entity is in the world.
func TestAMessageWaitsForItsEntity(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	c := k.Clients[0]
	var id wire.NetworkID
	seen := false
	p := 0
	k.Server.Game = func(store *snapshot.Store) {
		if p++; p == 1 {
			id = store.Spawn()
			k.Set(store, id, 5)
		}
	}
	k.Tamper = loseState(k, 5) // The state is lost a few times; the messages are not.
	k.Until(func() bool { return id != wire.NetworkID{} })
	for number, mode := range []wire.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered} {
		require.NoError(t, netcode.Send(k.Server.Server, netcode.To(1), &chat{uint32(number)}, netcode.About(id), netcode.Over(mode)))
	}
	k.Until(func() bool {
		_, seen = k.X(c, id)
		if len(k.heard) > 0 {
			require.True(t, seen)
		}
		return len(k.heard) == 4
	})
	require.ElementsMatch(t, []string{"1<0:0", "1<0:1", "1<0:2", "1<0:3"}, k.heard)
	require.EqualValues(t, 4, c.Stats().Messages.Deferred, "all wait there")
}

// A handler in the sender's process gets a copy, as one over the network does, and no value that no bytes can say.
func TestSendInAProcessChecksAndCopies(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(_ *netcode.Context, m *position) { m.X, handled = 99, handled+1 }, netcode.Named("goto"))
	netcode.Handle(p, func(*netcode.Context, *line) { handled++ })
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	player, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(server, player))
	for name, way := range map[string]struct {
		end netcode.Endpoint
		to  netcode.Recipient
	}{
		"itself": {server, netcode.ToSelf()}, "player": {server, netcode.To(player.ID())}, "all": {server, netcode.ToAll()},
		"server": {player, netcode.ToServer()}, "player's self": {player, netcode.ToSelf()},
	} {
		handled = 0
		m := position{X: 1}
		require.NoError(t, netcode.Send(way.end, way.to, &m), name)
		require.Equal(t, 1, handled, name)
		require.Equal(t, position{X: 1}, m, name)
		require.ErrorAs(t, netcode.Send(way.end, way.to, &position{Y: float32(math.NaN())}), new(*errs.FieldError), name)
		if name != "all" { // which asks for no bound
			require.ErrorAs(t, netcode.Send(way.end, way.to, &line{Text: "x", more: true}), new(*message.BoundError), name)
		}
		require.ErrorAs(t, netcode.Send(way.end, way.to, &line{Text: strings.Repeat("x", 40001)}), new(*message.SerializeError), name)
		require.Equal(t, 1, handled, name)
	}
}

func TestSendAllocatesNothing(t *testing.T) {
	k := newTalk(t, netcode.Config{SendBudget: -1}, 4)
	s, c := k.Server.Server, k.Clients[0].Client
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	require.True(t, s.SetOwner(id, 2))
	many := []netcode.ClientID{1, 3}
	for name, send := range map[string]func() error{
		"one":     func() error { return netcode.Send(s, netcode.To(2), &chat{1}) },
		"many":    func() error { return netcode.Send(s, netcode.ToMany(many), &chat{1}) },
		"all":     func() error { return netcode.Send(s, netcode.ToAll(), &chat{1}) },
		"all but": func() error { return netcode.Send(s, netcode.ToAllBut(2), &chat{1}) },
		"owner":   func() error { return netcode.Send(s, netcode.ToOwner(id), &chat{1}) },
		"seers":   func() error { return netcode.Send(s, netcode.ToSeers(id), &chat{1}, netcode.About(id)) },
		"server":  func() error { return netcode.Send(c, netcode.ToServer(), &chat{1}) },
		"itself":  func() error { return netcode.Send(s, netcode.ToSelf(), &chat{1}) },
		"reliable": func() error {
			return netcode.Send(c, netcode.ToServer(), &chat{1}, netcode.Over(netcode.ReliableOrdered))
		},
		"all that can be said": func() error {
			return netcode.Send(s, netcode.To(1), &chat{1}, netcode.AtStage(tick.Update), netcode.Over(netcode.Reliable),
				netcode.OnChannel(2), netcode.About(id), netcode.NotBefore(s.Tick()))
		},
	} {
		k.heard = make([]string, 0, 1<<16)
		step := func() {
			if err := send(); err != nil {
				t.Fatal(name, err)
			}
		}
		frame := func() {
			step()
			k.Step()
			k.heard = k.heard[:0]
		}
		for range 300 {
			frame()
		}
		k.heard = k.heard[:0]
		if name == "itself" {
			continue // Its handler formats.
		}
		alloctest.Zero(t, 20, step, name)
		k.Run(time.Second)
	}
}

func TestAValueThatCannotTravelIsNotSent(t *testing.T) {
	p := protocol()
	netcode.Handle[position](p, nil, netcode.Named("goto"))
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	bad := &position{X: float32(math.Inf(1))}
	var field *errs.FieldError
	for _, err := range []error{
		netcode.Send(r.Server.Server, netcode.To(1), bad), netcode.Send(r.Server.Server, netcode.ToAll(), bad),
		netcode.Send(c.Client, netcode.ToServer(), bad), netcode.Send(c.Client, netcode.ToServer(), bad, netcode.Over(netcode.Reliable)),
	} {
		require.ErrorAs(t, err, &field)
		require.Equal(t, "X", field.Field)
	}
	stats, _ := r.Server.ClientStats(1)
	require.Zero(t, stats.Waiting)
}

package netcode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Each error of this file names the cause, and the way out where there is one.

func TestErrHostNamesTheCause(t *testing.T) {
	p := protocol()
	server, err := netcode.NewServer(p, netcode.Config{Clients: 1})
	require.NoError(t, err)
	client := func(p *netcode.Protocol) *netcode.Client {
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		return c
	}
	other := netcode.NewProtocol()
	netcode.Replicate[position](other)
	for want, c := range map[string]*netcode.Client{
		`the server does not have the same types: the client does not have component "health"`:         client(other),
		"they were built with two protocols that are equal: give NewServer and NewClient the same one": client(protocol()),
	} {
		err := netcode.Host(server, c)
		require.ErrorIs(t, err, errs.ErrHost)
		require.ErrorContains(t, err, want)
		require.Equal(t, err, steps.OfServer(server).CanHost(c))
	}
	connecting := client(p)
	require.NoError(t, connecting.Connect(rig.New(t, p, netcode.Config{}).Server.Conn.LocalAddr()))
	require.ErrorContains(t, netcode.Host(server, connecting), "the client is connected or connecting")
	require.NoError(t, steps.OfServer(server).CanHost(client(p)))
	require.NoError(t, netcode.Host(server, client(p)))
	require.ErrorContains(t, netcode.Host(server, client(p)), "the server is full: Config.Clients is 1")
	server.Close(0)
	require.ErrorContains(t, netcode.Host(server, client(p)), "the server is closing")
}

// wrapped is an end within a type of the game, or of nettest.
type wrapped struct{ *netcode.Server }

func TestEndsMayBeEmbedded(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
	r := rig.New(t, p, netcode.Config{})
	id := r.Spawn(1)
	require.NoError(t, netcode.Send(&wrapped{r.Server.Server}, netcode.ToSelf(), &chat{1}))
	require.NoError(t, netcode.Send(wrapped{r.Server.Server}, netcode.ToSelf(), &chat{1}))
	r.Run(time.Second)
	require.Equal(t, 2, handled)
	require.True(t, authority.MayWrite[position](&wrapped{r.Server.Server}, id))
	require.ErrorContains(t, netcode.Send(&wrapped{}, netcode.ToSelf(), &chat{1}), "neither a server nor a client")
	require.False(t, authority.MayWrite[position](nil, id))
}

func TestErrorsOfSendNameTheRemedy(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	s, c := k.Server.Server, k.Clients[0].Client
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	for _, check := range []struct {
		err  error
		is   error
		want string
	}{
		{netcode.Send(s, netcode.To(1), &order{}, netcode.About(id)), errs.ErrMisuse, "order was registered with FromClient, and this is the server: register it without that option, or send it from a client"},
		{netcode.Send(c, netcode.ToServer(), &news{}), errs.ErrMisuse, "news was registered with FromServer, and this is a client: register it without that option, or send it from the server"},
		{netcode.Send(s, netcode.To(99), &chat{}), errs.ErrNotConnected, "there is no client 99: send from its OnConnect"},
		{netcode.Send(s, netcode.To(1), &chat{}, netcode.About(netcode.NetworkID{})), errs.ErrNotVisible, "the NetworkID of About is zero: an entity with a components.Replicated has its id at once, by ID of the server's systems"},
		{netcode.Call(context.Background(), c, 0, &wave{}, func(*chat, error) {}), errs.ErrNotRegistered, "netcode_test.wave: give it to Answer on both sides"},
		{netcode.Call(context.Background(), c, 0, &chat{}, func(*news, error) {}), errs.ErrMisuse, "netcode_test.chat is no question: it was registered with Handle"},
		{netcode.Send(c, netcode.ToServer(), &wave{}), errs.ErrNotRegistered, "netcode_test.wave"},
	} {
		require.ErrorIs(t, check.err, check.is)
		require.ErrorContains(t, check.err, check.want)
	}
	shop := newShop(t, netcode.Config{})
	err := netcode.Call(context.Background(), shop.Clients[0].Client, 0, &price{}, func(*chat, error) {})
	require.ErrorIs(t, err, errs.ErrMisuse)
	require.ErrorContains(t, err, "netcode_test.price is answered by netcode_test.cost, not by netcode_test.chat")
	require.ErrorContains(t, netcode.Send(shop.Clients[0].Client, netcode.ToServer(), &price{}), "price was registered with Answer: ask it with Call")
}

// diary is a message with several texts.
type diary struct {
	Title string
	Pages []string
	Blob  []byte
	Last  struct{ Line string }
}

func (d *diary) Serialize(s *wire.Serializer) {
	s.String(&d.Title, 10)
	s.Strings(&d.Pages, 3, 8)
	s.Bytes(&d.Blob, 4)
	s.String(&d.Last.Line, 5)
}

func TestATextThatIsTooLongIsNamed(t *testing.T) {
	p := protocol()
	netcode.Handle[diary](p, nil)
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	for want, m := range map[string]*diary{
		"message: diary: Title is 11 long, at most 10 may travel":   {Title: "01234567890"},
		"message: diary: Pages is 4 long, at most 3 may travel":     {Pages: make([]string, 4)},
		"message: diary: Pages[1] is 9 long, at most 8 may travel":  {Pages: []string{"a", "012345678"}},
		"message: diary: Blob is 5 long, at most 4 may travel":      {Blob: make([]byte, 5)},
		"message: diary: Last.Line is 6 long, at most 5 may travel": {Last: struct{ Line string }{"012345"}},
	} {
		err := netcode.Send(c.Client, netcode.ToServer(), m)
		require.ErrorIs(t, err, wire.ErrTooLong)
		require.EqualError(t, err, want)
	}
}

// sums is an input that is not registered.
type sums struct{ N uint8 }

func TestTypesThatAreNotRegisteredAreToldOnce(t *testing.T) {
	p := protocol()
	input.Register[chat](p)
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	id := r.Spawn(1)
	r.Sees(c, id, 1)
	var told []error
	c.OnError(func(err error) { told = append(told, err) })
	for range 3 {
		_, ok := input.Of[sums](r.Server.Server, 1)
		require.False(t, ok)
		require.False(t, authority.MayWrite[sums](c.Client, id))
		require.False(t, authority.MayWrite[position](c.Client, id), "registered, and not the client's")
		require.False(t, authority.MayWrite[sums](r.Server.Server, id))
		_, ok = interpolate.Of[sums](c.Client, id)
		require.False(t, ok)
	}
	require.Len(t, r.Server.Errors, 2)
	require.ErrorIs(t, r.Server.Errors[0], input.ErrNotRegistered)
	require.ErrorContains(t, r.Server.Errors[0], "input.Of[netcode_test.sums]")
	require.ErrorIs(t, r.Server.Errors[1], errs.ErrNoComponent)
	require.Len(t, told, 2)
	require.ErrorContains(t, told[1], "interpolate.Of[netcode_test.sums]")
	require.ErrorIs(t, told[0], errs.ErrNoComponent)
	require.ErrorContains(t, told[0], "MayWrite[netcode_test.sums]")
}

// A server tells OnError of clients with another protocol: once for each difference, so that no number of them floods it.
func TestOnErrorIsToldOfAnotherProtocol(t *testing.T) {
	var out bytes.Buffer
	r := rig.New(t, protocol(), netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	other, third := netcode.NewProtocol(), netcode.NewProtocol()
	netcode.Replicate[health](other)
	netcode.Replicate[position](third)
	var last *rig.ClientEnd
	for range 4 {
		for _, p := range []*netcode.Protocol{other, third} {
			last = r.Join(p, netcode.Config{})
			r.Until(func() bool { return last.State() == netcode.Disconnected })
		}
	}
	require.Len(t, r.Server.Errors, 2)
	var refused *errs.ProtocolError
	require.ErrorAs(t, r.Server.Errors[0], &refused)
	require.Equal(t, r.Clients[0].Conn.LocalAddr(), refused.Address)
	require.Equal(t, `the client does not have component "position"`, refused.Difference)
	require.EqualError(t, refused, fmt.Sprintf(`netcode: the client at %s was refused, and so will be all like it: the client does not have component "position"`, refused.Address))
	require.EqualValues(t, 2, r.Server.Stats().Errors)
	require.EqualValues(t, 8, r.Server.Stats().RefusedProtocol)
	require.NotContains(t, out.String(), "and so will be", "the log has a line of its own")
}

func TestMaxEntitiesAloneBoundsEntities(t *testing.T) {
	_, err := netcode.NewServer(protocol(), netcode.Config{MaxEntities: 10})
	require.NoError(t, err)
	_, err = netcode.NewClient(protocol(), netcode.Config{MaxEntities: 10})
	require.NoError(t, err)
	_, err = netcode.NewServer(protocol(), netcode.Config{MaxEntities: -1})
	require.ErrorContains(t, err, "Config.MaxEntities is -1")
}

func TestOptionsOfMessagesOnAComponent(t *testing.T) {
	require.Equal(t, "netcode: Replicate[netcode_test.position]: Over is an option of messages, for Handle and Answer: a component is sent as state, without it",
		panicText(t, func() { netcode.Replicate[position](netcode.NewProtocol(), netcode.Over(netcode.Reliable)) }))
}

// Bands without an interest.Bands change nothing: the server is told once, when a client sees a component that has some.
func TestBandsThatNobodyMeasuresAreToldOf(t *testing.T) {
	type banded struct {
		X float32 `net:"min=0,max=1000,step=1"`
	}
	everything := func(*netcode.Protocol) interest.Policy { return interest.All() }
	for name, test := range map[string]struct {
		policy func(p *netcode.Protocol) interest.Policy // nil: none
		told   int
	}{
		"no policy":  {nil, 1},
		"all":        {everything, 1},
		"nothing":    {func(*netcode.Protocol) interest.Policy { return interest.NewRooms() }, 0},
		"with bands": {func(p *netcode.Protocol) interest.Policy { return nearby(p, interest.All()) }, 0},
		"within both": {func(p *netcode.Protocol) interest.Policy {
			return interest.Both(nearby(p, interest.All()), interest.All())
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[banded](p, netcode.Bands(netcode.Band{Beyond: 10, Scale: 4}))
			netcode.Replicate[health](p)
			r := rig.New(t, p, netcode.Config{})
			if test.policy != nil {
				r.Server.SetInterest(interest.New(test.policy(p), interest.Despawn))
			}
			row, id, has := p.Schema().RowOf(reflect.TypeFor[banded]()), netcode.NetworkID{}, false
			r.Server.Game = func(s *snapshot.Store) {
				if id.IsZero() {
					id = s.Spawn()
					s.Set(id, p.Schema().RowOf(reflect.TypeFor[health]()), []uint32{1})
				}
				if has {
					s.Set(id, row, []uint32{uint32(s.Tick()) % 100})
				}
			}
			r.Joined(p, netcode.Config{})
			r.Joined(p, netcode.Config{})
			r.Run(3 * time.Second)
			require.Empty(t, r.Server.Errors, "nothing has bands yet")
			has = true
			r.Run(9 * time.Second)
			require.Len(t, r.Server.Errors, test.told)
			if test.told > 0 {
				require.ErrorContains(t, r.Server.Errors[0], "Give SetInterest an interest.NewBands")
			}
		})
	}
}

// nearby is a policy with bands, of entities that are nowhere.
func nearby(p *netcode.Protocol, of interest.Policy) interest.Policy {
	nowhere := interest.NewGrid(interest.GridConfig{Position: func(*snapshot.Store, netcode.NetworkID) (x, y, z float32, ok bool) {
		return 0, 0, 0, false
	}})
	return interest.NewBands(of, interest.BandsConfig{Schema: p.Schema(), Grid: nowhere})
}

// A panic is told with its place, and both ends are told whose function it was.
func TestPanicsNameTheirPlace(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { breakDown() })
	r := rig.New(t, p, netcode.Config{Logger: slog.New(slog.DiscardHandler)})
	c := r.Joined(p, netcode.Config{})
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	require.Len(t, r.Server.Errors, 1)
	var failed *errs.PanicError
	require.ErrorAs(t, r.Server.Errors[0], &failed)
	require.Regexp(t, `^[^/]*/handler_test\.go:\d+$`, failed.At)
	require.True(t, failed.Message)
	require.EqualError(t, failed, "netcode: the handler of chat panicked at "+failed.At+" on a message from client 1: broken")
	require.Equal(t, "a handler panicked: the server's handler of chat", c.Err().Error())
	require.Contains(t, r.Server.Log, "disconnect 1: a handler panicked: the server's handler of chat")

	d := r.Join(p, netcode.Config{})
	var told []error
	d.OnError(func(err error) { told = append(told, err) })
	d.OnConnect(func(netcode.ClientID) {
		var none *position
		none.X++ // the runtime's own panic
	})
	r.Until(func() bool { return d.Err() != nil })
	require.ErrorIs(t, d.Err(), errs.ReasonHandlerPanic)
	require.Equal(t, "a handler panicked: the client's OnConnect", d.Err().Error())
	require.ErrorAs(t, told[0], &failed)
	require.False(t, failed.Message)
	require.Contains(t, failed.At, "/advice_test.go:")
	require.Contains(t, failed.Error(), "netcode: OnConnect panicked at "+failed.At+" for the server: runtime error: ")
	r.Run(time.Second)
	require.Contains(t, r.Server.Log, "disconnect 2: a handler panicked: the client's OnConnect")
}

// Without a logger and without OnError the default log has the stack of a panic line by line.
func TestTheDefaultLogShowsAStackByLines(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(lines{slog.NewTextHandler(&out, nil), &out}))
	defer slog.SetDefault(before)
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { panic(errors.New("broken")) })
	r := rig.New(t, p, netcode.Config{})
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &chat{1}))
	r.Run(time.Second)
	require.Contains(t, out.String(), "broken\n")
	require.Greater(t, strings.Count(out.String(), "\n"), 10)
	require.NotContains(t, out.String(), `\n`)
}

// lines writes the text of a record as it is, as the default handler of log/slog does.
type lines struct {
	slog.Handler
	out *bytes.Buffer
}

func (l lines) Handle(_ context.Context, r slog.Record) error {
	l.out.WriteString(r.Message + "\n")
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(l.out, " %s=%q", a.Key, a.Value.String()); return true })
	return nil
}

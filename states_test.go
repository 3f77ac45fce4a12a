package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// imposter is a server of its own packet layer, so that it can send what no server sends.
type imposter struct {
	*rig.Rig
	client  *rig.ClientEnd
	socket  *memory.Conn
	conn    *peer.Conn
	packets int // Received since the connection began.
	closed  bool
}

func newImposter(t *testing.T, p *netcode.Protocol, config netcode.Config) *imposter {
	im := &imposter{Rig: &rig.Rig{T: t, Network: memory.NewNetwork(), Now: 5 * time.Second}}
	var err error
	im.socket, err = im.Network.Listen(transport.Addr{})
	require.NoError(t, err)
	im.Server = &rig.ServerEnd{Conn: im.socket}
	im.client = im.Join(p, config)
	im.frame()
	n, from, err := im.socket.Receive(im.Buf[:])
	require.NoError(t, err)
	hello, err := peer.ParseHello(im.Buf[:n])
	require.NoError(t, err)
	require.NoError(t, im.socket.Send(from, peer.AppendAccept(nil, peer.Accept{
		Nonce: hello.Nonce, Epoch: 77, Rate: 30, Window: 64, PacketSize: 1200,
	})))
	check := wire.NewChecksum(77, p.Hash())
	im.frame()
	require.NoError(t, im.socket.Send(from, peer.AppendWelcome(nil, peer.Welcome{Client: 5, Tick: 100}, ^check)))
	im.conn = peer.NewConn(peer.ConnConfig{Check: ^check, CheckIncoming: check})
	im.frame()
	require.Equal(t, netcode.Connected, im.client.State())
	return im
}

// frame runs a frame of the client and reads what it sends.
func (im *imposter) frame() {
	im.Now += rig.FrameTime
	im.ClientFrame(im.client)
	for im.conn != nil {
		n, _, err := im.socket.Receive(im.Buf[:])
		require.NoError(im.T, err)
		if n == 0 {
			return
		}
		in, err := im.conn.Read(im.Buf[:n], im.Now, nil)
		if err != nil {
			continue
		}
		im.packets++
		im.conn.Accept(in, im.Now)
		r := in.Messages()
		for r.Next() {
			im.closed = im.closed || r.Header.Type == wire.MessageClose
		}
	}
}

func (im *imposter) send(build func(b *peer.Builder)) {
	b := im.conn.Begin(make([]byte, 1200))
	build(&b)
	steps.OfClient(im.client).Receive(im.socket.LocalAddr(), im.conn.Finish(&b, 1, im.Now))
}

// legalBody is a payload of a type that only its state or its direction can make illegal.
func legalBody(t *testing.T, p *netcode.Protocol, kind wire.MessageType, refusable []byte) []byte {
	switch {
	case kind == wire.MessageSnapshot:
		store := snapshot.NewStore(p.Schema(), snapshot.Config{})
		view := snapshot.NewView(store, snapshot.Config{})
		store.Begin(101)
		store.Set(store.Spawn(), 1, []uint32{0, 0})
		store.Commit()
		view.Observe()
		b := make([]byte, 1000)
		n := view.Write(b, 1)
		require.Positive(t, n)
		return b[:n]
	case kind == wire.MessageClose:
		return peer.AppendClose(nil, errs.CloseError{Reason: errs.ReasonClosed})
	case kind == wire.MessageResync:
		return []byte{1, 0}
	case kind == wire.MessageCredit:
		return []byte{0, 0, 3, 0}
	case kind == wire.MessageFragment: // Number 0, type and stage of the whole, index 0 of 2, a byte.
		return []byte{0, 0, byte(wire.FirstUserMessage), byte(tick.Update), 0, 2, 1}
	case kind == wire.MessageRefusal: // Number of the call.
		return []byte{9, 0}
	case kind == wire.FirstUserMessage:
		return []byte{1, 0, 0, 0}
	}
	return refusable
}

// build puts a message of a type into a packet as an honest end would.
func buildMessage(t *testing.T, p *netcode.Protocol, kind wire.MessageType) func(b *peer.Builder) {
	body := legalBody(t, p, kind, nil)
	return func(b *peer.Builder) {
		h := wire.MessageHeader{Type: kind, Size: uint16(len(body))}
		switch kind {
		case wire.MessageFragment:
			b.Switch(wire.NewChannel(wire.Reliable, 0))
		case wire.MessageRefusal:
			h.Flags = wire.FlagCall
		}
		framed := make([]byte, wire.MessageHeaderSize+len(body))
		h.Put(framed)
		copy(framed[wire.MessageHeaderSize:], body)
		require.True(t, b.Append(framed))
	}
}

// matrixTypes are all of netcode's own types, one that does not exist, one of the game and one that is not registered.
func matrixTypes() []wire.MessageType {
	return []wire.MessageType{wire.MessageSnapshot, wire.MessageKeepAlive, wire.MessageClose, wire.MessageResync,
		wire.MessageCredit, wire.MessageFragment, wire.MessageRefusal, wire.MessageFeedback, 15, wire.FirstUserMessage, 200}
}

// verdictOf returns the verdict of the table, except for state from an end that writes none: for this the table says only that the
// protocol decides.
// A type of the game that is not registered is accepted, and ignored.
func verdictOf(state peer.State, role peer.Role, kind wire.MessageType) peer.Verdict {
	writes := kind == wire.MessageSnapshot && role == peer.RoleServer || kind == wire.MessageResync && role == peer.RoleClient
	if writes && state == peer.StateConnected { // In this protocol clients write nothing.
		return peer.VerdictClose
	}
	return peer.Allowed(state, role, kind)
}

// Each message in each state at the server.
func TestCase12EachMessageInEachStateOfTheServer(t *testing.T) {
	for _, kind := range matrixTypes() {
		handled := 0
		p := protocol()
		netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
		build := buildMessage(t, p, kind)
		r := rig.New(t, p, netcode.Config{})
		stranger := transport.MustParseAddr("127.0.0.1:6667")

		// Connecting: no packet has a right checksum before there is an epoch.
		forged := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, p.Hash())})
		b := forged.Begin(make([]byte, 1200))
		build(&b)
		require.Equal(t, peer.VerdictDrop, verdictOf(peer.StateConnecting, peer.RoleServer, kind))
		steps.OfServer(r.Server).Receive(stranger, forged.Finish(&b, 1, r.Now))
		require.EqualValues(t, 1, r.Server.Stats().Strangers)

		// Connected.
		th := rig.NewThief(r, p)
		send := func() {
			b := th.Conn.Begin(make([]byte, 1200))
			build(&b)
			casebook.Injected(t, 1, "messages of a type in a state")
			steps.OfServer(r.Server).Receive(th.Address, th.Conn.Finish(&b, 1, r.Now))
			r.Run(2 * rig.FrameTime)
		}
		send()
		_, open := r.Server.ClientStats(1)
		switch verdictOf(peer.StateConnected, peer.RoleServer, kind) {
		case peer.VerdictAccept:
			require.Equal(t, kind != wire.MessageClose, open, "type %d", kind)
			require.Zero(t, r.Server.Stats().Malformed)
			require.Equal(t, kind == wire.FirstUserMessage, handled == 1)
		case peer.VerdictClose:
			require.False(t, open, "type %d", kind)
			require.EqualValues(t, 1, r.Server.Stats().Malformed, "type %d", kind)
		default:
			require.Fail(t, "every type has an effect in an open connection")
		}

		// Closing: nothing has an effect on the game, and nothing is malformed.
		before, log := handled, len(r.Server.Log)
		if open {
			require.True(t, r.Server.Kick(1, "closing"))
			log++
		}
		malformed := r.Server.Stats().Malformed
		send()
		require.NotEqual(t, peer.VerdictClose, verdictOf(peer.StateClosing, peer.RoleServer, kind))
		require.Equal(t, before, handled)
		require.Len(t, r.Server.Log, log)
		require.Equal(t, malformed, r.Server.Stats().Malformed)

		// Closed.
		r.Run(2 * time.Second)
		strangers := r.Server.Stats().Strangers
		send()
		require.Equal(t, strangers+1, r.Server.Stats().Strangers)
		require.Equal(t, before, handled)
	}
}

// pedal is an input.
type pedal struct{ Down bool }

// Each message in each state at a client.
func TestCase12EachMessageInEachStateOfAClient(t *testing.T) {
	for _, kind := range matrixTypes() {
		handled := 0
		p := protocol()
		input.Register[pedal](p) // Feedback comes to clients whose protocol has inputs.
		netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
		build := buildMessage(t, p, kind)
		if kind == wire.MessageKeepAlive || kind == wire.MessageFeedback {
			build = func(b *peer.Builder) { // The server's tick; an input's tick and how early it came.
				n := copy(b.Payload(), []byte{101, 0, 0, 1})
				if kind == wire.MessageKeepAlive {
					n = 2
				}
				require.True(t, b.Add(kind, tick.Initialization, n))
			}
		}

		// Connecting.
		waiting := &rig.Rig{T: t, Network: memory.NewNetwork(), Now: 5 * time.Second}
		nobody, err := waiting.Network.Listen(transport.Addr{})
		require.NoError(t, err)
		waiting.Server = &rig.ServerEnd{Conn: nobody}
		early := waiting.Join(p, netcode.Config{})
		forged := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, p.Hash())})
		b := forged.Begin(make([]byte, 1200))
		build(&b)
		steps.OfClient(early).Receive(nobody.LocalAddr(), forged.Finish(&b, 1, waiting.Now))
		require.EqualValues(t, 1, early.Stats().Strangers)
		require.Equal(t, netcode.Connecting, early.State())

		// Connected.
		im := newImposter(t, p, netcode.Config{})
		im.send(build)
		im.frame()
		switch verdictOf(peer.StateConnected, peer.RoleClient, kind) {
		case peer.VerdictAccept:
			require.Equal(t, kind != wire.MessageClose, im.client.State() == netcode.Connected, "type %d", kind)
			require.Zero(t, im.client.Stats().Malformed, "type %d", kind)
			require.Equal(t, kind == wire.FirstUserMessage, handled == 1)
			require.Equal(t, kind == wire.MessageSnapshot, im.client.Replica().Len() == 1)
		case peer.VerdictClose:
			require.ErrorIs(t, im.client.Err(), errs.ReasonMalformed, "type %d", kind)
		default:
			require.Fail(t, "every type has an effect in an open connection")
		}

		// Closing.
		before := handled
		im.client.Close()
		log := len(im.client.Log)
		malformed := im.client.Stats().Malformed
		im.send(build)
		im.frame()
		require.Equal(t, before, handled)
		require.Len(t, im.client.Log, log)
		require.Equal(t, malformed, im.client.Stats().Malformed)
		require.True(t, im.closed || kind == wire.MessageClose, "it says goodbye")

		// Closed.
		im.run(2 * time.Second)
		require.Equal(t, netcode.Disconnected, im.client.State())
		strangers := im.client.Stats().Strangers
		im.send(build)
		require.Equal(t, strangers+1, im.client.Stats().Strangers)
		require.Equal(t, before, handled)
	}
}

// run lets the client's frames pass for a virtual time.
func (im *imposter) run(d time.Duration) {
	for end := im.Now + d; im.Now < end; {
		im.frame()
	}
}

// A second request to connect on an open connection is answered as the first was, and changes nothing.
func TestCase12SecondHelloOnAnOpenConnection(t *testing.T) {
	p := protocol()
	heard := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { heard++ })
	r := rig.New(t, p, netcode.Config{})
	var hellos, accepts [][]byte
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		switch peer.KindOf(packet) {
		case peer.KindHello:
			hellos = append(hellos, append([]byte(nil), packet...))
		case peer.KindAccept:
			accepts = append(accepts, append([]byte(nil), packet...))
		}
		return packet
	}
	c := r.Joined(p, netcode.Config{})
	first := len(accepts)
	for range 5 {
		steps.OfServer(r.Server).Receive(c.Conn.LocalAddr(), hellos[len(hellos)-1])
		r.Step()
	}
	require.Len(t, accepts, first+5)
	one, err := peer.ParseAccept(accepts[0])
	require.NoError(t, err)
	for _, packet := range accepts {
		again, err := peer.ParseAccept(packet)
		require.NoError(t, err)
		require.Equal(t, one, again)
	}
	require.Len(t, r.Server.Log, 1)
	require.Len(t, c.Log, 1)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	r.Until(func() bool { return heard == 1 })
}

// A server asks for all state of a client whose protocol lets clients send state, and which sends none.
func TestAResyncOfNoStateIsIgnored(t *testing.T) {
	p := protocol()
	extend.OfProtocol(p).Extend(extend.Extension{Name: "state", Upstream: true})
	im := newImposter(t, p, netcode.Config{})
	im.send(buildMessage(t, p, wire.MessageResync))
	require.Equal(t, netcode.Connected, im.client.State())
}

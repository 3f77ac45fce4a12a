package adversary

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Phase is a step of a Client towards a session.
type Phase uint8

// Values of Phase, in order.
const (
	Asking  Phase = iota // it sends Hello and waits for a cookie and an Accept
	Joining              // it has an Accept and sends Join
	Playing              // it has a session
)

// Client joins a server as a real client does. Call Step once a frame, for example with nettest.Net.Each.
type Client struct {
	*End
	phase  Phase
	halt   Phase // it sends nothing from this phase on, if halts
	halts  bool
	nonce  uint64
	cookie peer.Cookie
	id     wire.ClientID
	askAt  time.Duration
	rate   time.Duration // tick rate, from Accept
	first  tick.Tick     // tick of Welcome, which arrived at joined
	joined time.Duration
}

// NewClient makes a client that starts to connect with its first Step.
func NewClient(config Config) *Client {
	c := &Client{End: newEnd(config, false)}
	c.Connect()
	return c
}

// Connect starts a new attempt to connect, with a new nonce and from the same address.
func (c *Client) Connect() {
	c.phase, c.cookie, c.conn, c.reason = Asking, peer.Cookie{}, nil, nil
	c.nonce = c.random.Uint64()
	c.askAt = c.config.Now()
	c.numbers = map[wire.Channel]uint16{}
}

// ID returns the client ID that the server assigned, 0 before.
func (c *Client) ID() wire.ClientID { return c.id }

// Phase returns the present phase.
func (c *Client) Phase() Phase { return c.phase }

// Conn returns the packet layer, for tests that need more than the methods of Client; nil before Playing.
func (c *Client) Conn() *peer.Conn { return c.conn }

// Step handles received datagrams, continues the handshake, and acknowledges.
func (c *Client) Step() {
	c.receive(c.take)
	if c.reason != nil || c.halts && c.phase >= c.halt {
		if c.halts {
			c.told["HaltAt"]++
		}
		return
	}
	switch now := c.config.Now(); {
	case c.phase == Playing:
		c.tick = c.first + tick.Tick((now-c.joined)*c.rate/time.Second)
		c.stepped()
	case now < c.askAt:
	case c.phase == Joining:
		c.askAt = now + joinEvery
		c.raw(peer.AppendJoin(nil, peer.Join{Nonce: c.nonce, Cookie: c.cookie}, c.check))
	default:
		c.askAt = now + helloEvery
		c.raw(c.hello())
	}
}

func (c *Client) hello() []byte {
	return peer.AppendHello(nil, peer.Hello{Version: peer.Version, Nonce: c.nonce, Protocol: c.config.Protocol.Hash(), Cookie: c.cookie})
}

// take handles one datagram.
func (c *Client) take(from transport.Addr, datagram []byte) {
	if from != c.remote {
		return
	}
	switch peer.KindOf(datagram) {
	case peer.KindChallenge:
		if m, err := peer.ParseChallenge(datagram); err == nil && m.Nonce == c.nonce && c.phase == Asking && m.Cookie != c.cookie {
			c.cookie, c.askAt = m.Cookie, c.config.Now()
		}
	case peer.KindAccept:
		if m, err := peer.ParseAccept(datagram); err == nil && m.Nonce == c.nonce && c.phase == Asking {
			c.phase, c.rate, c.askAt = Joining, time.Duration(m.Rate), c.config.Now()
			c.check = wire.NewChecksum(m.Epoch, c.config.Protocol.Hash())
		}
	case peer.KindRefuse:
		if m, err := peer.ParseRefuse(datagram); err == nil && m.Nonce == c.nonce && c.phase < Playing && m.Reason != errs.ReasonBusy {
			c.reason = &errs.CloseError{Reason: m.Reason, Detail: m.Detail}
		}
	case peer.KindWelcome:
		if m, err := peer.ParseWelcome(datagram, ^c.check); err == nil && c.phase == Joining {
			c.phase, c.id, c.first, c.joined = Playing, m.Client, m.Tick, c.config.Now()
			c.open(c.check, ^c.check)
		}
	case peer.KindPacket:
		if c.conn != nil {
			c.readPacket(datagram, nil, nil)
		}
	}
}

// HaltAt makes the client send nothing from a phase on. Asking: it never sends anything. Joining: it has a valid cookie and sends
// no Join. Playing: it has a session that it never uses.
func (c *Client) HaltAt(phase Phase) { c.halts, c.halt = true, phase }

// JoinAgain repeats the Join of the session, as a network may.
func (c *Client) JoinAgain(times int) {
	for range times {
		c.raw(peer.AppendJoin(nil, peer.Join{Nonce: c.nonce, Cookie: c.cookie}, c.check))
		c.told["JoinAgain"]++
	}
}

// HelloAgain repeats the Hello with the cookie of the session.
func (c *Client) HelloAgain(times int) {
	for range times {
		c.raw(c.hello())
		c.told["HelloAgain"]++
	}
}

// Inputs sends count inputs of type T, one per tick up to newest, all zero except for one random field each. T must be the only
// input type of the protocol. The server accepts only ticks within 64 of its own.
func Inputs[T any](c *Client, newest tick.Tick, count int) error {
	plan, err := quantize.Compile(reflect.TypeFor[T](), "input")
	if err != nil {
		return err
	}
	lanes := make([]uint32, plan.Lanes()*count)
	for n := range count {
		row := lanes[n*plan.Lanes() : (n+1)*plan.Lanes()]
		if len(row) > 0 {
			at := c.random.IntN(len(row))
			if row[at] = 1; !plan.Legal(row) {
				row[at] = 0
			}
		}
	}
	body := binary.LittleEndian.AppendUint16(nil, newest.Low())
	body = binary.LittleEndian.AppendUint16(body, math.MaxUint16)
	room := make([]byte, packetSize)
	w := wire.NewBitWriter(room)
	plan.WriteRun(&w, lanes, count)
	c.say("Inputs", wire.MessageInput, 0, append(body, room[:w.Finish()]...))
	return nil
}

// InputsFar sends inputs of type T for ticks near the server's newest one and far from it: the window before and after, and the
// limits of 16 bits. See Inputs.
func InputsFar[T any](c *Client) error {
	for _, away := range []tick.Tick{0, -1, 63, 64, 65, -63, -64, -65, 1000, -1000, math.MaxInt16, math.MinInt16} {
		if err := Inputs[T](c, c.tick+away, 1+c.random.IntN(64)); err != nil {
			return err
		}
	}
	return nil
}

// Write sends state of entities as if the client owned them, each with all components of the protocol and random values. The
// entities may be the server's, other clients', hidden or nonexistent. A server counts this in Stats.NotAllowed and closes after
// Config.Strikes. If clients write no component of the protocol, it closes at once with errs.ReasonMalformed.
func (c *Client) Write(entities ...wire.NetworkID) {
	schema := c.config.Protocol.Schema()
	store := snapshot.NewStore(schema, snapshot.Config{MaxEntities: snapshot.MaxEntities})
	view := snapshot.NewView(store, snapshot.Config{})
	store.Begin(c.tick)
	for _, id := range entities {
		store.Mirror(id)
		for row := range schema.Rows() {
			store.Set(id, row, c.lanes(schema.Plan(row)))
		}
	}
	store.Commit()
	view.Observe()
	payload := make([]byte, peer.MaxPayload(packetSize))
	if n := view.Write(payload, 1); n > 0 {
		c.say("Write", wire.MessageSnapshot, 0, payload[:n])
	}
}

package nats

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
	"sync"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Errors of Publish.
var (
	ErrNotRegistered = errors.New("nats: the message is not registered: call Handle for it before Start")
	ErrFull          = errors.New("nats: too much waits to be sent: the connection is slow or broken")
	ErrRecipient     = errors.New("nats: a recipient without a legal name")
	ErrTooLarge      = fmt.Errorf("nats: a message of more than %d bytes", MaxBody)
)

// Messages are the messages of the game between its servers. They are encoded as the messages of a netcode.Protocol: plain data, or with a method
// Serialize. Two builds understand the messages whose name and fields are alike; others are dropped and counted (Stats.Unknown).
type Messages struct {
	registry message.Registry
	kinds    map[uint64]*kind
	byType   map[reflect.Type]*kind
	frozen   bool
}

// kind is a registered type of messages.
type kind struct {
	name        string
	fingerprint uint64 // Of its name and fields.
	stage       tick.Stage
	codec       message.Codec
	handle      func(ctx *Context, s *message.Scratch, body []byte) bool // Nil: it is only sent.
}

// NewMessages returns an empty registry, for Handle and Config.Messages.
func NewMessages() *Messages {
	return &Messages{kinds: map[uint64]*kind{}, byType: map[reflect.Type]*kind{}}
}

// Context tells about the message that is being handled. It is valid until the handler returns, as is the message.
type Context struct {
	Match  *Match           // The match whose loop handles the message.
	From   string           // The process that sent it.
	Tick   netcode.Tick     // The sender's tick when it sent it; 0: it was sent by no match.
	Player string           // The player that the message is for, with ToPlayer; else empty.
	Client netcode.ClientID // Its client here; 0: it has left meanwhile.
}

// Handle registers message T with its handler, which runs in a stage of the loops that the message is for, and never in a goroutine of NATS.
// A process that only sends it gives nil. T has no fields that name entities: they have other ids on each server. Handle panics on a type that cannot
// be sent, on a name that is registered, and after Start.
func Handle[T any](p *Messages, handler func(ctx *Context, m *T), stage tick.Stage) {
	t := reflect.TypeFor[T]()
	if p.frozen {
		panic(fmt.Sprintf("nats: Handle[%s]: after Start", t))
	}
	codec, err := message.NewCodec[T](t.Name(), nil)
	if err != nil {
		panic(fmt.Sprintf("nats: Handle[%s]: %v", t, err))
	}
	if plan := codec.Plan(); plan != nil && (len(plan.Refs()) > 0 || len(plan.Handles()) > 0) {
		panic(fmt.Sprintf("nats: Handle[%s]: a field names an entity, which has another id on each server", t))
	}
	p.registry.Add(message.Type{Name: t.Name(), Codec: codec, Stage: stage, StageGiven: true})
	h := fnv.New64a()
	_, _ = h.Write(codec.Describe(nil))
	k := &kind{name: t.Name(), fingerprint: h.Sum64(), stage: stage, codec: codec}
	if handler != nil {
		k.handle = func(ctx *Context, s *message.Scratch, body []byte) bool {
			m := new(T)
			if !codec.Decode(s, body, m) {
				return false
			}
			handler(ctx, m)
			return true
		}
	}
	p.kinds[k.fingerprint], p.byType[t] = k, k
}

// freeze ends registration.
func (p *Messages) freeze() {
	p.frozen = true
	p.registry.Freeze()
}

// Recipient tells whom a message is for.
type Recipient struct{ subject string }

// ToAll is every match of every process, the sender's too.
func ToAll() Recipient { return Recipient{"all"} }

// ToServer is every match of one process.
func ToServer(name string) Recipient { return named("s.", name) }

// ToMatch is one match, wherever it runs.
func ToMatch(id string) Recipient { return named("m.", id) }

// ToPlayer is the match in which a player is, wherever that runs: its handlers get Context.Player and Context.Client. While the player is nowhere
// the message is lost: see Node.Player.
func ToPlayer(user string) Recipient {
	if user == "" || len(user) > MaxName {
		return Recipient{}
	}
	return Recipient{"p." + userToken(user)}
}

func named(prefix, name string) Recipient {
	if !legalName(name) {
		return Recipient{}
	}
	return Recipient{prefix + name}
}

// How is an option of Publish.
type How struct{ before tick.Tick }

// NotBefore makes the message wait, at the receiver, until its Server.Tick is t: for servers that count the same ticks. It waits for Config.Patience
// at most.
func NotBefore(t netcode.Tick) How { return How{before: t} }

// Sender is a *Node or a *Match.
type Sender interface{ sends() (*Node, tick.Tick) }

// Publish sends a message to matches of the fleet, from any goroutine. It never blocks: the message waits in a bounded queue. Messages of one process
// come in order, at most once: one is lost if a connection breaks, if a queue is full, and if nobody is there to take it. m is not kept. The errors are
// ErrNotRegistered, ErrRecipient, ErrTooLarge, ErrFull, and those of the message: *message.FieldError, *message.SerializeError.
func Publish[T any](from Sender, to Recipient, m *T, how ...How) error {
	n, now := from.sends()
	k := n.config.Messages.byType[reflect.TypeFor[T]()]
	switch {
	case k == nil:
		return fmt.Errorf("%w: %s", ErrNotRegistered, reflect.TypeFor[T]())
	case to.subject == "":
		return ErrRecipient
	}
	head := envelope{fingerprint: k.fingerprint, from: n.config.Server, tick: now}
	for _, h := range how {
		head.before = h.before
	}
	codec := k.codec.(*message.CodecOf[T]) // Handle made it.
	n.encoding.Lock()
	defer n.encoding.Unlock()
	size, err := codec.SizeBound(&n.scratch, m)
	if err != nil {
		return err
	}
	if size > MaxBody {
		return ErrTooLarge
	}
	b := head.append(make([]byte, 0, maxEnvelope+size))
	used, err := codec.Encode(&n.scratch, b[len(b):len(b)+size], m)
	if err != nil {
		return err
	}
	return n.outbox.push(n.subject(to.subject), b[:len(b)+used])
}

// envelope stands before the body of a message.
type envelope struct {
	fingerprint  uint64
	from         string
	tick, before tick.Tick
}

const (
	envelopeVersion = 1
	maxEnvelope     = 1 + 8 + 2 + MaxName + 2*wire.MaxVarint
	maxTick         = 1 << 62
	farthest        = 1 << 14 // Ticks ahead that a message may wait for, as in package netcode.
)

// append appends the envelope.
func (e *envelope) append(b []byte) []byte {
	w := wire.NewWriter(b[:cap(b)])
	w.Uint8(envelopeVersion)
	w.Uint64(e.fingerprint)
	w.String(e.from, MaxName)
	w.Varint(uint64(e.tick))
	w.Varint(uint64(e.before))
	return w.Written()
}

// read reads an envelope and returns the body. The bytes may be anything.
func (e *envelope) read(b []byte) (body []byte, ok bool) {
	r := wire.NewReader(b)
	version := r.Uint8()
	e.fingerprint = r.Uint64()
	e.from = r.String(MaxName)
	at, before := r.Varint(), r.Varint()
	body = r.Rest()
	if r.Err() != nil || version != envelopeVersion || !legalName(e.from) || at > maxTick || before > maxTick || len(body) > MaxBody {
		return nil, false
	}
	e.tick, e.before = tick.Tick(at), tick.Tick(before)
	return body, true
}

// outbox has the messages that wait to be sent: a connection whose peer does not read would stop the game's loop.
type outbox struct {
	mu       sync.Mutex
	list     []outgoing
	bytes    int
	most     int
	dropped  uint64
	wake     chan struct{}
	finished bool
}

type outgoing struct {
	subject string
	data    []byte
}

func newOutbox(most int) *outbox { return &outbox{most: most, wake: make(chan struct{}, 1)} }

// queueBytes bounds the bytes that wait in a queue.
const queueBytes = 4 << 20

// push takes a message.
func (o *outbox) push(subject string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished || len(o.list) >= o.most || o.bytes+len(data) > queueBytes {
		o.dropped++
		return ErrFull
	}
	o.list = append(o.list, outgoing{subject, data})
	o.bytes += len(data)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// take returns what waits.
func (o *outbox) take() []outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list, o.bytes = nil, 0
	return list
}

// drop counts a message that the connection refused.
func (o *outbox) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped++
}

// subject returns the whole subject of a recipient.
func (n *Node) subject(of string) string { return "netcode." + n.config.Fleet + "." + of }

// recipient returns the part of a subject behind the fleet.
func (n *Node) recipient(subject string) string { return strings.TrimPrefix(subject, n.subject("")) }

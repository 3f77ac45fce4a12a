package netcode

import (
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Protocol lists the component and message types that both ends must share, and their encoding. Build it once with NewProtocol, Replicate
// and Handle, on server and client alike; the order of those calls does not matter. The first NewServer or NewClient freezes it, and from
// then on any number of servers and clients, on any goroutines, may share it.
type Protocol struct {
	inside
	types      endpoint.Types
	extensions []extend.Extension
	extended   []any // The states of extensions.
	freezing   sync.Once
}

// NewProtocol makes an empty protocol: no components, no messages.
func NewProtocol() *Protocol {
	p := &Protocol{types: endpoint.Types{Registry: registry.New()}}
	p.inside = door.New(protocolInside{p})
	return p
}

// freeze ends registration.
func (p *Protocol) freeze() {
	p.freezing.Do(p.types.Freeze)
}

// Hash returns the number that both ends must share to connect: FNV-1a 64 over the canonical descriptions of everything in
// the protocol (PROTOCOL.md gives the text). It does not depend on the order of registration. Asking freezes the
// protocol.
func (p *Protocol) Hash() uint64 {
	p.freeze()
	return p.types.Canon.Hash
}

// Description lists the entries of the canonical description in their order: the text that Hash is computed over. Asking
// freezes the protocol.
func (p *Protocol) Description() (entries []string) {
	p.freeze()
	for _, e := range p.types.Canon.Entries {
		entries = append(entries, e.Text)
	}
	return entries
}

// Schema lists the components in the protocol's canonical order, by wire name: a component's place is its row
// number. Asking freezes the protocol.
func (p *Protocol) Schema() *snapshot.Schema {
	p.freeze()
	return p.types.Schema
}

// Messages lists the message types, with their numbers. Asking freezes the protocol.
func (p protocolInside) Messages() *message.Registry {
	p.freeze()
	return &p.types.Messages
}

// Debug turns packing off: every component and message is sent byte by byte, each field at the size and with the value
// that it has in memory, so that a dump of packets can be read by eye. Call it on both sides, in any order with Replicate
// and Handle: the hash tells a protocol with packing from one without, and a server refuses the other kind. Packets are
// several times as large, so it is for finding faults and not for play. Debug panics on a frozen protocol.
func (p *Protocol) Debug() { p.types.Debug() }

// Plain lets a server also take clients of the plain profile: thin clients, in any language, that read state as whole rows and keep
// no history (docs/plain.md). They share the world, the messages and the inputs with all other clients. What they get is up to 1.5 times
// as large; nothing changes for the others. Only the server calls it, in any order with Replicate and Handle. The plain variant of the
// protocol has a hash of its own, by which the server knows such a client, also one of an older build (Support). Plain panics on a
// frozen protocol, and the first NewServer does where packing is off (Debug).
func (p *Protocol) Plain() { p.types.Plain() }

// UseTables makes state use prefix codes that were trained on recordings of the user's own game, in place of those
// that ship, which know motion in general. Call it on both sides, in any order with Replicate and Handle: the hash
// tells protocols with other tables. Components that the tables do not know use the tables that the same training made for fields
// of their kind. UseTables panics on a frozen protocol; NewServer and NewClient do where a component that the tables know has
// other fields now, in number or kind. Steps and ranges may change: the codes then fit less well, until they are trained anew.
func (p *Protocol) UseTables(tables *delta.Tables) { p.types.UseTables(tables) }

// WriteSchema writes the canonical description of the protocol as a text to read and to compare line by line: each field is a line. Options
// of components that only the server asks for are in it too. Package schema compares such texts, and keeps one in a file.
// WriteSchema freezes the protocol. The error is that of w.
func (p *Protocol) WriteSchema(w io.Writer) error {
	p.freeze()
	return p.types.WriteSchema(w)
}

// Support lets the ends of this protocol play with ends of an older build, whose protocol was description, as Protocol.Description lists
// it; package schema reads it from a lock file. Give it to the newer build alone. The newer end then speaks the older protocol:
// components, fields of components and messages that the older build lacks are left out. The older build needs no change.
//
// All entries of the older build must be here unchanged, but for messages, which may be gone. Else the first NewServer or NewClient panics
// and names the entry. A component that has more fields takes a second place among the components of the protocol, and
// memory of one more at the server; it has neither bands nor is it written by clients. A client reads zero from a field that an older server lacks.
//
// Support panics on a frozen protocol, and on more than 8 builds. A description that is the protocol's own changes nothing.
func (p *Protocol) Support(description []string) { p.types.Support(description) }

// mustBeOpen panics when it is too late to register.
func (p *Protocol) mustBeOpen(call string, t fmt.Stringer) {
	if p == nil {
		panic(fmt.Sprintf("netcode: %s[%s]: the protocol is nil: make it with NewProtocol", call, t))
	}
	p.types.MustBeOpen(call, t)
}

// inside is the door to a server, a client or a protocol. Packages extend and steps open it; games do not see it.
type inside = door.Door

// protocolInside is a protocol with the methods that games do not see. It implements extend.Protocol.
type protocolInside struct{ *Protocol }

// Extensions returns the states of the protocol's extensions.
func (p protocolInside) Extensions() []any { return p.extended }

// Settings returns the settings of a component, for extend.SettingOf.
func (p protocolInside) Settings(row int) []any { return p.types.Settings(row) }

// Plan implements extend.Protocol.
func (p protocolInside) Plan(call string, t reflect.Type, options ...extend.Option) *quantize.Plan {
	p.mustBeOpen(call, t)
	r := register(call, t, options)
	return p.types.Plan(call, t, &r)
}

// MustBeOpen implements extend.Protocol.
func (p protocolInside) MustBeOpen(call string, t fmt.Stringer) { p.mustBeOpen(call, t) }

// MustBeName implements extend.Protocol.
func (p protocolInside) MustBeName(call string, t fmt.Stringer, name string) {
	registry.MustBeName(call, t, name)
}

// HandleRaw implements extend.Protocol.
func (p protocolInside) HandleRaw(call string, m extend.RawMessage) extend.Raw {
	p.mustBeOpen(call, m.Marker)
	return p.types.HandleRaw(call, m)
}

// Extend adds a feature to the protocol: on every server and client that is made for it. It panics on a name that is taken, and
// on a frozen protocol.
func (p protocolInside) Extend(e extend.Extension) {
	p.MustBeOpen("Extend", extensionName(e.Name))
	p.types.Extend(e.Feature())
	p.extensions = append(p.extensions, e)
	if e.State != nil {
		p.extended = append(p.extended, e.State)
	}
}

// extensionName is the name of an extension in errors.
type extensionName string

// String implements fmt.Stringer.
func (n extensionName) String() string { return string(n) }

// Replicate registers component T: on every entity that has components.Replicated, T is sent to the clients. Call
// it on both sides. T must be blittable; struct tags set the encoding of its fields (see quantize.Compile). A field of Arche's
// ecs.Entity with the tag net:"entity" names on each client the entity there that replicates the server's, and so does
// the target of a T that is an Arche relation; both are the zero entity where a client has none. Replicate panics, naming
// the type and the field, on a type that cannot be sent, on a wire name or a type that is registered already, on Once with
// Every, and on a frozen protocol.
func Replicate[T any](p *Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Replicate", t)
	r := register("Replicate", t, options)
	plan := p.types.AddComponent(t, &r)
	for _, set := range r.Set {
		set(p, plan)
	}
}

// Option adjusts one registration, or one message. For Replicate there are Named, Every, Once, Marked, Importance, Bands and
// ExtrapolatedBy; for Handle and Answer Named, NamedAnswer, AtStage, Over, OnChannel, FromClient, FromServer and OwnerOnly. Send,
// Call and Reply take AtStage, Over, OnChannel, NotBefore, About, AtOnce, AfterAllState and Within, which count for that message.
// The zero value sets nothing.
type Option registry.Option

// registering makes an option of registrations alone.
func registering(f func(r *registry.Options)) Option { return Option{Register: f} }

// register collects the options. Without Named, the wire name is the type's own name.
func register[O ~[]E, E Option | extend.Option](call string, t reflect.Type, options O) registry.Options {
	r := registry.Options{Name: t.Name()}
	for i := range options {
		option := registry.Option(options[i])
		r.Take(call, t, &option)
	}
	r.MustFit(call, t)
	return r
}

// Named gives a type another wire name than its own, which is the name of the type without its package. Wire names are unique
// in a protocol, and the two ends compare them: a type may be renamed or moved as long as its wire name stays.
func Named(name string) Option { return registering(func(r *registry.Options) { r.Name = name }) }

// NamedAnswer gives the answer of Answer another wire name than that of its type.
func NamedAnswer(name string) Option {
	return registering(func(r *registry.Options) { r.Answer, r.Last = name, "NamedAnswer" })
}

// AtStage sets the stage of the receiver's frame in which a message's handler runs: of Handle and Answer for all messages, of Send for
// one. Without it that is the stage that the sender is in. An ordered channel keeps its order across stages: a message for an
// earlier stage than the one before it waits for the next frame. On other channels a stage that comes earlier goes first.
func AtStage(stage tick.Stage) Option { return Option{What: registry.OptionStage, Stage: stage} }

// Over sets the mode of delivery of a message: of Handle and Answer for all messages, of Send for one. It is Unreliable without this
// option, and Reliable for the questions of Answer.
func Over(delivery wire.Delivery) Option {
	return Option{What: registry.OptionDelivery, Delivery: delivery}
}

// OnChannel sets the number of the channel of a message, 0 to 63: of Handle and Answer for all messages, of Send and Call for one. Each
// mode of delivery has channels of its own; channels do not affect each other's order or loss.
func OnChannel(number int) Option { return Option{What: registry.OptionChannel, Number: number} }

// FromClient lets only clients send a message. A server that sends one breaks the connection, as malformed.
func FromClient() Option {
	return registering(func(r *registry.Options) { r.Direction, r.Last = message.FromClient, "FromClient" })
}

// FromServer lets only the server send a message. A client that sends one loses its connection, as malformed.
func FromServer() Option {
	return registering(func(r *registry.Options) { r.Direction, r.Last = message.FromServer, "FromServer" })
}

// OwnerOnly lets a client send a message only About an entity that belongs to it (Server.SetOwner). One about another's is
// dropped and counted when its stage comes, since ownership may have changed on the way; one about none ends the connection.
func OwnerOnly() Option {
	return registering(func(r *registry.Options) { r.OwnerOnly, r.Last = true, "OwnerOnly" })
}

// ExtrapolatedBy gives a component an extrapolation function of its own. From the two versions of a row that both ends have, it
// computes the next one, and only the difference is sent. It can use facts that netcode does not know: gravity, the track
// of a train. Give the same function under the same name on both sides; the hash holds the name. The
// function must come to the same on every machine, see quantize.Extrapolation. ExtrapolatedBy panics on a name that is not 1 to 64
// letters, digits, dots, dashes and underscores.
func ExtrapolatedBy(name string, f quantize.Extrapolation) Option {
	if f == nil {
		panic("netcode: ExtrapolatedBy: no function")
	}
	return registering(func(r *registry.Options) { r.Extrapolator, r.Extrapolate = name, f })
}

// Every sends a component at most once in so many ticks, 1 to 65535. A value that is written meanwhile is sent at the
// next turn. Adding or removing the component does not wait, nor does a new entity, nor do the components that control
// replication, such as components.Owner. Which ticks are a
// component's turn depends on its entity, so that not all entities have theirs at once; those of one components.Group have
// theirs together, and stay whole where they are captured equally often. A components.Rate on an entity
// does the same for all its components; the slower of the two counts. Only the server asks for it, so the two ends may
// differ. Every panics outside its range, and Replicate when Once is asked for too.
func Every(ticks int) Option {
	if ticks < 1 || ticks > registry.MaxEvery {
		panic(fmt.Sprintf("netcode: Every(%d): a component is sent every 1 to %d ticks", ticks, registry.MaxEvery))
	}
	return registering(func(r *registry.Options) { r.Rows.Every = ticks })
}

// Once sends a component when it is added to an entity, with the value that it has in the next capture, and never
// again while it stays there: for values that an entity has for life. Only the server asks for it. It does not go with Every.
func Once() Option { return registering(func(r *registry.Options) { r.Rows.Once = true }) }

// Marked sends a component only when game code marks it as written, with systems.Mark, or when its entity is new. It is
// not compared any more, and costs nothing where nothing was written. A write without a mark is not sent until the next marked
// one. Removing it and adding it again between two captures is a write, and needs a mark. Only the server asks for it.
func Marked() Option { return registering(func(r *registry.Options) { r.Rows.Marked = true }) }

// Importance sets the weight of a component's changes where the bandwidth does not suffice for all: 1 is normal, 0 to 255 in
// steps of 1/256, and 0 counts as 1/256. An entity waits with the highest importance of its components that have
// changed, times its components.Priority, times its relevance to the client; one record brings all of them. One of twice the
// product is sent twice as often. Only the server asks for it, so the two ends may differ. Importance panics outside its range.
func Importance(weight float32) Option {
	importance, fault := snapshot.WeightOf(weight)
	if fault != wire.NoFault {
		panic(fmt.Sprintf("netcode: Importance(%v): it is 0 to 255, and 1 is normal", weight))
	}
	return registering(func(r *registry.Options) { r.Rows.Importance = importance })
}

// Band is a distance band of a component: how a client that is far from an entity gets it.
type Band struct {
	// Beyond is the distance from the client's viewpoint at which the band begins, in the game's unit of length: finite, above 0, and
	// above that of the band before.
	Beyond float32
	// Scale is the number of the component's steps that make one step of the band: a power of two, at least that of the band before. 0
	// is 1. An angle and a quaternion lose a bit for each doubling.
	Scale int
	// Every sends the component at most once in so many ticks in this band, as the option Every does. 0 and 1 are each tick.
	Every int
}

// Bands makes clients get a component in coarser steps, or less often, of entities that are far from their viewpoints. An interest.Bands
// of the server measures the distances: without one every client gets the component as it is, and OnError is told. Each client has
// exactly the value that the band sends. When it comes nearer, the finer value replaces it in one tick. The client that owns an entity
// gets its components as they are.
//
// A band takes a place among the components of the protocol, and memory of one more component at the server; clients in the same band share its
// encoded deltas. Bands panics without a band, and Replicate, naming the type, where the bands are not in order, a
// band is neither coarser nor slower than the component, no field has steps, or the component names entities, has texts or lists, or
// extrapolates by a function of its own.
func Bands(bands ...Band) Option {
	if len(bands) == 0 {
		panic("netcode: Bands: give it a Band for each distance at which precision or rate changes")
	}
	return registering(func(r *registry.Options) {
		for _, b := range bands {
			r.Bands = append(r.Bands, registry.Band(b))
		}
	})
}

// The names that game code uses most, so that it mostly needs to import this package only.
type (
	// ClientID names a client; 0 is the server. See [wire.ClientID].
	ClientID = wire.ClientID
	// NetworkID names an entity on every machine. See [wire.NetworkID].
	NetworkID = wire.NetworkID
	// Tick numbers a network step, from 1. See [tick.Tick].
	Tick = tick.Tick
	// Context is the sender, the stage and the tick of a message. See [message.Context].
	Context = message.Context
	// CloseError is the end of a connection, or of an attempt: a Reason and a detail for people. errors.Is compares
	// it with the values of Reason. See [errs.CloseError].
	CloseError = errs.CloseError
)

// More names that game code uses.
type (
	// Endpoint is a *Server or a *Client, as a handler finds it in Context.End, or a type that embeds one, as those of package nettest.
	// See [message.Endpoint].
	Endpoint = message.Endpoint
)

// The modes of delivery.
const (
	Unreliable          = wire.Unreliable          // At most once, in any order.
	UnreliableSequenced = wire.UnreliableSequenced // At most once, never after a later one of its channel.
	Reliable            = wire.Reliable            // Exactly once while the connection lasts, in any order.
	ReliableOrdered     = wire.ReliableOrdered     // Exactly once, in the order of the channel.
)

// String tells the number of components and messages. It does not freeze the protocol.
func (p *Protocol) String() string { return p.types.String() }

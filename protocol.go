package netcode

import (
	"fmt"
	"reflect"
	"sort"
	"sync"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Protocol lists the component and message types that both ends must share, and their encoding. Build it once with NewProtocol, Replicate and Handle, on server and client alike; the order of those
// calls does not matter. The first NewServer or NewClient freezes it, and from then on any number of servers and
// clients, on any goroutines, may share it.
type Protocol struct {
	components []*quantize.Plan
	rows       map[*quantize.Plan]snapshot.RowOptions // looked up only
	messages   message.Registry
	handled    []handled
	roles      [1 << 8]role           // By number, once frozen.
	naming     [1 << 8]*quantize.Plan // Likewise, of types whose fields name entities.
	raws       []*RawMessage
	rawOf      [1 << 8]*RawMessage // By number, once frozen.

	tables *delta.Tables // Nil: those that ship.

	extensions []Extension
	extended   []any           // Their states.
	plans      []extensionPlan // Of their packet sections.
	sections   wire.MessageType
	upstream   bool // Clients send state: an extension's Upstream.
	described  described
	settings   [][]any // Of components, by row, once frozen.
	banded     []bandedPlan
	forms      []bandedPlan // Components with fewer fields in older builds, in bandedPlan.bands.

	freezing sync.Once
	frozen   bool
	unpacked bool

	schema *snapshot.Schema
	canon  canon.Description

	supported [][]string // Descriptions of older builds,
	older     []*older   // and once frozen their plans.
}

// NewProtocol makes an empty protocol: no components, no messages.
func NewProtocol() *Protocol { return &Protocol{rows: map[*quantize.Plan]snapshot.RowOptions{}} }

// Hash returns the number that both ends must share to connect: FNV-1a 64 over the canonical descriptions of everything in
// the protocol (PROTOCOL.md gives the text). It does not depend on the order of registration. Asking freezes the
// protocol.
func (p *Protocol) Hash() uint64 {
	p.freeze()
	return p.canon.Hash
}

// Description lists the entries of the canonical description in their order: the text that Hash is computed over. Asking
// freezes the protocol.
func (p *Protocol) Description() (entries []string) {
	p.freeze()
	for _, e := range p.canon.Entries {
		entries = append(entries, e.Text)
	}
	return entries
}

// Schema lists the components in the protocol's canonical order, by wire name: a component's place is its row
// number. Asking freezes the protocol.
func (p *Protocol) Schema() *snapshot.Schema {
	p.freeze()
	return p.schema
}

// Messages lists the message types, with their numbers. Asking freezes the protocol.
func (p *Protocol) Messages() *message.Registry {
	p.freeze()
	return &p.messages
}

// Debug turns packing off: every component and message is sent byte by byte, each field at the size and with the value
// that it has in memory, so that a dump of packets can be read by eye. Call it on both sides, in any order with Replicate
// and Handle: the hash tells a protocol with packing from one without, and a server refuses the other kind. Packets are
// several times as large, so it is for finding faults and not for play. Debug panics on a frozen protocol.
func (p *Protocol) Debug() {
	if p.frozen {
		panic("netcode: Debug: the protocol is frozen: turn packing off before the first NewServer or NewClient")
	}
	p.unpacked = true
}

// UseTables makes state use prefix codes that were trained on recordings of the user's own game, in place of those
// that ship, which know motion in general. Call it on both sides, in any order with Replicate and Handle: the hash
// tells protocols with other tables. Components that the tables do not know use the tables that the same training made for fields
// of their kind. UseTables panics on a frozen protocol; NewServer and NewClient do where a component that the tables know has
// other fields now, in number or kind. Steps and ranges may change: the codes then fit less well, until they are trained anew.
func (p *Protocol) UseTables(tables *delta.Tables) {
	if p.frozen {
		panic("netcode: UseTables: the protocol is frozen: choose the tables before the first NewServer or NewClient")
	}
	p.tables = tables
}

// freeze ends registration: it sorts the components, numbers the messages and computes the hash.
func (p *Protocol) freeze() {
	p.freezing.Do(func() {
		p.frozen = true
		sort.Slice(p.components, func(a, b int) bool { return p.components[a].Name() < p.components[b].Name() })
		sort.Slice(p.handled, func(a, b int) bool { return p.handled[a].of.Name < p.handled[b].of.Name })
		if p.unpacked {
			p.turnPackingOff()
		}
		p.addForms()
		p.messages.Freeze()
		for _, h := range p.handled {
			p.roles[h.of.ID()] = h.role
		}
		p.numberRaws()
		p.noteNaming()
		p.schema = format.NewSchema(p.components)
		p.setTables()
		for row, plan := range p.components {
			p.schema.SetOptions(row, p.rows[plan])
		}
		p.setBands()
		p.freezeExtensions()
		p.describeBands()
		p.canon = canon.New(append(p.describe(), p.described.behind...))
		p.freezeOlder()
	})
}

// setTables makes state travel in the chosen codes, or in those that ship. With packing off there are none.
func (p *Protocol) setTables() {
	if p.unpacked {
		return
	}
	var source delta.TableSource = delta.Shipped()
	if p.tables != nil {
		source = p.tables.Over(source)
	}
	switch err := p.schema.SetTables(delta.Ready(source)); {
	case err == nil:
	case p.tables != nil:
		panic(fmt.Sprintf("netcode: UseTables: these tables were trained for another protocol, or for what this one was before a component changed: train them anew (%v)", err))
	default:
		panic(fmt.Sprintf("netcode: %v", err))
	}
}

// describeTables returns the tables' part of the canonical description: the hash of the shipped ones and, behind a plus, of the
// chosen ones.
func (p *Protocol) describeTables() string {
	text := fmt.Sprintf("%016x", delta.Shipped().Hash())
	if p.tables != nil && !p.unpacked {
		text += fmt.Sprintf("+%016x", p.tables.Hash())
	}
	return text
}

// turnPackingOff makes every type travel in the debug encoding.
func (p *Protocol) turnPackingOff() {
	for _, plan := range p.components {
		plan.Debug()
	}
	for _, own := range p.plans {
		own.plan.Debug()
	}
	p.messages.Debug()
}

// answers returns nil for a question that was registered with that answer, and else the error.
func (p *Protocol) answers(q, r reflect.Type) error {
	of := p.messages.ByGoType(q)
	for _, h := range p.handled {
		switch {
		case of == nil || h.of != of:
		case h.role == alone:
			return fmt.Errorf("%w: %s is no question: it was registered with Handle", ErrQuestion, q)
		case h.role == answer:
			return fmt.Errorf("%w: %s is no question: it is the answer to one", ErrQuestion, q)
		case h.answer != r:
			return fmt.Errorf("%w: %s is answered by %s, not by %s", ErrQuestion, q, h.answer, r)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s: give it to Answer on both sides", ErrNotRegistered, q)
}

// MustBeOpen panics when it is too late to register.
func (p *Protocol) MustBeOpen(call string, t fmt.Stringer) {
	if p == nil {
		panic(fmt.Sprintf("netcode: %s[%s]: the protocol is nil: make it with NewProtocol", call, t))
	}
	if p.frozen {
		panic(fmt.Sprintf("netcode: %s[%s]: the protocol is frozen: register everything before the first NewServer or NewClient, and before Schema and Hash", call, t))
	}
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
	return func(r *registration) { r.extrapolator, r.extrapolate = name, f }
}

// Every sends a component at most once in so many ticks, 1 to 65535. A value that is written meanwhile is sent at the
// next turn. Adding or removing the component does not wait, nor does a new entity, nor do the components that control
// replication, such as components.Owner. Which ticks are a
// component's turn depends on its entity, so that not all entities have theirs at once; those of one components.Group have
// theirs together, and stay whole where they are captured equally often. A components.Rate on an entity
// does the same for all its components; the slower of the two counts. Only the server asks for it, so the two ends may
// differ. Every panics outside its range, and Replicate when Once is asked for too.
func Every(ticks int) Option {
	if ticks < 1 || ticks > maxEvery {
		panic(fmt.Sprintf("netcode: Every(%d): a component travels every 1 to %d ticks", ticks, maxEvery))
	}
	return func(r *registration) { r.rows.Every = ticks }
}

// maxEvery is the most that Every takes, as components.Rate does.
const maxEvery = 1<<16 - 1

// Once sends a component when it is added to an entity, with the value that it has in the next capture, and never
// again while it stays there: for values that an entity has for life. Only the server asks for it. It does not go with Every.
func Once() Option { return func(r *registration) { r.rows.Once = true } }

// Marked sends a component only when game code marks it as written, with systems.Mark, or when its entity is new. It is
// not compared any more, and costs nothing where nothing was written. A write without a mark is not sent until the next marked
// one; Capture.CheckMarks of package systems finds such writes in tests. Removing it and adding it again between two captures
// is a write, and needs a mark. Only the server asks for it.
func Marked() Option { return func(r *registration) { r.rows.Marked = true } }

// Importance sets the weight of a component's changes where the bandwidth does not suffice for all: 1 is normal, 0 to 255 in
// steps of 1/256, and 0 counts as 1/256. An entity waits with the highest importance of its components that have
// changed, times its components.Priority, times its relevance to the client; one record brings all of them. One of twice the
// product is sent twice as often. Only the server asks for it, so the two ends may differ. Importance panics outside its range.
func Importance(weight float32) Option {
	importance, fault := snapshot.WeightOf(weight)
	if fault != wire.NoFault {
		panic(fmt.Sprintf("netcode: Importance(%v): it is 0 to 255, and 1 is normal", weight))
	}
	return func(r *registration) { r.rows.Importance = importance }
}

// Replicate registers component T: on every entity that has components.Replicated, T is sent to the clients. Call
// it on both sides. T must be blittable; struct tags set the encoding of its fields (see quantize.Compile). A field of Arche's
// ecs.Entity with the tag net:"entity" names on each client the entity there that replicates the server's, and so does
// the target of a T that is an Arche relation; both are the zero entity where a client has none. Replicate panics, naming
// the type and the field, on a type that cannot be sent, on a wire name or a type that is registered already, on Once with
// Every, and on a frozen protocol.
func Replicate[T any](p *Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	p.MustBeOpen("Replicate", t)
	r := register("Replicate", t, options)
	if r.last != "" {
		panic(fmt.Sprintf("netcode: Replicate[%s]: %s is an option of messages, for Handle and Answer: a component is sent as state, without it", t, r.last))
	}
	if r.rows.Once && r.rows.Every > 0 {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Once and Every(%d) contradict each other: what travels once has no next turn", t, r.rows.Every))
	}
	if t == reflect.TypeFor[components.Replicated]() {
		panic("netcode: Replicate[components.Replicated]: netcode writes this component itself and never sends it")
	}
	if len(p.components) == snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a protocol holds at most %d components%s", t, snapshot.MaxRows, snapshot.MoreRows))
	}
	plan := compile("Replicate", t, r.name)
	for _, other := range p.components {
		mustDiffer("Replicate", t, r.name, other.Type(), other.Name())
	}
	if r.extrapolate != nil {
		plan.ExtrapolateBy(r.extrapolator, r.extrapolate)
	}
	p.components = append(p.components, plan)
	for _, set := range r.set {
		set(p, plan)
	}
	if r.rows != (snapshot.RowOptions{}) {
		p.rows[plan] = r.rows
	}
	if r.bands != nil {
		p.addBands(t, plan, &r)
	}
}

// compile turns T into its list of fields, or panics with the field that cannot be sent. Events are refused.
func compile(call string, t reflect.Type, name string) *quantize.Plan {
	plan := compileEvents(call, t, name)
	if plan.Events() {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, quantize.ErrEvents))
	}
	return plan
}

// compileEvents is compile for a type that may have events.
func compileEvents(call string, t reflect.Type, name string) *quantize.Plan {
	plan, err := quantize.Compile(t, name)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
	}
	if call != "Replicate" {
		if err := plan.CheckHandles(); err != nil {
			panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
		}
	}
	return plan
}

// mustDiffer panics when two registrations share a wire name or a type.
func mustDiffer(call string, t reflect.Type, name string, other reflect.Type, otherName string) {
	if t == other {
		panic(fmt.Sprintf("netcode: %s[%s]: this type is registered already, as %q", call, t, otherName))
	}
	if name == otherName {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q is taken by %s: use the option Named", call, t, name, other))
	}
}

// Option adjusts one registration: Named for all, Every, Once, Marked, Importance and Bands for Replicate, the others for Handle and Answer.
type Option func(*registration)

// registration is the result of the options of one Replicate, Handle or Answer.
type registration struct {
	name      string
	stage     tick.Stage
	staged    bool
	delivery  wire.Delivery
	delivered bool
	number    int
	direction message.Direction
	ownerOnly bool
	answer    string // Wire name of a question's answer.
	last      string // The last option that is for messages only.
	rows      snapshot.RowOptions
	component string                                   // The name of an extension's option of Replicate,
	set       []func(p *Protocol, plan *quantize.Plan) // and what it does.
	bands     []Band

	extrapolator string
	extrapolate  quantize.Extrapolation
}

// Named gives a type another wire name than its own, which is the name of the type without its package. Wire names are unique
// in a protocol, and the two ends compare them: a type may be renamed or moved as long as its wire name stays.
func Named(name string) Option { return func(r *registration) { r.name = name } }

// NamedAnswer gives the answer of Answer another wire name than that of its type.
func NamedAnswer(name string) Option {
	return func(r *registration) { r.answer, r.last = name, "NamedAnswer" }
}

// AtStage sets the stage of the receiver's frame in which a message's handler runs, unless the sender sets another with
// InStage. Without it that is the stage that the sender is in.
func AtStage(stage Stage) Option {
	return func(r *registration) { r.stage, r.staged, r.last = stage, true, "AtStage" }
}

// Over sets the mode of delivery of a message, unless the sender sets another with Via. It is Unreliable without this option,
// and Reliable for the questions of Answer.
func Over(delivery Delivery) Option {
	return func(r *registration) { r.delivery, r.delivered, r.last = delivery, true, "Over" }
}

// OnChannel sets the number of the channel of a message, 0 to 63, unless the sender sets another with
// Channel. OnChannel is an option of Handle and Answer, Channel of Send and Call. Each mode of delivery has channels of its
// own; channels do not affect each other's order or loss.
func OnChannel(number int) Option {
	return func(r *registration) { r.number, r.last = number, "OnChannel" }
}

// FromClient lets only clients send a message. A server that sends one breaks the connection, as malformed.
func FromClient() Option {
	return func(r *registration) { r.direction, r.last = message.FromClient, "FromClient" }
}

// FromServer lets only the server send a message. A client that sends one loses its connection, as malformed.
func FromServer() Option {
	return func(r *registration) { r.direction, r.last = message.FromServer, "FromServer" }
}

// OwnerOnly lets a client send a message only About an entity that belongs to it (Server.SetOwner). One about another's is
// dropped and counted when its stage comes, since ownership may have changed on the way; one about none ends the connection.
func OwnerOnly() Option { return func(r *registration) { r.ownerOnly, r.last = true, "OwnerOnly" } }

// register collects the options; the wire name is the type's own unless Named says otherwise.
func register(call string, t reflect.Type, options []Option) registration {
	r := registration{name: t.Name()}
	for _, option := range options {
		option(&r)
	}
	for _, of := range [...]struct {
		given bool
		text  string
	}{
		{r.extrapolate != nil, "ExtrapolatedBy is for components: of messages nothing is extrapolated"},
		{r.set != nil, r.component + " is for components"},
		{r.bands != nil, "Bands is for components: a message travels as it is"},
		{r.rows != (snapshot.RowOptions{}), "Every, Once, Marked and Importance are for components: a message travels when it is sent"},
	} {
		if of.given && call != "Replicate" {
			panic(fmt.Sprintf("netcode: %s[%s]: %s", call, t, of.text))
		}
	}
	if r.name == "" && t.Kind() != reflect.Struct {
		compile(call, t, "unnamed") // It panics with the reason where such a type cannot travel.
	}
	MustBeName(call, t, r.name)
	return r
}

// maxName is the longest wire name, in bytes.
const maxName = 128

// MustBeName panics on a name that cannot be a wire name. call is the function that was given the name, t its type.
func MustBeName(call string, t fmt.Stringer, name string) {
	if !legalName(name) {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q must be 1 to %d printable ASCII characters without space, brace or semicolon: choose another, for a type by the option Named",
			call, t, name, maxName))
	}
}

// legalName reports whether a wire name can stand in a canonical description without ambiguity.
func legalName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ' || c > '~', c == '{', c == '}', c == ';':
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// Kinds of entries, as they stand in a canonical description.
const (
	kindLimits    = "limits"
	kindComponent = "component"
	kindMessage   = "message"
	kindSection   = "section"
)

// limitOfRows returns the limit on components as it stands in the description. A protocol that any build may have is the same in all.
func limitOfRows(components int) int {
	if components <= 64 {
		return 64
	}
	return snapshot.MaxRows
}

// describe lists the entries of limits, components and messages in canonical order; the lists are sorted by wire name.
func (p *Protocol) describe() []canon.Entry {
	entries := make([]canon.Entry, 0, 1+len(p.components)+len(p.handled))
	limits := fmt.Sprintf("%s netcode{version:%d;acks:33;rows:%d;entities:%d;window:%d..%d;packet:%d..%d;reliable:%d;credit:%d;fragments:%d", kindLimits,
		peer.Version, limitOfRows(len(p.components)-p.schema.Older.Count()), snapshot.MaxEntities, MinWindow, MaxWindow, MinPacketSize, MaxPacketSize,
		peer.ReliableWindow, peer.InitialCredit, peer.MaxFragments)
	limits += ";tables:" + p.describeTables()
	if p.unpacked {
		limits += ";unpacked"
	}
	limits += "}"
	entries = append(entries, canon.Entry{Kind: kindLimits, Name: "netcode", Text: limits})
	for row, plan := range p.components {
		if !p.schema.Older.Has(row) {
			e := describePlan(kindComponent, plan)
			e.Text += p.described.components[row]
			entries = append(entries, e)
		}
	}
	entries = append(entries, p.described.before...)
	for _, m := range p.handled {
		entries = append(entries, describeMessage(m))
	}
	return entries
}

// describePlan is the entry of one type.
func describePlan(kind string, plan *quantize.Plan) canon.Entry {
	text := plan.Describe(append([]byte(kind), ' '))
	return canon.Entry{Kind: kind, Name: plan.Name(), Text: string(text)}
}

// describeMessage is the entry of one message type. Questions and answers say so after the rest.
func describeMessage(m handled) canon.Entry {
	text := m.of.Describe([]byte(kindMessage + " "))
	switch m.role {
	case question:
		text = append(text, "[question]"...)
	case answer:
		text = append(text, "[answer]"...)
	}
	return canon.Entry{Kind: kindMessage, Name: m.of.Name, Text: string(text)}
}

// The names that game code meets most, so that it mostly needs to import this package only.
type (
	// Replicated on an entity makes it exist on every client that may see it. See [components.Replicated].
	Replicated = components.Replicated
	// ClientID names a client; 0 is the server. See [wire.ClientID].
	ClientID = wire.ClientID
	// NetworkID names an entity on every machine. See [wire.NetworkID].
	NetworkID = wire.NetworkID
	// Addr is the address of a peer, as its transport names it. See [transport.Addr].
	Addr = transport.Addr
	// Move is a change of the path to a peer, below its address. See [transport.Move].
	Move = transport.Move
	// Tick numbers a network step, from 1. See [tick.Tick].
	Tick = tick.Tick
	// Stage is a point in the frame. See [tick.Stage].
	Stage = tick.Stage
	// Context is the sender, the stage and the tick of a message. See [message.Context].
	Context = message.Context
	// CloseError is the end of a connection, or of an attempt: a Reason and a detail for people. errors.Is compares
	// it with the values of Reason. See [peer.Error].
	CloseError = peer.Error
	// Reason is the cause of the end of a connection, as a number that travels; its values are the constants of package peer.
	// See [peer.Reason].
	Reason = peer.Reason
	// Replica is a client's copy of the server's world. See [replica.Replica].
	Replica = replica.Replica
)

// The stages of a frame, in order.
const (
	StageInitialization = tick.Initialization // Packets are read.
	StageEarlyUpdate    = tick.EarlyUpdate    // Received state enters the world.
	StageFixedUpdate    = tick.FixedUpdate    // Fixed steps of the game.
	StagePreUpdate      = tick.PreUpdate      // Before the game's update.
	StageUpdate         = tick.Update         // The game's update.
	StagePreLateUpdate  = tick.PreLateUpdate  // After it: the world is captured.
	StagePostLateUpdate = tick.PostLateUpdate // Packets leave.
)

// More names that game code meets.
type (
	// Endpoint is a *Server or a *Client, as a handler finds it in Context.End, or a type that embeds one, as those of package nettest.
	// See [message.Endpoint].
	Endpoint = message.Endpoint
	// Delivery is the mode of delivery of a message. See [wire.Delivery].
	Delivery = wire.Delivery
	// FieldError reports a field of a message with a value that cannot be sent; the message is not sent. See [message.FieldError].
	FieldError = message.FieldError
)

// The modes of delivery.
const (
	Unreliable          = wire.Unreliable          // At most once, in any order.
	UnreliableSequenced = wire.UnreliableSequenced // At most once, never after a later one of its channel.
	Reliable            = wire.Reliable            // Exactly once while the connection lasts, in any order.
	ReliableOrdered     = wire.ReliableOrdered     // Exactly once, in the order of the channel.
)

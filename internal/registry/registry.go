package registry

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Registry has the contents of a protocol. Freeze ends registration; after that any number of goroutines may read it.
type Registry struct {
	Messages message.Registry       // Numbered once frozen.
	Handled  []Handled              // Sorted by wire name once frozen.
	Roles    [1 << 8]Role           // By number, once frozen.
	Naming   [1 << 8]*quantize.Plan // By number, once frozen: types with fields that refer to entities.
	Schema   *snapshot.Schema       // Set by the freeze.
	Canon    canon.Description      // Set by the freeze.
	Upstream bool                   // Clients send state: a feature has Upstream.
	Features []Feature              // In the order of Extend. The freeze sets the types of their sections.

	components []*quantize.Plan
	rows       map[*quantize.Plan]snapshot.RowOptions // Only for lookup.
	tables     *delta.Tables                          // Nil: the shipped tables.
	plans      []featurePlan                          // Of packet sections.
	sections   wire.MessageType
	described  described
	settings   [][]any // By row of a component, once frozen.
	banded     []bandedPlan
	forms      []bandedPlan // Components with fewer fields in older builds; the forms are in bandedPlan.bands.

	frozen   bool
	unpacked bool
	plain    bool // Servers take clients of the plain profile.

	supported [][]string // Descriptions of older builds.
	Older     []*Older   // Their plans, once frozen.
	plains    []*Older   // The plain variants of this build and of Older, once frozen.
}

// New returns an empty registry.
func New() Registry { return Registry{rows: map[*quantize.Plan]snapshot.RowOptions{}} }

// Role is the use of a message type.
type Role uint8

// The roles.
const (
	Alone    Role = iota // Sent by itself.
	Question             // Sent by a call.
	Answer               // The answer to a call.
)

// Handled is a message type and its use.
type Handled struct {
	Type   *message.Type // The registration.
	Role   Role          // The use.
	Answer reflect.Type  // The answer type of a question.
}

// Options has the options of one registration.
type Options struct {
	Name string // The wire name.

	Stage     tick.Stage        // For messages, if Staged.
	Staged    bool              // Stage was given.
	Delivery  wire.Delivery     // For messages.
	Delivered bool              // Delivery was given.
	Channel   int               // For messages, 0 to wire.MaxChannels-1.
	Direction message.Direction // For messages.
	OwnerOnly bool              // Messages are about an entity of their sender.
	Answer    string            // The wire name of a question's answer.
	Last      string            // The name of the last given option that is for messages alone.

	Rows         snapshot.RowOptions    // For components.
	Component    string                 // The name of a feature's option for components.
	Bands        []Band                 // For components.
	Extrapolator string                 // The name of Extrapolate.
	Extrapolate  quantize.Extrapolation // For components; nil: the default.

	// Set is called when the component is registered: the functions of features' options.
	Set []func(protocol any, plan *quantize.Plan)
}

// Option is an option of a registration, of a message, or of both. A value of a message is a field and not a function, so that
// sending allocates nothing.
type Option struct {
	Register func(o *Options) // Changes a registration; nil for an option that a message may have.
	What     OptionKind       // Names the field that counts, if Register is nil.
	Stage    tick.Stage       // OptionStage.
	Delivery wire.Delivery    // OptionDelivery.
	Number   int              // OptionChannel.
	Before   tick.Tick        // OptionBefore.
	After    uint8            // OptionAfter: a held.Wait.
	Entity   wire.NetworkID   // OptionEntity.
	Within   time.Duration    // OptionWithin.
}

// OptionKind tells the field of an Option that counts.
type OptionKind uint8

// The kinds of options that a message may have. The first three may be of a registration too.
const (
	OptionNone OptionKind = iota
	OptionStage
	OptionDelivery
	OptionChannel
	OptionBefore
	OptionEntity
	OptionAfter
	OptionWithin
)

// Take applies the options of a call that registers t.
func (o *Options) Take(call string, t fmt.Stringer, option *Option) {
	switch {
	case option.Register != nil:
		option.Register(o)
	case option.What == OptionStage:
		o.Stage, o.Staged, o.Last = option.Stage, true, "AtStage"
	case option.What == OptionDelivery:
		o.Delivery, o.Delivered, o.Last = option.Delivery, true, "Over"
	case option.What == OptionChannel:
		o.Channel, o.Last = option.Number, "OnChannel"
	case option.What != OptionNone:
		fail(call, t, "About, NotBefore, AtOnce, AfterAllState and Within are for Send and Call: they are of one message")
	}
}

// MustFit panics on options that the call does not accept, and on an illegal wire name.
func (o *Options) MustFit(call string, t reflect.Type) {
	for _, of := range [...]struct {
		given bool
		text  string
	}{
		{o.Extrapolate != nil, "ExtrapolatedBy is for components: of messages nothing is extrapolated"},
		{o.Component != "", o.Component + " is for components"},
		{o.Bands != nil, "Bands is for components: a message is sent as it is"},
		{o.Rows != (snapshot.RowOptions{}), "Every, Once, Marked and Importance are for components: a message is sent when Send is called"},
	} {
		if of.given && call != "Replicate" {
			fail(call, t, "%s", of.text)
		}
	}
	if o.Name == "" && t.Kind() != reflect.Struct {
		compile(call, t, "unnamed") // compile panics with the reason if such a type cannot be sent.
	}
	MustBeName(call, t, o.Name)
}

// fail panics with the error of a registration.
func fail(call string, t fmt.Stringer, format string, args ...any) {
	panic(fmt.Sprintf("netcode: %s[%s]: %s", call, t, fmt.Sprintf(format, args...)))
}

// maxName is the longest wire name, in bytes.
const maxName = 128

// MustBeName panics on a name that would be ambiguous in a canonical description. call is the function that got the name,
// t its type.
func MustBeName(call string, t fmt.Stringer, name string) {
	illegal := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("{};", c) }
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, illegal) {
		fail(call, t, "the wire name %q must be 1 to %d printable ASCII characters without space, brace or semicolon: choose another, for a type by the option Named", name, maxName)
	}
}

// MustBeOpen panics on a frozen protocol.
func (r *Registry) MustBeOpen(call string, t fmt.Stringer) {
	if r.frozen {
		fail(call, t, "the protocol is frozen: register everything before the first NewServer or NewClient, and before Schema and Hash")
	}
}

// mustBeOpenTo is MustBeOpen for a call without a type. advice is a part of the error.
func (r *Registry) mustBeOpenTo(call, advice string) {
	if r.frozen {
		panic(fmt.Sprintf("netcode: %s: the protocol is frozen: %s before the first NewServer or NewClient", call, advice))
	}
}

// Debug turns packing off.
func (r *Registry) Debug() {
	r.mustBeOpenTo("Debug", "turn packing off")
	r.unpacked = true
}

// UseTables sets the code tables of state.
func (r *Registry) UseTables(tables *delta.Tables) {
	r.mustBeOpenTo("UseTables", "choose the tables")
	r.tables = tables
}

// AddComponent registers a component type. It panics on an illegal one.
func (r *Registry) AddComponent(t reflect.Type, o *Options) *quantize.Plan {
	const call = "Replicate"
	switch {
	case o.Last != "":
		fail(call, t, "%s is an option of messages, for Handle and Answer: a component is sent as state, without it", o.Last)
	case o.Rows.Once && o.Rows.Every > 0:
		fail(call, t, "Once and Every(%d) contradict each other: what is sent once has no next turn", o.Rows.Every)
	case t == reflect.TypeFor[components.Replicated]():
		panic("netcode: Replicate[components.Replicated]: netcode writes this component itself and never sends it")
	case len(r.components) == snapshot.MaxRows:
		fail(call, t, "a protocol holds at most %d components%s", snapshot.MaxRows, snapshot.MoreRows)
	}
	plan := compile(call, t, o.Name)
	for _, other := range r.components {
		mustDiffer(call, t, o.Name, other.Type(), other.Name())
	}
	if o.Extrapolate != nil {
		plan.ExtrapolateBy(o.Extrapolator, o.Extrapolate)
	}
	r.components = append(r.components, plan)
	if o.Rows != (snapshot.RowOptions{}) {
		r.rows[plan] = o.Rows
	}
	if o.Bands != nil {
		r.addBands(t, plan, o)
	}
	return plan
}

// compile compiles a type to its list of fields. It panics with the field that cannot be sent. It refuses events.
func compile(call string, t reflect.Type, name string) *quantize.Plan {
	plan := compileEvents(call, t, name)
	if plan.Events() {
		fail(call, t, "%v", quantize.ErrEvents)
	}
	return plan
}

// compileEvents is compile for a type that may have events.
func compileEvents(call string, t reflect.Type, name string) *quantize.Plan {
	plan, err := quantize.Compile(t, name)
	if err == nil && call != "Replicate" {
		err = plan.CheckHandles()
	}
	if err != nil {
		fail(call, t, "%v", err)
	}
	return plan
}

// mustDiffer panics when two registrations share a wire name or a type.
func mustDiffer(call string, t reflect.Type, name string, other reflect.Type, otherName string) {
	if t == other {
		fail(call, t, "this type is registered already, as %q", otherName)
	}
	if name == otherName {
		fail(call, t, "the wire name %q is taken by %s: use the option Named", name, other)
	}
}

// MustTake panics if a message type with these options cannot be added, whatever its fields are.
func (r *Registry) MustTake(call string, t reflect.Type, o *Options) {
	switch {
	case !o.Stage.Valid():
		fail(call, t, "%s is no stage", o.Stage)
	case !o.Delivery.Valid():
		fail(call, t, "%s is no mode of delivery", o.Delivery)
	case o.Channel < 0 || o.Channel >= wire.MaxChannels:
		fail(call, t, "OnChannel(%d): channels are 0 to %d", o.Channel, wire.MaxChannels-1)
	case len(r.Handled) == message.MaxTypes:
		fail(call, t, "a protocol holds at most %d messages", message.MaxTypes)
	}
	for _, other := range r.Handled {
		mustDiffer(call, t, o.Name, other.Type.Codec.GoType(), other.Type.Name)
	}
}

// AddMessage registers a message type with its codec. It panics on a message that is too large. MustTake must have been
// called.
func (r *Registry) AddMessage(call string, o *Options, role Role, answer reflect.Type, codec message.Codec) {
	if size, limit := codec.Size(), maxBody(o.Delivery); size > limit {
		fail(call, codec.GoType(), "a message has at most %d bytes, this one %d", limit, size)
	}
	r.Handled = append(r.Handled, Handled{Role: role, Answer: answer, Type: r.Messages.Add(message.Type{
		Name: o.Name, Codec: codec, Stage: o.Stage, StageGiven: o.Staged, Channel: wire.NewChannel(o.Delivery, o.Channel),
		Direction: o.Direction, OwnerOnly: o.OwnerOnly,
	})})
}

// maxBody returns the largest size of a message with a mode of delivery, in the largest possible packets. A connection
// with smaller packets may accept less; then Send returns an error.
func maxBody(mode wire.Delivery) int {
	if mode.Reliable() {
		return peer.InitialCredit * 3 / 4
	}
	return peer.MaxPayload(peer.MaxSessionPacket)
}

// Freeze ends registration. It sorts the components, numbers the messages and computes the hash. It is called once.
func (r *Registry) Freeze() {
	r.frozen = true
	sort.Slice(r.components, func(a, b int) bool { return r.components[a].Name() < r.components[b].Name() })
	sort.Slice(r.Handled, func(a, b int) bool { return r.Handled[a].Type.Name < r.Handled[b].Type.Name })
	if r.unpacked {
		r.turnPackingOff()
	}
	r.addForms()
	r.Messages.Freeze()
	for _, h := range r.Handled {
		r.Roles[h.Type.ID()] = h.Role
		if plan := h.Type.Codec.Plan(); plan != nil && len(plan.Refs()) > 0 {
			r.Naming[h.Type.ID()] = plan
		}
	}
	r.Schema = format.NewSchema(r.components)
	r.setTables()
	for row, plan := range r.components {
		r.Schema.SetOptions(row, r.rows[plan])
	}
	r.setBands()
	r.freezeFeatures()
	r.describeBands()
	r.Canon = canon.New(append(r.describe(), r.described.behind...))
	r.freezeOlder()
	r.freezePlain()
}

// turnPackingOff sets the debug encoding for every type.
func (r *Registry) turnPackingOff() {
	for _, plan := range r.components {
		plan.Debug()
	}
	for _, own := range r.plans {
		own.plan.Debug()
	}
	r.Messages.Debug()
}

// setTables sets the chosen code tables, or the shipped ones. With packing off there are no tables.
func (r *Registry) setTables() {
	if r.unpacked {
		return
	}
	var source delta.TableSource = delta.Shipped()
	if r.tables != nil {
		source = r.tables.Over(source)
	}
	switch err := r.Schema.SetTables(delta.Ready(source)); {
	case err == nil:
	case r.tables != nil:
		panic(fmt.Sprintf("netcode: UseTables: these tables were trained for another protocol, or for what this one was before a component changed: train them anew (%v)", err))
	default:
		panic(fmt.Sprintf("netcode: %v", err))
	}
}

// String tells the number of components and messages, and the hash of a frozen protocol.
func (r *Registry) String() string {
	text := fmt.Sprintf("protocol of %d components and %d messages", len(r.components), len(r.Handled))
	if r.frozen {
		return fmt.Sprintf("%s, %016x", text, r.Canon.Hash)
	}
	return text + ", open"
}

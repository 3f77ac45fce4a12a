package extend

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Extension is a feature that is built beside the kernel: package input is one, and a game can write its own. A feature
// keeps state with the protocol, with each server and client, and with each session. It gives the kernel functions, which are
// called at fixed points of a frame. A function that is nil costs nothing.
//
// The guide's page docs/guide/extensions.md goes through a feature with a packet section; examples/extension is a whole one.
type Extension struct {
	// Name is for errors, and unique in a protocol.
	Name string
	// State is kept with the protocol: ExtensionOf finds it by its type.
	State any
	// Kind is the first word of the entries that Freezing.Describe adds to the canonical description, on both ends.
	Kind string
	// BeforeMessages puts these entries before those of the messages.
	BeforeMessages bool
	// ToServer and ToClient are the types of the packet sections in the two directions: 0 is none, FreeSection lets the
	// protocol choose. The ends hook them in as ServerHooks.Section and ClientHooks.Section.
	ToServer, ToClient wire.MessageType
	// Upstream lets clients send state: what an extension captures into Client.Upstream, once it called Client.SendState. Without
	// Upstream such state is malformed.
	Upstream bool

	Freeze func(f *Freezing) // The protocol freezes. The rows of the components are known.
	Server ServerSide        // A server is made.
	Client ClientSide        // A client is made.
}

// ServerSide is the side of a feature at servers. Server makes its state and its hooks for one server. It is a method because the
// linker leaves out methods that a program never calls: one that makes no server has no code of servers.
type ServerSide interface {
	Server(s Server) ServerHooks // Called by NewServer.
}

// ClientSide is the side of a feature at clients, as ServerSide.
type ClientSide interface {
	Client(c Client) ClientHooks // Called by NewClient.
}

// FreeSection lets the protocol choose the type of a packet section. The choice is part of the protocol's hash.
const FreeSection = registry.FreeSection

// Freezing is the argument of Extension.Freeze: the protocol as it freezes.
type Freezing struct {
	Schema   *snapshot.Schema // The components, in their rows.
	Unpacked bool             // Protocol.Debug was called: plans of Protocol.Plan are unpacked by now.

	at *registry.Freezing
}

// Describe adds an entry to the canonical description, in the form "kind name{...}": facts that both ends must share. The
// entries of a kind are sorted by name.
func (f *Freezing) Describe(name, text string) { f.at.Describe(name, text) }

// DescribeComponent adds text to the entry of a component, behind its fields: facts that both ends must share.
func (f *Freezing) DescribeComponent(row int, text string) { f.at.DescribeComponent(row, text) }

// Set keeps a setting of a component, for any feature to find it by its type with SettingOf.
func (f *Freezing) Set(row int, setting any) { f.at.Set(row, setting) }

// Feature returns the part of an extension that the registry of a protocol keeps. The protocol calls it.
func (e *Extension) Feature() registry.Feature {
	f := registry.Feature{Name: e.Name, Kind: e.Kind, BeforeMessages: e.BeforeMessages, ToServer: e.ToServer, ToClient: e.ToClient, Upstream: e.Upstream}
	if e.Freeze != nil {
		f.Freeze = func(at *registry.Freezing) { e.Freeze(&Freezing{Schema: at.Schema, Unpacked: at.Unpacked, at: at}) }
	}
	return f
}

// Protocol is a protocol as a feature sees it, at registration. OfProtocol finds it.
type Protocol interface {
	// Extend adds a feature to the protocol: on every server and client that is made for it. It panics on a name that is taken, and
	// on a frozen protocol.
	Extend(e Extension)
	// Plan compiles a type that a feature puts into its packet section, by the rules of Replicate. call is the name of the feature's
	// function, for errors. The only option is Named. Plan panics as Handle does, and on a type or a wire name that was given to
	// Plan for the same call before. Fields that are events are the caller's to refuse.
	Plan(call string, t reflect.Type, options ...Option) *quantize.Plan
	// HandleRaw registers a message type of an extension. call is the name of the extension's function, for errors. It panics as
	// Handle does.
	HandleRaw(call string, m RawMessage) Raw
	// MustBeOpen panics when it is too late to register.
	MustBeOpen(call string, t fmt.Stringer)
	// MustBeName panics on a name that cannot be a wire name. call is the function that was given the name, t its type.
	MustBeName(call string, t fmt.Stringer, name string)
	// Messages lists the message types, with their numbers. Asking freezes the protocol.
	Messages() *message.Registry
	// Schema lists the components: a component's place is its row. Asking freezes the protocol.
	Schema() *snapshot.Schema
}

// Registered is a *netcode.Protocol.
type Registered interface {
	Schema() *snapshot.Schema // The components.
	Hash() uint64             // The hash of everything.
}

// OfProtocol returns a protocol with the calls for features. It panics on a nil one.
func OfProtocol(p Registered) Protocol {
	of, ok := door.Of(p).(Protocol)
	if !ok {
		panic("netcode: the protocol is nil: make it with NewProtocol")
	}
	return of
}

// Option is a netcode.Option: either is converted to the other.
type Option registry.Option

// ForComponent makes an option of Replicate for a feature, to be converted to a netcode.Option: set is called when the component is
// registered, with its plan. The option is refused elsewhere; name is for that error.
func ForComponent(name string, set func(p Registered, plan *quantize.Plan)) Option {
	return Option{Register: func(o *registry.Options) {
		o.Component, o.Set = name, append(o.Set, func(p any, plan *quantize.Plan) {
			if of, ok := p.(Registered); ok {
				set(of, plan)
			}
		})
	}}
}

// ExtensionOf finds the state that a feature keeps with a protocol, a session, an end, or a type that embeds an end, by its type. It
// allocates nothing.
func ExtensionOf[T any](with any) (state T, ok bool) {
	keeper, ok := with.(interface{ Extensions() []any }) // A session, or an end as its hooks were given it.
	if !ok {
		if keeper, ok = door.Of(with).(interface{ Extensions() []any }); !ok {
			return state, false
		}
	}
	for _, one := range keeper.Extensions() {
		if state, ok = one.(T); ok {
			return state, true
		}
	}
	return state, false
}

// SettingOf finds a feature's setting of a component, by the type of the setting. It freezes the protocol.
func SettingOf[T any](p Registered, row int) (setting T, ok bool) {
	p.Schema()
	of, _ := door.Of(p).(interface{ Settings(row int) []any })
	for _, one := range of.Settings(row) {
		if setting, ok = one.(T); ok {
			return setting, true
		}
	}
	return setting, false
}

// Misused tells OnError, and the log, that game code called a feature's function for a type that is not registered. Each call
// and type is told once.
func Misused(end message.Endpoint, call string, t reflect.Type, why error) {
	if e, ok := door.Of(end).(interface {
		Misused(call string, t reflect.Type, why error)
	}); ok {
		e.Misused(call, t, why)
	}
}

// Unstorable is the error of a value with a field that cannot be sent. v points to the value.
func Unstorable(plan *quantize.Plan, v reflect.Value, fault quantize.Fault) error {
	return &errs.UnstorableError{Name: plan.Name(), Field: fault.Field(), Reason: fault.Reason, Detail: plan.Outside(v.Elem(), fault)}
}

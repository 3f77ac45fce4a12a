package input

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// An input section, from a client to the server, type 9:
//
//	 0    1   2      3   4 …
//	+--------+----------+-----------------------------------------------+
//	| newest |  behind  | for each input type, by wire name: its run    |
//	+--------+----------+-----------------------------------------------+
//
//	newest  16 bits LE, the low bits of the newest tick with inputs
//	behind  16 bits LE, the time from the moment that the client presented to the beginning of that tick, in 1/64 tick;
//	        0xFFFE: that or more, 0xFFFF: nothing was presented yet
//	runs    one bit string, least significant bit first: quantize.Plan.WriteRun of the ticks newest-count+1 to newest, oldest
//	        first. A type that was never set has count 0. All other types, at least one, have the same count, 1 to 64.
//	        The last byte is filled with zeros
const (
	headSize      = 4
	behindUnit    = 64
	behindMost    = 0xFFFE
	behindUnknown = 0xFFFF

	// reach is the number of ticks before and after the server's tick whose inputs are accepted, and the most ticks of
	// one section.
	reach = 64
	// maxTypes bounds the input types of a protocol.
	maxTypes = 8
	// maxBits bounds one input. The newest input then fits a packet of the smallest size beside other content.
	maxBits = 8 * (wire.MinPacketSize / 2)
)

// Window is the number of ticks whose inputs a client stores, its own and those of others, so that package predict can replay them. More
// than 64 ticks may lie between the newest state of the server and the client's tick.
const Window = 192

// ErrNotRegistered means that the input type was not registered before the protocol was frozen. Set wraps it with the
// type's name: test with errors.Is.
var ErrNotRegistered = errors.New("netcode: input type not registered: call input.Register on both sides")

// types has the input types of a protocol. The number of a type is its position in the order of wire names.
type types struct {
	plans []*quantize.Plan
	first []int // By number: the offset of its lanes in a row of all types.
	lanes int   // The sum of all types.
	tells bool  // TellUsed was called.

	relays relays
}

// Register makes T an input. Call it on both sides. T is blittable, with the tags of netcode.Replicate. It has no entity
// handles: it refers to an entity by a NetworkID. The only option is netcode.Named.
//
// Most fields are state: sticks, held keys. The last value of Set is the input of every tick until the next Set. It also
// replaces inputs that did not arrive.
//
// A press that must count once is an event: a field tagged `net:"event"`, a bool or an unsigned integer of bits. Set it
// in the frame of the press. It is set in the input of exactly one tick, at any rate of frames and ticks: the next tick
// that begins at the client takes the presses of the frames since the last tick.
//
// A press that arrives after its tick was simulated is in the input of the next tick, if it is at most 63 ticks late. A
// field tagged `net:"event=count"` adds the values of the frames instead: notches of a wheel, several presses in a tick.
// Presses are dropped while the client is not connected.
//
// Register panics with the names of the type and the field in these cases: a type that cannot be sent, more than 1024
// bits, a wire name or type that is an input already, more than 8 inputs, a frozen protocol.
func Register[T any](p *netcode.Protocol, options ...netcode.Option) {
	t := reflect.TypeFor[T]()
	var named []extend.Option
	for _, option := range options {
		named = append(named, extend.Option(option))
	}
	plan := extend.OfProtocol(p).Plan("input.Register", t, named...)
	all := typesOf(p)
	if len(all.plans) == maxTypes {
		panic(fmt.Sprintf("netcode: input.Register[%s]: a protocol has at most %d inputs", t, maxTypes))
	}
	if plan.Bits() > maxBits || plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: input.Register[%s]: an input has 1 to %d bits, this one %d", t, maxBits, plan.Bits()))
	}
	all.plans = append(all.plans, plan)
}

// typesOf returns the inputs of a protocol. The first call adds the extension.
func typesOf(p *netcode.Protocol) *types {
	all, ok := extend.ExtensionOf[*types](p)
	if !ok {
		all = &types{}
		extend.OfProtocol(p).Extend(all.extension())
	}
	return all
}

// extension returns the extension of a protocol with inputs.
func (in *types) extension() extend.Extension {
	return extend.Extension{
		Name: "input", State: in,
		Kind: "input", BeforeMessages: true,
		ToServer: wire.MessageInput, ToClient: wire.MessageFeedback,
		Freeze: in.freeze, Server: in, Client: in,
	}
}

// Server implements extend.ServerSide.
func (in *types) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	a := newQueues(in, serverClock{s, with})
	a.recorder = newRecorder(a, s)
	return a.hooks()
}

// Client implements extend.ClientSide.
func (in *types) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	return newInputBuffer(in, c).hooks(c)
}

// freeze sorts the inputs by wire name.
func (in *types) freeze(f *extend.Freezing) {
	slices.SortFunc(in.plans, func(a, b *quantize.Plan) int { return strings.Compare(a.Name(), b.Name()) })
	in.freezeRelays()
	for n, plan := range in.plans {
		in.first = append(in.first, in.lanes)
		in.lanes += plan.Lanes()
		f.Describe(plan.Name(), fmt.Sprintf("%s[%d]%s", plan.Describe([]byte("input ")), reach, in.relays.described(n)))
	}
}

// number returns the number of an input type, -1 for another type.
func (in *types) number(t reflect.Type) int {
	return slices.IndexFunc(in.plans, func(plan *quantize.Plan) bool { return plan.Type() == t })
}

// of returns the lanes of type n in a row of all types.
func (in *types) of(lanes []uint32, n int) []uint32 {
	return lanes[in.first[n] : in.first[n]+in.plans[n].Lanes()]
}

// clearEvents sets the events of a row of all types to 0.
func (in *types) clearEvents(rows []uint32) {
	if len(rows) == 0 {
		return
	}
	for n, plan := range in.plans {
		plan.ClearEvents(in.of(rows, n))
	}
}

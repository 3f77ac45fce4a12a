package input

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
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
//	newest  16 bits LE, the low bits of the newest tick that there are inputs of
//	behind  16 bits LE, how far the moment that the client showed was behind the beginning of that tick, in 1/64 tick;
//	        0xFFFE: that or more, 0xFFFF: nothing was shown yet
//	runs    one bit string, least significant bit first: quantize.Plan.WriteRun of the ticks newest-count+1 to newest, oldest
//	        first. A type that was never set has the count 0, all others the same count, 1 to 64, and there is one such;
//	        zeros up to the byte
const (
	headSize      = 4
	behindUnit    = 64
	behindMost    = 0xFFFE
	behindUnknown = 0xFFFF

	// reach is the number of ticks before and after the server's that inputs may be for, and the most that are sent at once.
	reach = 64
	// maxTypes bounds the types of input of a protocol.
	maxTypes = 8
	// maxBits bounds one input, so that the newest always fits a packet of the smallest size, beside the rest of a packet.
	maxBits = 8 * (netcode.MinPacketSize / 2)
)

// ErrNotRegistered means that the input type was not given to Register before the protocol was frozen. Set wraps it with the
// type's name: ask with errors.Is.
var ErrNotRegistered = errors.New("netcode: input type not registered: call input.Register on both sides")

// types is the inputs of a protocol, by number: their place in the order of wire names.
type types struct {
	plans []*quantize.Plan
	first []int // By number, the place of its lanes among those of all.
	lanes int   // Of all.
	tells bool  // TellUsed was called.

	relays relays
}

// Register makes T an input. Call it on both sides. T is blittable, with the tags of netcode.Replicate, and has no entity
// handles: it names an entity by a NetworkID. The only option is netcode.Named.
//
// Most fields are state: sticks, keys that are held. The value that was set last is the input of every tick until another is
// set, and of ticks whose input did not arrive.
//
// A press that must count once is an event: a field tagged `net:"event"`, a bool or an unsigned integer of bits. Set it in the
// frame of the press. It is set in the input of exactly one tick, whatever the rates of frames and ticks are: the next tick
// that begins at the client takes what the frames since the last one set, and resets it. A press that arrives after its tick
// was simulated is in the input of the next tick, if it comes at most 63 ticks late. A field tagged `net:"event=count"` adds the
// values of the frames instead: notches of a wheel, several presses in a tick. Presses are dropped while the client is not
// connected.
//
// Register panics, naming the type and the field, on a type that cannot be sent, on one of more than 1024 bits, on a wire name or
// a type that is an input already, on more than 8 inputs, and on a frozen protocol.
func Register[T any](p *netcode.Protocol, options ...netcode.Option) {
	t := reflect.TypeFor[T]()
	plan := p.Plan("input.Register", t, options...)
	all := typesOf(p)
	if len(all.plans) == maxTypes {
		panic(fmt.Sprintf("netcode: input.Register[%s]: a protocol has at most %d inputs", t, maxTypes))
	}
	if plan.Bits() > maxBits || plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: input.Register[%s]: an input has 1 to %d bits, this one %d", t, maxBits, plan.Bits()))
	}
	all.plans = append(all.plans, plan)
}

// typesOf finds or makes the inputs of a protocol.
func typesOf(p *netcode.Protocol) *types {
	all, ok := netcode.ExtensionOf[*types](p)
	if !ok {
		all = &types{}
		p.Extend(all.extension())
	}
	return all
}

// extension returns the extension of a protocol with inputs.
func (in *types) extension() netcode.Extension {
	return netcode.Extension{
		Name: "input", State: in,
		Kind: "input", BeforeMessages: true,
		ToServer: wire.MessageInput, ToClient: wire.MessageFeedback,
		Freeze: in.freeze, Server: in, Client: in,
	}
}

// Server implements netcode.ServerSide.
func (in *types) Server(s *netcode.Server) netcode.ServerHooks {
	a := newQueues(in, s)
	a.recorder = newRecorder(a, s)
	return a.hooks()
}

// Client implements netcode.ClientSide.
func (in *types) Client(c *netcode.Client) netcode.ClientHooks { return newTail(in, c).hooks(c) }

// freeze puts the inputs in order.
func (in *types) freeze(f *netcode.Freezing) {
	slices.SortFunc(in.plans, func(a, b *quantize.Plan) int { return strings.Compare(a.Name(), b.Name()) })
	in.freezeRelays()
	for n, plan := range in.plans {
		in.first = append(in.first, in.lanes)
		in.lanes += plan.Lanes()
		f.Describe(plan.Name(), fmt.Sprintf("%s[%d]%s", plan.Describe([]byte("input ")), reach, in.relays.described(n)))
	}
}

// number is the number of an input type, -1 if it is none.
func (in *types) number(t reflect.Type) int {
	return slices.IndexFunc(in.plans, func(plan *quantize.Plan) bool { return plan.Type() == t })
}

// of returns the lanes of one type among those of all.
func (in *types) of(lanes []uint32, n int) []uint32 {
	return lanes[in.first[n] : in.first[n]+in.plans[n].Lanes()]
}

// clearEvents makes the events of a row of each type 0.
func (in *types) clearEvents(rows []uint32) {
	if len(rows) == 0 {
		return
	}
	for n, plan := range in.plans {
		plan.ClearEvents(in.of(rows, n))
	}
}

package input

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// The server relays a player's inputs to each client that sees one of the player's entities: the inputs that it used, and
// the inputs of coming ticks. A client that predicts entities of other players simulates with them. [Relay] enables it.
// The section, from the server to a client, is sent at most once a network tick:
//
//	 0      1      2      3 …
//	+-------------+-------+-------------------------------------------------------------+
//	|    tick     | count | for each player: client, ahead, ticks, types, and the rows  |
//	+-------------+-------+-------------------------------------------------------------+
//
//	tick    16 bits LE, the low bits of the tick that was simulated last
//	count   8 bits, 1 to 32; then follows one bit string, least significant bit first, with zeros up to the byte
//	client  wire.BitWriter.Var, 1 to 2^32-1
//	ahead   3 bits: the newest row is of tick + ahead
//	ticks   5 bits, the number of ticks, less 1: at most 23 ticks, which end with the newest
//	types   8 bits; bit n: each of these ticks had an input of type n, in the order of wire names; 0: no input
//	rows    for each type set: quantize.Plan.WriteRow of the oldest tick, then quantize.Plan.WriteNext of each later tick

const (
	relayHead = 3
	// relayAtMost bounds the players in a section.
	relayAtMost = 32
	// relayReach bounds the simulated ticks in a section. A tick is sent until a packet with it, or with a later tick, is
	// acknowledged.
	relayReach = 16
	// relayAhead bounds the coming ticks in a section.
	relayAhead = 7
	// relayRing is the number of ticks that a server stores for a player.
	relayRing = 32
	// relaySent is the number of sent packets whose ticks are stored until they are acknowledged.
	relaySent = 64
	// relayPlayers bounds the players whose inputs a client stores.
	relayPlayers = 256
)

// errRelayed is the error of an illegal section.
var errRelayed = errors.New("inputs of others that are not legal")

// relays has the relayed input types of a protocol.
type relays struct {
	of     []reflect.Type
	decays []decay
	types  uint8 // Bit n: inputs of type n are relayed. Set by the freeze.
}

// decay is the decay function of an input type.
type decay struct {
	of   reflect.Type
	make func(plan *quantize.Plan) func(lanes []uint32, age int)
}

// Relay makes the server send a player's inputs of type T to each other client that sees one of the player's entities.
// The owner of an entity is set by Server.SetOwner or components.Owner. At the client, Relayed and predict.Input return
// the inputs, so that it can predict entities of other players.
//
// Call Relay on both sides, before or after Register. It panics if T is relayed already and on a frozen protocol. The
// freeze panics if T is not an input.
func Relay[T any](p *netcode.Protocol) {
	t := reflect.TypeFor[T]()
	extend.OfProtocol(p).MustBeOpen("input.Relay", t)
	in := typesOf(p)
	if slices.Contains(in.relays.of, t) {
		panic(fmt.Sprintf("netcode: input.Relay[%s]: the input is relayed already", t))
	}
	if len(in.relays.of) == 0 {
		extend.OfProtocol(p).Extend(extend.Extension{Name: "relayed inputs", ToClient: extend.FreeSection, Server: relayEnds{in}, Client: relayEnds{in}})
	}
	in.relays.of = append(in.relays.of, t)
}

// relayEnds makes the hooks of both ends.
type relayEnds struct{ in *types }

// Decay sets the function that clients use for ticks of another player without a known input. f gets the newest known
// input before the tick, without its events, and its age in ticks, at least 1. Without Decay that input is repeated
// unchanged.
//
// f must depend on its arguments alone. Events in its result are dropped. A result that cannot be sent is ignored. Decay
// panics if T has a function already and on a frozen protocol. The freeze panics if T is not relayed.
func Decay[T any](p *netcode.Protocol, f func(last T, age int) T) {
	t := reflect.TypeFor[T]()
	extend.OfProtocol(p).MustBeOpen("input.Decay", t)
	in := typesOf(p)
	if f == nil || slices.ContainsFunc(in.relays.decays, func(d decay) bool { return d.of == t }) {
		panic(fmt.Sprintf("netcode: input.Decay[%s]: the function is nil, or the input has one", t))
	}
	in.relays.decays = append(in.relays.decays, decay{t, func(plan *quantize.Plan) func([]uint32, int) {
		v, result := new(T), make([]uint32, plan.Lanes())
		at := reflect.ValueOf(v).UnsafePointer()
		return func(lanes []uint32, age int) {
			plan.Dequantise(lanes, at)
			*v = f(*v, age)
			if plan.Quantise(at, result).Reason == wire.NoFault {
				copy(lanes, result)
				plan.ClearEvents(lanes)
			}
		}
	}})
}

// freezeRelays resolves the numbers of the relayed types.
func (in *types) freezeRelays() {
	for _, t := range in.relays.of {
		n := in.number(t)
		if n < 0 {
			panic(fmt.Sprintf("netcode: input.Relay[%s]: it is no input: call input.Register", t))
		}
		in.relays.types |= 1 << n
	}
	for _, d := range in.relays.decays {
		if !slices.Contains(in.relays.of, d.of) {
			panic(fmt.Sprintf("netcode: input.Decay[%s]: the input is not relayed: call input.Relay", d.of))
		}
	}
}

// described returns the part of an input's description that marks it as relayed.
func (r *relays) described(n int) string {
	if r.types>>n&1 != 0 {
		return " relayed"
	}
	return ""
}

// relayedRun is the part of a section for one player.
type relayedRun struct {
	client netcode.ClientID
	newest int // Relative to the section's tick.
	ticks  int
	types  uint8
}

// writeRelayed writes a player's part. row returns the lanes of all types of the i-th tick of the run.
func writeRelayed(in *types, w *wire.BitWriter, r relayedRun, row func(i int) []uint32) {
	w.Var(uint64(r.client))
	w.Write(uint64(r.newest), 3)
	w.Write(uint64(r.ticks-1), 5)
	w.Write(uint64(r.types), 8)
	for n, plan := range in.plans {
		if r.types>>n&1 == 0 {
			continue
		}
		plan.WriteRow(w, in.of(row(0), n))
		for i := 1; i < r.ticks; i++ {
			plan.WriteNext(w, in.of(row(i-1), n), in.of(row(i), n))
		}
	}
}

// readRelayed decodes a section and calls each for every player. rows has room for relayReach+relayAhead rows of all
// types. During a call it has the rows of that player.
func readRelayed(in *types, payload []byte, rows []uint32, each func(low uint16, r relayedRun)) error {
	if len(payload) < relayHead || payload[2] == 0 || payload[2] > relayAtMost {
		return errRelayed
	}
	low := binary.LittleEndian.Uint16(payload)
	b := wire.NewBitReader(payload[relayHead:])
	for range payload[2] {
		id := b.Var()
		r := relayedRun{client: netcode.ClientID(id), newest: int(b.Read(3)), ticks: int(b.Read(5)) + 1, types: uint8(b.Read(8))}
		if b.Failed() || id == 0 || id > 1<<32-1 || r.ticks > relayReach+relayAhead || r.types&^in.relays.types != 0 {
			return errRelayed
		}
		row := func(i int) []uint32 { return rows[i*in.lanes : (i+1)*in.lanes] }
		for n, plan := range in.plans {
			if r.types>>n&1 == 0 {
				continue
			}
			plan.ReadRow(&b, in.of(row(0), n))
			for i := 1; i < r.ticks && !b.Failed(); i++ {
				plan.ReadNext(&b, in.of(row(i-1), n), in.of(row(i), n))
			}
		}
		if b.Failed() {
			return errRelayed
		}
		each(low, r)
	}
	if !b.Done() {
		return errRelayed
	}
	return nil
}

package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/quantize"
)

// An input is what a player does in one tick: sticks, buttons, where it looks. Clients set it, the server reads it for the
// tick that it simulates. Inputs travel unreliably and many times over: every packet has those of all ticks that the server
// has not acknowledged, so a lost packet costs nothing unless the ones that follow are lost too.
//
// An input message, from a client to the server, one a packet at most, type 9, stage 0, on channel 0 of Unreliable:
//
//	 0    1   2      3   4 …
//	+--------+----------+-----------------------------------------------+
//	| newest |  behind  | for each input type, by wire name: its run    |
//	+--------+----------+-----------------------------------------------+
//
//	newest  16 bits LE, the low bits of the newest tick that there are inputs of
//	behind  16 bits LE, how far what the client showed its player was behind the beginning of that tick, in 1/64 tick;
//	        0xFFFE: that or more, 0xFFFF: nothing was shown yet
//	runs    one bit string, least significant bit first: quantize.Plan.WriteRun of the ticks newest-count+1 to newest, oldest
//	        first. A type that was never set has the count 0, all others the same count, 1 to 64, and there is one such;
//	        zeros up to the byte
const (
	inputHead     = 4
	behindUnit    = 64
	behindMost    = 0xFFFE
	behindUnknown = 0xFFFF

	// inputReach is how many ticks before and after the server's an input may be for, and the most that travel at once.
	inputReach = 64
	// maxInputs is how many types of input a protocol may have.
	maxInputs = 8
	// maxInputBits bounds one input, so that the newest always fits a packet of the smallest size, beside what else a
	// packet needs.
	maxInputBits = 8 * (MinPacketSize / 2)
)

// inputs is what a protocol knows about inputs, by number: their place in the order of wire names.
type inputs struct {
	plans []*quantize.Plan
	first []int // Of each, the place of its lanes among those of all.
	lanes int   // Of all.
	limit int   // Bytes that an input message has at most.
}

// Input registers T as an input. Call it on both sides. T is blittable, with the tags of Replicate, and has no entity
// handles: it names an entity by a NetworkID. The only option is Named.
//
// Most fields are state: sticks, keys that are held. The value that was set last is the input of every tick until another
// is set, and stands in for ticks whose input did not arrive.
//
// A press that must count once is an event: a field tagged `net:"event"`, a bool or an unsigned integer of bits. Set it in
// the frame of the press. It is set in the input of exactly one tick, whatever the rates of frames and ticks are: the next
// tick that begins at the client takes what the frames since the last one set, and resets it. A press that arrives after
// its tick was simulated is in the input of the next tick, if it comes at most 63 ticks late. A field tagged
// `net:"event=count"` adds the values of the frames instead: notches of a wheel, several presses in a tick. What is set
// while the client is not connected is no press.
//
// Input panics, naming the type and the field, on a type that cannot travel, on one of more than 1024 bits, on a wire name
// or a type that is an input already, on more than 8 inputs, and on a frozen protocol.
func Input[T any](p *Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Input", t)
	r := register("Input", t, options)
	if r.last != "" {
		panic(fmt.Sprintf("netcode: Input[%s]: %s is an option of messages, for Handle and Answer: an input is sent in each tick, without it", t, r.last))
	}
	plan := compile("Input", t, r.name)
	for _, other := range p.inputs.plans {
		mustDiffer("Input", t, r.name, other.Type(), other.Name())
	}
	if len(p.inputs.plans) == maxInputs {
		panic(fmt.Sprintf("netcode: Input[%s]: a protocol holds at most %d inputs", t, maxInputs))
	}
	if plan.Bits() > maxInputBits || plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: Input[%s]: an input has 1 to %d bits, this one %d", t, maxInputBits, plan.Bits()))
	}
	p.inputs.plans = append(p.inputs.plans, plan)
}

// freeze puts the inputs in order; the plans are sorted.
func (in *inputs) freeze() {
	in.limit = inputHead
	for _, plan := range in.plans {
		in.first = append(in.first, in.lanes)
		in.lanes += plan.Lanes()
		in.limit += plan.MaxRunBits(inputReach)/8 + 1
	}
}

// number is the number of an input type, -1 if it is none.
func (in *inputs) number(t reflect.Type) int {
	for n, plan := range in.plans {
		if plan.Type() == t {
			return n
		}
	}
	return -1
}

// of are the lanes of one type among those of all.
func (in *inputs) of(lanes []uint32, n int) []uint32 {
	return lanes[in.first[n] : in.first[n]+in.plans[n].Lanes()]
}

// describeInput is the entry of an input type; how far inputs reach is part of it.
func describeInput(plan *quantize.Plan) entry {
	e := describePlan(kindInput, plan)
	e.text += fmt.Sprintf("[%d]", inputReach)
	return e
}

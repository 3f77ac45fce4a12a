package netcode

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/tick"
)

// Feedback tells a client's clock when an input of it arrived: the input's tick, its 16 low bits little-endian, and how
// early it came, 16 bits signed little-endian in 1/256 tick.
const (
	feedbackSize = 4
	// earlyUnit is the unit of a feedback's earliness.
	earlyUnit = tick.OneTick / 256
)

// feedback is what a feedback message says.
type feedback struct {
	input uint16
	early tick.Span
}

func parseFeedback(payload []byte) feedback {
	return feedback{
		input: binary.LittleEndian.Uint16(payload),
		early: tick.Span(int16(binary.LittleEndian.Uint16(payload[2:]))) * earlyUnit,
	}
}

// putFeedback writes a feedback message. What is earlier or later than 128 ticks counts as 128.
func putFeedback(payload []byte, input tick.Tick, early tick.Span) {
	units := min(max(early/earlyUnit, -1<<15), 1<<15-1)
	binary.LittleEndian.PutUint16(payload, input.Low())
	binary.LittleEndian.PutUint16(payload[2:], uint16(int16(units)))
}

// pulseSize is the size of a keep-alive from the server: the 16 low bits of its tick, little-endian. One from a client is
// empty.
const pulseSize = 2

func parsePulse(payload []byte) uint16 { return binary.LittleEndian.Uint16(payload) }

func putPulse(payload []byte, now tick.Tick) { binary.LittleEndian.PutUint16(payload, now.Low()) }

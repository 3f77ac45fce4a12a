package input

import (
	"encoding/binary"
	"errors"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// A feedback section, from the server to a client, type 8, reports the arrival time of one input. It has the low 16 bits
// of the input's tick, little-endian. Then follows how early it arrived: 16 bits signed, little-endian, in 1/256 tick.
const (
	feedbackSize = 4
	// earlyUnit is the unit of a feedback's earliness.
	earlyUnit = tick.OneTick / 256
)

// errFeedback is the error of a feedback section with a wrong size.
var errFeedback = errors.New("feedback that is not legal")

// feedback is a decoded feedback section.
type feedback struct {
	input uint16
	early tick.Span
}

// checkFeedback validates a feedback section.
func checkFeedback(payload []byte) error {
	if len(payload) != feedbackSize {
		return errFeedback
	}
	return nil
}

// takeFeedback passes a feedback section to the client's clock.
func takeFeedback(c *netcode.Client, payload []byte) {
	f := parseFeedback(payload)
	c.AdjustTime(f.input, f.early)
}

func parseFeedback(payload []byte) feedback {
	return feedback{
		input: binary.LittleEndian.Uint16(payload),
		early: tick.Span(int16(binary.LittleEndian.Uint16(payload[2:]))) * earlyUnit,
	}
}

// putFeedback writes a feedback section. It clamps early to ±128 ticks.
func putFeedback(payload []byte, input tick.Tick, early tick.Span) {
	units := min(max(early/earlyUnit, -1<<15), 1<<15-1)
	binary.LittleEndian.PutUint16(payload, input.Low())
	binary.LittleEndian.PutUint16(payload[2:], uint16(int16(units)))
}

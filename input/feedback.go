package input

import (
	"encoding/binary"
	"errors"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// A feedback section, from the server to a client, type 8, reports the arrival time of one input, and after a stall that ticks slipped:
//
//	 0      1      2      3      4      5      6      7
//	+-------------+-------------+-------------+-------------+
//	|    tick     |    early    |    since    |   slipped   |
//	+-------------+-------------+-------------+-------------+
//
//	tick     16 bits LE, the low bits of the input's tick
//	early    16 bits LE, signed: how early it arrived, in 1/256 tick
//	since    16 bits LE, the low bits of the first tick after the newest slip
//	slipped  16 bits LE, the low bits of the number of ticks that have slipped in the session
//
// The last two are there until a packet with the present number is acknowledged.
const (
	feedbackSize = 4
	slipSize     = 4
	// slipsSent is the number of sent packets with a slip that are stored until they are acknowledged.
	slipsSent = 64
	// earlyUnit is the unit of a feedback's earliness.
	earlyUnit = tick.OneTick / 256
)

// errFeedback is the error of a feedback section with a wrong size.
var errFeedback = errors.New("feedback that is not legal")

// feedback is a decoded feedback section.
type feedback struct {
	input uint16
	early tick.Span

	slips          bool // The server told of a slip.
	since, slipped uint16
}

// checkFeedback validates a feedback section.
func checkFeedback(payload []byte) error {
	if len(payload) != feedbackSize && len(payload) != feedbackSize+slipSize {
		return errFeedback
	}
	return nil
}

// takeFeedback passes a feedback section to the client's clock: a slip that is news first.
func takeFeedback(t *inputBuffer, c *netcode.Client, payload []byte) {
	f := parseFeedback(payload)
	if more := f.slipped - t.slipped; f.slips && more > 0 && more < 1<<15 {
		t.slipped = f.slipped
		extend.OfClient(c).TellSlip(f.since, more)
	}
	extend.OfClient(c).AdjustTime(f.input, f.early)
}

func parseFeedback(payload []byte) feedback {
	f := feedback{
		input: binary.LittleEndian.Uint16(payload),
		early: tick.Span(int16(binary.LittleEndian.Uint16(payload[2:]))) * earlyUnit,
	}
	if payload = payload[feedbackSize:]; len(payload) >= slipSize {
		f.slips, f.since, f.slipped = true, binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:])
	}
	return f
}

// slips tells a client of the ticks that slipped in its session.
type slips struct {
	before uint64 // Ticks that had slipped when the session began.
	told   uint64 // Ticks that the client knows of.
	sent   [slipsSent]sentSlip
}

// sentSlip is a sent packet that told of all ticks that had slipped.
type sentSlip struct {
	packet  uint64
	slipped uint64
}

// put writes the second half of a feedback section while the client does not know of all ticks that slipped. It returns its length in
// bytes.
func (s *slips) put(room []byte, since tick.Tick, total, packet uint64) int {
	total -= s.before
	if total == s.told || len(room) < slipSize {
		return 0
	}
	binary.LittleEndian.PutUint16(room, since.Low())
	binary.LittleEndian.PutUint16(room[2:], uint16(total))
	s.sent[packet%slipsSent] = sentSlip{packet, total}
	return slipSize
}

// acked handles the ack of a packet.
func (s *slips) acked(packet uint64) {
	if sent := &s.sent[packet%slipsSent]; sent.packet == packet {
		s.told = max(s.told, sent.slipped)
	}
}

// putFeedback writes a feedback section. It clamps early to ±128 ticks.
func putFeedback(payload []byte, input tick.Tick, early tick.Span) {
	units := min(max(early/earlyUnit, -1<<15), 1<<15-1)
	binary.LittleEndian.PutUint16(payload, input.Low())
	binary.LittleEndian.PutUint16(payload[2:], uint16(int16(units)))
}

package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// A recording is a header and chunks; docs/recording.md describes every byte. All fixed-width numbers are
// little-endian.
const (
	magic       = "netcode recording 2\r\n\x00" // the line end reveals a copy in text mode
	headerFixed = len(magic) + 8                // + u32 length of the text, u32 CRC
	chunkFixed  = 32
	chunkMagic  = "CHNK"

	maxHeader = 1 << 20 // bytes of the header's text
	maxRaw    = 1 << 28 // bytes of a chunk, decompressed
	maxShrink = 1040    // upper bound of DEFLATE's compression ratio
	maxTicks  = 1 << 16 // per chunk
	maxNotes  = 1 << 16 // per tick
)

// Errors of reading.
var (
	// ErrFormat means that a file is not a recording of this version.
	ErrFormat = errors.New("record: not a recording of this version")
	// ErrDamaged means that the contents of a chunk are not what was written. It is wrapped in a *DamageError.
	ErrDamaged = errors.New("record: damaged recording")
	// ErrBackwards means that Seek was called with a tick before the reader's position.
	ErrBackwards = errors.New("record: a reader goes forward only")
	// ErrProtocol means that a recording has other components than the program.
	ErrProtocol = errors.New("record: a recording of another protocol")
	// ErrCut means that a file ends within a chunk, as after a crash. Everything before it was read.
	ErrCut = errors.New("record: the recording was cut off")
)

// Header describes a recording.
type Header struct {
	TickRate int      // ticks per second, 1 to 1000
	Entries  []string // the protocol's canonical description, one entry each: "component Position{X:f32}"
}

const (
	tickRateKey = "tick-rate "
	componentOf = "component "
)

// appendText appends the header's text.
func (h *Header) appendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%s%d\n", tickRateKey, h.TickRate)
	for _, e := range h.Entries {
		dst = append(append(dst, e...), '\n')
	}
	return dst
}

// appendTo appends the header in the format of a file's start.
func (h *Header) appendTo(dst []byte) []byte {
	text := h.appendText(nil)
	dst = binary.LittleEndian.AppendUint32(append(dst, magic...), uint32(len(text)))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(text))
	return append(dst, text...)
}

// check returns an error for an invalid header.
func (h *Header) check() error {
	if h.TickRate < 1 || h.TickRate > 1000 {
		return fmt.Errorf("%w: %d ticks a second", ErrFormat, h.TickRate)
	}
	for _, e := range h.Entries {
		if e == "" || strings.ContainsAny(e, "\r\n") {
			return fmt.Errorf("%w: the entry %.60q", ErrFormat, e)
		}
	}
	return nil
}

// parseHeader parses the header's text.
func parseHeader(text string) (*Header, error) {
	lines := strings.Split(text, "\n")
	rate, ok := strings.CutPrefix(lines[0], tickRateKey)
	n, err := strconv.Atoi(rate)
	if !ok || err != nil || len(lines) < 2 || lines[len(lines)-1] != "" {
		return nil, fmt.Errorf("%w: the header begins %.60q", ErrFormat, text)
	}
	h := &Header{TickRate: n, Entries: lines[1 : len(lines)-1]}
	if err := h.check(); err != nil {
		return nil, err
	}
	if string(h.appendText(nil)) != text {
		return nil, fmt.Errorf("%w: the header begins %.60q", ErrFormat, text)
	}
	return h, nil
}

// Plans returns the plans of the components, in the order of the entries.
func (h *Header) Plans() ([]*quantize.Plan, error) {
	var plans []*quantize.Plan
	for _, e := range h.Entries {
		text, _, ok := cutComponent(e)
		if !ok {
			continue
		}
		p, err := quantize.ParsePlan(strings.TrimPrefix(text, componentOf))
		if err != nil {
			return nil, err
		}
		if len(plans) == snapshot.MaxRows {
			return nil, fmt.Errorf("%w: more than %d components%s", ErrFormat, snapshot.MaxRows, snapshot.MoreRows)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// cutComponent returns a component's entry without the text after its fields, such as the component's writer. That text
// does not affect its rows. band reports whether it is a distance band of another component.
func cutComponent(entry string) (text string, band, ok bool) {
	end := strings.LastIndexByte(entry, '}') + 1
	return entry[:end], strings.Contains(entry[end:], " of "), strings.HasPrefix(entry, componentOf)
}

// rowsIn returns the schema's row for each recorded row; -1 for a distance band, which is derived from its component.
// The error wraps ErrProtocol and names a component that the schema lacks.
func (h *Header) rowsIn(schema *snapshot.Schema) ([]int, error) {
	var lines []string
	var rows []int
	for _, e := range h.Entries {
		switch text, band, ok := cutComponent(e); {
		case ok && band:
			rows = append(rows, -1)
		case ok:
			rows, lines = append(rows, len(lines)), append(lines, text)
		}
	}
	found, err := matchRows(lines, schema)
	if err != nil {
		return nil, err
	}
	for i, at := range rows {
		if at >= 0 {
			rows[i] = found[at]
		}
	}
	return rows, nil
}

// checksum returns the CRC-32C of all parts.
func checksum(parts ...[]byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // cached by the standard library
	sum := uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}

// Kinds of entity records in a tick.
const (
	recordSame = 0 // the chunk has already described the entity
	recordNew  = 1 // first record of the entity in the chunk: all rows follow
)

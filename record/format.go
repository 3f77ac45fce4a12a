package record

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// A recording is a header and chunks; docs/recording.md describes every byte. All fixed-width numbers are
// little-endian.
const (
	magic       = "netcode recording 3\r\n\x00" // the line end reveals a copy in text mode
	headerFixed = len(magic) + 12               // + u32 packed bytes, u32 unpacked bytes, u32 CRC
	chunkFixed  = 32
	chunkMagic  = "CHNK"

	maxHeader  = 1 << 22 // bytes of the header's text
	maxRaw     = 1 << 28 // bytes of a chunk, decompressed
	maxShrink  = 1040    // upper bound of DEFLATE's compression ratio
	maxTicks   = 1 << 16 // per chunk
	maxNotes   = 1 << 16 // per tick
	maxPayload = 1 << 22 // bytes of a payload
	maxHistory = 1 << 30 // bytes of the decoded versions of a chunk
	maxWindow  = 4096    // ticks
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
	TickRate int       // ticks per second, 1 to 1000
	Window   tick.Tick // history window of the recorded store, in ticks, 1 to 4096; NewWriter sets it
	Entries  []string  // the protocol's canonical description, one entry each: "component Position{X:f32}"

	tables []string // texts of delta.Tables that the payloads use: the game's own, and those by class
}

const (
	tickRateKey = "tick-rate "
	windowKey   = "window "
	componentOf = "component "
)

// appendText appends the header's text: lines, and behind an empty line the text of each set of tables.
func (h *Header) appendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%s%d\n%s%d\n", tickRateKey, h.TickRate, windowKey, h.Window)
	for _, e := range h.Entries {
		dst = append(append(dst, e...), '\n')
	}
	for _, t := range h.tables {
		dst = append(append(dst, '\n'), t...)
	}
	return dst
}

// unpack decompresses exactly size bytes from all of packed.
func unpack(packed []byte, size uint32) ([]byte, bool) {
	raw, in := bytes.NewBuffer(make([]byte, 0, size)), bytes.NewReader(packed)
	n, err := io.Copy(raw, io.LimitReader(flate.NewReader(in), int64(size)+1))
	return raw.Bytes(), err == nil && n == int64(size) && in.Len() == 0
}

// check returns an error for an invalid header.
func (h *Header) check() error {
	if h.TickRate < 1 || h.TickRate > 1000 || h.Window < 1 || h.Window > maxWindow {
		return fmt.Errorf("%w: %d ticks a second, a window of %d", ErrFormat, h.TickRate, h.Window)
	}
	if len(h.tables) > 2 {
		return fmt.Errorf("%w: %d sets of tables", ErrFormat, len(h.tables))
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
	part := strings.SplitAfter(text, "\n\n")
	for i := range len(part) - 1 {
		part[i] = strings.TrimSuffix(part[i], "\n")
	}
	h, lines := &Header{tables: part[1:]}, strings.Split(part[0], "\n")
	if len(lines) > 2 {
		h.TickRate, _ = strconv.Atoi(strings.TrimPrefix(lines[0], tickRateKey)) // compared below
		window, _ := strconv.Atoi(strings.TrimPrefix(lines[1], windowKey))
		h.Window, h.Entries = tick.Tick(window), lines[2:len(lines)-1]
	}
	if string(h.appendText(nil)) != text {
		return nil, fmt.Errorf("%w: the header begins %.60q", ErrFormat, text)
	}
	return h, h.check()
}

// schema returns the schema that the payloads are coded by.
func (h *Header) schema(plans []*quantize.Plan) (*format.Schema, error) {
	var source delta.TableSource = delta.Shipped()
	for i := len(h.tables) - 1; i >= 0; i-- { // the first set is above the others
		tables, err := delta.ParseTables([]byte(h.tables[i]))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		source = tables.Over(source)
	}
	schema, err := format.NewSchemaWith(plans, source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return schema, nil
}

// usedTables is a source that notes the tables of another one.
type usedTables struct {
	of           delta.TableSource
	own, classes map[string]*delta.Table
}

// Table implements delta.TableSource.
func (u *usedTables) Table(name, class string, symbols, contexts int) (*delta.Table, error) {
	t, err := u.of.Table(name, class, symbols, contexts)
	if t != nil && t.Name() != class {
		u.own[name] = t
	} else if t != nil {
		u.classes[class] = t
	}
	return t, err
}

// useTables sets the tables to those of a schema.
func (h *Header) useTables(schema *format.Schema) error {
	h.tables = nil
	u := &usedTables{schema.Codes.Source, map[string]*delta.Table{}, map[string]*delta.Table{}}
	if _, err := format.NewSchemaWith(plansOf(schema), u); err != nil {
		return err
	}
	for _, tables := range []map[string]*delta.Table{u.own, u.classes} { // a class of the one must not hide a name of the other
		if len(tables) == 0 {
			continue
		}
		set, err := delta.NewTables(slices.Collect(maps.Values(tables))...)
		if err != nil {
			return err
		}
		h.tables = append(h.tables, string(set.AppendText(nil)))
	}
	return nil
}

// Plans returns the plans of the components, in the order of the entries: those of known that are the same, which have
// an extrapolation of a game's own, and others that know it by name alone.
func (h *Header) Plans(known ...*quantize.Plan) ([]*quantize.Plan, error) {
	var plans []*quantize.Plan
	same := map[string]*quantize.Plan{}
	for _, p := range known {
		same[componentOf+string(p.Describe(nil))] = p
	}
	for _, e := range h.Entries {
		text, _, ok := cutComponent(e)
		if !ok {
			continue
		}
		p, err := same[text], error(nil)
		if p == nil {
			p, err = quantize.ParsePlan(strings.TrimPrefix(text, componentOf))
		}
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

// plansOf returns the plans of a schema.
func plansOf(schema *snapshot.Schema) (plans []*quantize.Plan) {
	for row := range schema.Rows() {
		plans = append(plans, schema.Plan(row))
	}
	return plans
}

// cutComponent returns a component's entry without the text after its fields, such as the component's writer. That text
// does not affect its rows. band reports whether it is a distance band of another component.
func cutComponent(entry string) (text string, band, ok bool) {
	end := strings.LastIndexByte(entry, '}') + 1
	return entry[:end], strings.Contains(entry[end:], " of "), strings.HasPrefix(entry, componentOf)
}

// rowsIn returns the schema's row for each recorded row; -1 for a distance band, which is derived from its component.
// The error wraps ErrProtocol and names a component that the schema lacks.
func (h *Header) rowsIn(schema *snapshot.Schema) (rows []int, err error) {
	here := map[string]int{}
	for row, p := range plansOf(schema) {
		if !schema.Coarse.Has(row) {
			here[componentOf+string(p.Describe(nil))] = row
		}
	}
	for _, e := range h.Entries {
		text, band, ok := cutComponent(e)
		if !ok {
			continue
		}
		row, has := here[text]
		switch {
		case band:
			row = -1
		case !has:
			return nil, fmt.Errorf("%w: this protocol has no %.200s", ErrProtocol, text)
		}
		delete(here, text)
		rows = append(rows, row)
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

package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// saveMagic starts a saved game. Its line end reveals a copy in text mode.
const (
	saveMagic = "netcode save 1\r\n\x00"
	saveFixed = len(saveMagic) + 16 // plus u32 each: length of the text, of the compressed and the decompressed entities; CRC of all other bytes
)

// ErrNothingSaved means that the server has not captured anything yet.
var ErrNothingSaved = errors.New("record: nothing was captured yet: save after the first network tick")

// Saved is a decoded saved game: entities with their components and references.
type Saved struct {
	entities []savedEntity
	lanes    []uint32
	plans    []*quantize.Plan // by row of the schema
}

// savedEntity is one entity of a saved game.
type savedEntity struct {
	Owner wire.ClientID // 0: the server
	Named wire.ClientID // writer of components for a named client; 0: nobody
	mask  snapshot.Mask
	first int // index of its first lane; rows are consecutive
}

// Save writes the newest capture of a server: all entities with their replicated components (quantised), their
// references, their owners and the named clients. Equal states give equal bytes. Load reads it, or systems.Load into an
// Arche world; docs/recording.md has the format. The errors are ErrNothingSaved and those of the writer.
func Save(s *netcode.Server, out io.Writer) error {
	store := s.Store()
	rows := snapshot.Mask{}
	for row := range store.Schema().Rows() {
		rows = rows.With(row)
	}
	return save(store, out, rows.Minus(store.Schema().Coarse), slices.Collect(store.All))
}

// SaveSome is Save of some entities, without some components: what a player carries to another server. References to other
// entities are zero. An entity that is not captured is left out. The file has only the components that these entities have, so that a
// server that lacks others can load it.
func SaveSome(s *netcode.Server, out io.Writer, entities []netcode.NetworkID, without snapshot.Mask) error {
	store := s.Store()
	entities = slices.DeleteFunc(slices.Clone(entities), func(id wire.NetworkID) bool { return !store.Alive(id) })
	rows := snapshot.Mask{}
	for _, id := range entities {
		rows = rows.Union(store.Mask(id))
	}
	return save(store, out, rows.Minus(store.Schema().Coarse).Minus(without), entities)
}

// save writes some components of some entities.
func save(store *snapshot.Store, out io.Writer, rows snapshot.Mask, entities []wire.NetworkID) error {
	if store.Tick() == tick.None {
		return ErrNothingSaved
	}
	text := savedText(store.Schema(), rows)
	raw := appendEntities(nil, store, rows, entities)
	if len(raw) > maxRaw {
		return fmt.Errorf("record: a saved game of more than %d bytes", maxRaw)
	}
	var packed bytes.Buffer
	packer, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = packer.Write(raw)
	}
	if err == nil {
		err = packer.Close()
	}
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte(saveMagic), uint32(len(text)))
	head = binary.LittleEndian.AppendUint32(head, uint32(packed.Len()))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(raw)))
	head = binary.LittleEndian.AppendUint32(head, checksum(head, text, packed.Bytes()))
	_, err = out.Write(append(append(head, text...), packed.Bytes()...))
	return err
}

// savedText returns the components, one line each. rows has no distance bands: they are derived from their components, and
// a game may change them.
func savedText(schema *snapshot.Schema, rows snapshot.Mask) (text []byte) {
	for ; !rows.IsZero(); rows = rows.Rest() {
		text = append(schema.Plan(rows.Lowest()).Describe(append(text, componentOf...)), '\n')
	}
	return text
}

// appendEntities appends entities. A reference is the entity's place in the file, from 1.
func appendEntities(b []byte, store *snapshot.Store, rows snapshot.Mask, entities []wire.NetworkID) []byte {
	schema, others := store.Schema(), snapshot.Mask{}
	for row := range schema.Rows() {
		if !rows.Has(row) {
			others = others.With(row)
		}
	}
	places := make(map[wire.NetworkID]uint32, len(entities))
	for i, id := range entities {
		places[id] = uint32(i + 1)
	}
	b = wire.AppendVarint(b, uint64(len(entities)))
	for _, id := range entities {
		mask := store.Mask(id).Minus(others)
		b = appendMask(b, mask.Squeeze(others), rows.Count())
		b = wire.AppendVarint(b, uint64(store.Owner(id)))
		b = wire.AppendVarint(b, uint64(store.Named(id)))
		for ; !mask.IsZero(); mask = mask.Rest() {
			row := mask.Lowest()
			lanes := append([]uint32{}, store.Row(id, row)...)
			for _, at := range schema.Plan(row).Refs() {
				lanes[at], lanes[at+1] = places[wire.NetworkID{Index: lanes[at], Generation: lanes[at+1]}], 0
			}
			for _, lane := range lanes {
				b = wire.AppendVarint(b, uint64(lane))
			}
		}
	}
	return b
}

// ReadSaved reads a saved game for a schema, which must have each of its components unchanged. The bytes may be damaged
// or hostile: the errors wrap ErrFormat, ErrDamaged, ErrProtocol or those of the reader. Memory is bounded by the
// decompressed size.
func ReadSaved(in io.Reader, schema *snapshot.Schema) (*Saved, error) {
	head := make([]byte, saveFixed)
	begun, err := io.ReadFull(in, head)
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
	case err != nil || string(head[:len(saveMagic)]) != saveMagic:
		return nil, fmt.Errorf("%w: it begins % x, which is no saved game", ErrFormat, head[:begun])
	}
	size := func(at int) int64 { return int64(binary.LittleEndian.Uint32(head[len(saveMagic)+4*at:])) }
	text, packed, raw := size(0), size(1), size(2)
	if text > maxHeader || raw > maxRaw || packed > maxRaw+maxRaw/8 || raw/maxShrink > packed {
		return nil, faulty(ErrDamaged, "it claims to be %d and %d bytes, %d unpacked", text, packed, raw)
	}
	body, err := io.ReadAll(io.LimitReader(in, text+packed+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(body)) != text+packed:
		return nil, faulty(ErrCut, "%d of %d bytes", len(body), text+packed)
	case checksum(head[:saveFixed-4], body) != binary.LittleEndian.Uint32(head[saveFixed-4:]):
		return nil, faulty(ErrDamaged, "the sum is wrong")
	}
	rows, err := savedRows(string(body[:text]), schema)
	if err != nil {
		return nil, err
	}
	var unpacked bytes.Buffer
	n, err := io.Copy(&unpacked, io.LimitReader(flate.NewReader(bytes.NewReader(body[text:])), raw+1))
	if err != nil || n != raw {
		return nil, faulty(ErrDamaged, "it does not unpack")
	}
	g := &Saved{}
	for row := range schema.Rows() {
		g.plans = append(g.plans, schema.Plan(row))
	}
	if !g.read(unpacked.Bytes(), rows) {
		return nil, faulty(ErrDamaged, "its entities are none")
	}
	return g, nil
}

// savedRows returns the schema's rows of a saved game's components.
func savedRows(text string, schema *snapshot.Schema) (rows []int, err error) {
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] != "" {
		return nil, faulty(ErrDamaged, "its components end in %.60q", lines[len(lines)-1])
	}
	return matchRows(lines[:len(lines)-1], schema)
}

// matchRows returns the schema's row for each of these components. Distance bands do not count.
func matchRows(lines []string, schema *snapshot.Schema) (rows []int, err error) {
	here := map[string]int{}
	for row := range schema.Rows() {
		if !schema.Coarse.Has(row) {
			here[componentOf+string(schema.Plan(row).Describe(nil))] = row
		}
	}
	for _, line := range lines {
		row, ok := here[line]
		if !ok {
			return nil, fmt.Errorf("%w: this protocol has no %.200s", ErrProtocol, line)
		}
		delete(here, line)
		rows = append(rows, row)
	}
	return rows, nil
}

// read decodes the entities. rows has the schema's row for each component of the file.
func (g *Saved) read(b []byte, rows []int) bool {
	varint := func(limit uint64) (v uint64, ok bool) {
		v, n, err := wire.ReadVarint(b)
		if err != nil || v > limit {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	count, ok := varint(min(snapshot.MaxEntities, uint64(len(b))))
	for range count {
		mask, ok1 := readMask(varint, len(rows))
		owner, ok2 := varint(1<<32 - 1)
		named, ok3 := varint(1<<32 - 1)
		if !ok1 || !ok2 || !ok3 || uint64(wire.ClientID(owner)) != owner || uint64(wire.ClientID(named)) != named {
			return false
		}
		e := savedEntity{Owner: wire.ClientID(owner), Named: wire.ClientID(named), first: len(g.lanes)}
		for place, row := range rows {
			if !mask.Has(place) {
				continue
			}
			if !e.mask.Within(e.mask.Below(row)) {
				return false // the rows of a file are in the order of the schema
			}
			e.mask = e.mask.With(row)
			from := len(g.lanes)
			for range g.plans[row].Lanes() {
				lane, ok := varint(1<<32 - 1)
				if !ok {
					return false
				}
				g.lanes = append(g.lanes, uint32(lane))
			}
			if !legalNames(g.plans[row], g.lanes[from:], uint32(count)) {
				return false
			}
		}
		g.entities = append(g.entities, e)
	}
	return ok && len(b) == 0
}

// legalNames checks the lanes of a row. It temporarily treats references (places from 1) as network ids, for the plan's
// check.
func legalNames(p *quantize.Plan, lanes []uint32, count uint32) bool {
	for _, at := range p.Refs() {
		if lanes[at] > count || lanes[at+1] != 0 {
			return false
		}
		lanes[at+1] = min(lanes[at], 1)
	}
	return p.Legal(lanes)
}

// Len returns the number of entities.
func (g *Saved) Len() int { return len(g.entities) }

// Entity returns the rows, the owner and the named client of an entity.
func (g *Saved) Entity(i int) (rows snapshot.Mask, owner, named wire.ClientID) {
	e := &g.entities[i]
	return e.mask, e.Owner, e.Named
}

// Row appends the lanes of an entity's row. It replaces each reference by the network id that name returns for its
// place.
func (g *Saved) Row(dst []uint32, i, row int, name func(place int) wire.NetworkID) []uint32 {
	at := g.entities[i].first
	for before := g.entities[i].mask.Below(row); !before.IsZero(); before = before.Rest() {
		at += g.plans[before.Lowest()].Lanes()
	}
	p, from := g.plans[row], len(dst)
	dst = append(dst, g.lanes[at:at+p.Lanes()]...)
	for _, lane := range p.Refs() {
		if of := dst[from+lane:]; of[0] != 0 {
			id := name(int(of[0]) - 1)
			of[0], of[1] = id.Index, id.Generation
		}
	}
	return dst
}

// Load spawns the entities of a saved game on a server without a world, as Server.Spawn and Put do, and returns their
// ids. The errors are those of ReadSaved, and one if the server has no room. After an error nothing was spawned.
func Load(s *netcode.Server, in io.Reader) ([]netcode.NetworkID, error) {
	schema := s.Protocol().Schema()
	g, err := ReadSaved(in, schema)
	if err != nil {
		return nil, err
	}
	ids := make([]netcode.NetworkID, 0, g.Len())
	for range g.Len() {
		id := s.Spawn()
		if id.IsZero() {
			for _, made := range ids {
				s.Despawn(made)
			}
			return nil, fmt.Errorf("record: %d saved entities, and Config.MaxEntities are alive", g.Len())
		}
		ids = append(ids, id)
	}
	var lanes []uint32
	for i, id := range ids {
		rows, owner, named := g.Entity(i)
		for ; !rows.IsZero(); rows = rows.Rest() {
			row := rows.Lowest()
			lanes = g.Row(lanes[:0], i, row, func(place int) wire.NetworkID { return ids[place] })
			extend.OfServer(s).PutRow(id, row, lanes)
		}
		s.SetOwner(id, owner)
		s.Store().SetNamed(id, named)
	}
	return ids, nil
}

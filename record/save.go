package record

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ErrNothingSaved means that the server has not captured anything yet.
var ErrNothingSaved = errors.New("record: nothing was captured yet: save after the first network tick")

// Save writes the newest capture of a server: all entities with their replicated components (quantised), their
// references, their owners and the named clients. Equal states give equal bytes. Load reads it, or systems.Load into an
// Arche world. A saved game is a recording of one tick (docs/recording.md). The errors are ErrNothingSaved and those of the writer.
func Save(s *netcode.Server, out io.Writer) error {
	return save(s, out, snapshot.AllRows(), slices.Collect(s.Store().All))
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
	return save(s, out, rows.Minus(without), entities)
}

// save records one tick of a store that has some components of some entities. There are no distance bands: they are derived from
// their components, and a game may change them.
func save(s *netcode.Server, out io.Writer, rows snapshot.Mask, entities []wire.NetworkID) error {
	from := s.Store()
	if from.Tick() == tick.None {
		return ErrNothingSaved
	}
	h, schema := Header{TickRate: s.TickRate()}, from.Schema()
	places, plans := make([]int, schema.Rows()), []*quantize.Plan{}
	for row := range places {
		if places[row] = -1; rows.Has(row) && !schema.Coarse.Has(row) {
			p := schema.Plan(row)
			places[row], plans = len(plans), append(plans, p)
			h.Entries = append(h.Entries, componentOf+string(p.Describe(nil)))
		}
	}
	saved, err := format.NewSchemaWith(plans, delta.Shipped())
	if err != nil {
		return err
	}
	gaps, err := delta.NewTables(saved.Codes.Gap) // full records use no other table
	if err != nil {
		return err
	}
	h.tables = []string{string(gaps.AppendText(nil))}
	to := snapshot.NewStore(saved, snapshot.Config{Entities: len(entities)})
	to.Begin(1) // whatever the tick of the server: equal states give equal bytes
	was, ids, lanes := map[wire.NetworkID]wire.NetworkID{}, map[wire.NetworkID]wire.NetworkID{}, []uint32(nil)
	for _, id := range entities {
		if ids[id].IsZero() {
			ids[id] = to.Spawn()
			was[ids[id]] = id
		}
	}
	for _, id := range entities {
		for mask := from.Mask(id); !mask.IsZero(); mask = mask.Rest() {
			if row := mask.Lowest(); places[row] >= 0 {
				lanes = append(lanes[:0], from.Row(id, row)...)
				rename(schema.Plan(row), lanes, func(named wire.NetworkID) wire.NetworkID { return ids[named] })
				to.Set(ids[id], places[row], lanes)
			}
		}
	}
	to.Commit()
	w, err := newWriter(out, h, to)
	if err != nil {
		return err
	}
	w.Note(noteOwners, appendClients(nil, to, func(id wire.NetworkID) wire.ClientID { return from.Owner(was[id]) }))
	w.Note(noteNamed, appendClients(nil, to, func(id wire.NetworkID) wire.ClientID { return from.Named(was[id]) }))
	return errors.Join(w.Tick(), w.Close())
}

// Saved is a decoded saved game: entities with their components and references.
type Saved struct {
	ids           []wire.NetworkID // of the file, by place
	places        map[wire.NetworkID]int
	owners, named map[uint32]netcode.ClientID
	reader        *Reader
	rows          []int // by row of the file: the schema's
}

// ReadSaved reads a saved game for a schema, which must have each of its components unchanged. The bytes may be damaged
// or hostile: the errors wrap ErrFormat, ErrDamaged, ErrProtocol or those of the reader.
func ReadSaved(in io.Reader, schema *snapshot.Schema) (*Saved, error) {
	r, err := NewReader(in, plansOf(schema)...)
	if err != nil {
		return nil, err
	}
	g := &Saved{reader: r, places: map[wire.NetworkID]int{}}
	if g.rows, err = r.header.rowsIn(schema); err != nil {
		return nil, err
	}
	switch _, err := r.Next(); {
	case err == io.EOF:
		return nil, fmt.Errorf("%w: it has no tick", ErrFormat)
	case err != nil:
		return nil, err
	case r.left > 0:
		return nil, fmt.Errorf("%w: it has several ticks, which is no saved game", ErrFormat)
	}
	for index := range r.Recent {
		generation, _ := r.Entity(index)
		id := wire.NetworkID{Index: index, Generation: generation}
		g.places[id] = len(g.ids)
		g.ids = append(g.ids, id)
	}
	var notes recorded
	if !notes.read(r) || !g.legal() {
		return nil, faulty(ErrDamaged, "its entities are none")
	}
	g.owners, g.named = notes.owners, notes.named
	if fixed, err := r.in.peek(1); err != nil || len(fixed) > 0 {
		return nil, errors.Join(err, fmt.Errorf("%w: more follows the tick", ErrFormat))
	}
	return g, nil
}

// legal reports whether the file names no band and no entity that it lacks.
func (g *Saved) legal() bool {
	for _, id := range g.ids {
		_, mask := g.reader.Entity(id.Index)
		for ; !mask.IsZero(); mask = mask.Rest() {
			row := mask.Lowest()
			lanes := g.reader.Row(id.Index, row)
			for _, at := range g.reader.plans[row].Refs() {
				of := wire.NetworkID{Index: lanes[at], Generation: lanes[at+1]}
				if _, ok := g.places[of]; !ok && !of.IsZero() {
					return false
				}
			}
			if g.rows[row] < 0 {
				return false
			}
		}
	}
	return true
}

// Len returns the number of entities.
func (g *Saved) Len() int { return len(g.ids) }

// Entity returns the rows, the owner and the named client of an entity.
func (g *Saved) Entity(i int) (rows snapshot.Mask, owner, named wire.ClientID) {
	_, mask := g.reader.Entity(g.ids[i].Index)
	for ; !mask.IsZero(); mask = mask.Rest() {
		rows = rows.With(g.rows[mask.Lowest()])
	}
	return rows, g.owners[g.ids[i].Index], g.named[g.ids[i].Index]
}

// Row appends the lanes of an entity's row. It replaces each reference by the network id that name returns for its
// place.
func (g *Saved) Row(dst []uint32, i, row int, name func(place int) wire.NetworkID) []uint32 {
	at, from := slices.Index(g.rows, row), len(dst)
	dst = append(dst, g.reader.Row(g.ids[i].Index, at)...)
	rename(g.reader.plans[at], dst[from:], func(id wire.NetworkID) wire.NetworkID {
		if place, ok := g.places[id]; ok {
			return name(place)
		}
		return id // nobody
	})
	return dst
}

// Load spawns the entities of a saved game on a server without a world, as Server.Spawn and Put do, and returns their
// ids. The errors are those of ReadSaved, and one if the server has no room. After an error nothing was spawned.
func Load(s *netcode.Server, in io.Reader) ([]netcode.NetworkID, error) {
	g, err := ReadSaved(in, s.Protocol().Schema())
	if err != nil {
		return nil, err
	}
	copies, ids, indexes := newMirror(s, g.reader.plans, g.rows), []netcode.NetworkID{}, slices.Collect(g.reader.Recent)
	room := copies.copy(g.reader, indexes)
	for _, index := range indexes {
		id := copies.played[index].id
		if room {
			s.SetOwner(id, g.owners[index])
			s.Store().SetNamed(id, g.named[index])
			ids = append(ids, id)
		} else if !id.IsZero() {
			s.Despawn(id)
		}
	}
	if !room {
		return nil, fmt.Errorf("record: %d saved entities, and Config.MaxEntities are alive", g.Len())
	}
	return ids, nil
}

package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// Kinds of notes.
const (
	noteOwners = 1 // all entities owned by clients
	noteSights = 2 // what each client sees
	noteNamed  = 3 // of a saved game: all entities with components for a named client

	noteMessage = 4 // a message of game code to clients
	notePlayers = 5 // joins and leaves of clients
	noteSaid    = 6 // a message of a client
	noteFeature = 7 // data of a feature
)

// Option is an option of Start.
type Option func(*recording)

// Views records what each client sees, for Player.Follow. Each tick it queries each entity for each client.
func Views() Option { return func(r *recording) { r.views = true } }

// sights has the notes about owners and sights that the present chunk has recorded.
type sights struct {
	views        bool
	moved        bool // owners may have changed
	owners, seen []byte
	note         []byte
	visible      []uint64
	parts        []byte
}

// sight has the entities that a client sees, by index.
type sight struct {
	visible []uint64                 // bit per index
	rows    map[uint32]snapshot.Mask // entities that it sees with some of their components only
}

func (v *sight) has(index uint32) bool {
	return int(index>>6) < len(v.visible) && v.visible[index>>6]>>(index&63)&1 != 0
}

// ownersMay records whether owners may have changed. Call it while the store has the owner changes.
func (v *sights) ownersMay(s *netcode.Server) {
	store := s.Store()
	v.moved = v.moved || s.TickDue() && len(store.Handovers())+len(store.Births())+len(store.Deaths()) > 0
}

// appendClients appends the entities of a store for which client is not 0, by ascending index.
func appendClients(b []byte, store *snapshot.Store, client func(wire.NetworkID) wire.ClientID) []byte {
	last := uint32(0)
	for id := range store.All {
		if owner := client(id); owner != 0 {
			b = wire.AppendVarint(wire.AppendVarint(b, uint64(id.Index+1-last)), uint64(owner))
			last = id.Index + 1
		}
	}
	return b
}

// write adds the notes of a tick.
func (v *sights) write(s *netcode.Server, w *Writer) {
	begins := w.Begins()
	if begins {
		v.owners, v.seen = v.owners[:0], v.seen[:0]
	}
	if begins || v.moved {
		v.moved = false
		v.note = appendClients(v.note[:0], s.Store(), s.Store().Owner)
		v.tell(w, noteOwners, &v.owners)
	}
	if !v.views {
		return
	}
	v.note = v.note[:0]
	for client := range s.Clients {
		v.note = wire.AppendVarint(v.note, uint64(client))
		v.look(s.Store(), extend.OfServer(s).Session(client).View(), w)
	}
	v.tell(w, noteSights, &v.seen)
}

// tell adds a note unless the chunk already has an equal one.
func (v *sights) tell(w *Writer, kind uint64, told *[]byte) {
	if !bytes.Equal(v.note, *told) {
		w.Note(kind, v.note)
		*told = append((*told)[:0], v.note...)
	}
}

// look appends the entities that a client sees, and the rows of those that it sees without some of their components.
func (v *sights) look(store *snapshot.Store, view *snapshot.View, w *Writer) {
	v.visible, v.parts = v.visible[:0], v.parts[:0]
	last := uint32(0)
	for id := range store.All {
		if !view.Visible(id) {
			continue
		}
		for int(id.Index>>6) >= len(v.visible) {
			v.visible = append(v.visible, 0)
		}
		v.visible[id.Index>>6] |= 1 << (id.Index & 63)
		if mask, rows := store.Mask(id), view.Rows(id); !mask.Within(rows) {
			v.parts = wire.AppendVarint(v.parts, uint64(id.Index+1-last))
			v.parts = w.appendRows(v.parts, mask.Intersect(rows))
			last = id.Index + 1
		}
	}
	v.note = wire.AppendVarint(v.note, uint64(len(v.visible)))
	for _, word := range v.visible {
		v.note = binary.LittleEndian.AppendUint64(v.note, word)
	}
	v.note = append(append(v.note, v.parts...), 0)
}

// appendRows appends a mask of rows by their numbers in the recording, 64 rows a number. It has no rows of older builds.
func (w *Writer) appendRows(b []byte, rows snapshot.Mask) []byte {
	schema := w.store.Schema()
	rows = rows.Squeeze(schema.Older)
	for word := 0; word == 0 || 64*word < schema.Rows()-schema.Older.Count(); word++ {
		b = wire.AppendVarint(b, rows.Word(word))
	}
	return b
}

// recorded has the owners and the visible entities of clients as of a recorded tick.
type recorded struct {
	owners, named map[uint32]netcode.ClientID
	views         map[netcode.ClientID]*sight
}

// read applies the notes of a tick, and reports whether they are legal.
func (v *recorded) read(r *Reader) bool {
	if r.Fresh() || v.views == nil {
		*v = recorded{map[uint32]netcode.ClientID{}, map[uint32]netcode.ClientID{}, map[netcode.ClientID]*sight{}}
	}
	for _, n := range r.Notes() {
		b := noteReader{left: n.Body, ok: true}
		switch n.Kind {
		case noteOwners:
			b.clients(v.owners)
		case noteNamed:
			b.clients(v.named)
		case noteSights:
			clear(v.views)
			for b.ok && len(b.left) > 0 && len(v.views) < wire.MaxClients {
				v.views[b.client()] = b.sight(len(r.plans))
			}
		default:
			continue
		}
		if !b.ok || len(b.left) > 0 {
			return false
		}
	}
	return true
}

// clients reads what appendClients wrote.
func (b *noteReader) clients(by map[uint32]netcode.ClientID) {
	clear(by)
	for index := range b.indexes {
		by[index] = b.client()
	}
}

// sight reads what sights.look wrote, for a recording of so many rows.
func (b *noteReader) sight(rows int) *sight {
	v := &sight{rows: map[uint32]snapshot.Mask{}}
	n, _ := b.varint(uint64(len(b.left) / 8))
	for ; n > 0 && len(b.left) >= 8; n-- {
		v.visible, b.left = append(v.visible, binary.LittleEndian.Uint64(b.left)), b.left[8:]
	}
	for index := range b.indexes {
		if b.parts++; b.parts > snapshot.MaxEntities {
			b.ok = false
			break
		}
		v.rows[index] = b.mask(rows)
	}
	return v
}

// mask reads what Writer.appendRows wrote.
func (b *noteReader) mask(rows int) snapshot.Mask {
	var words [format.MaskWords]uint64
	for word := 0; word == 0 || 64*word < rows; word++ {
		words[word], _ = b.varint(1<<min(rows-64*word, 64) - 1) // all bits of 64 rows
	}
	return format.FromWords(words[:]...)
}

// noteReader reads the body of a note.
type noteReader struct {
	left  []byte
	ok    bool
	parts int // entities with a mask of their own, of all sights
}

func (b *noteReader) varint(limit uint64) (uint64, bool) {
	v, n, err := wire.ReadVarint(b.left)
	if !b.ok || err != nil || v > limit {
		b.ok, b.left = false, nil
		return 0, false
	}
	b.left = b.left[n:]
	return v, true
}

// client reads the id of a client.
func (b *noteReader) client() netcode.ClientID {
	v, _ := b.varint(1<<32 - 1)
	b.ok = b.ok && v != 0 && uint64(netcode.ClientID(v)) == v
	return netcode.ClientID(v)
}

// indexes yields ascending indexes, each encoded as the distance from the previous one. It stops at distance 0 or the
// end.
func (b *noteReader) indexes(yield func(index uint32) bool) {
	for next := uint64(0); b.ok && len(b.left) > 0; {
		gap, _ := b.varint(snapshot.MaxEntities)
		if gap == 0 {
			return
		}
		if next += gap; next > snapshot.MaxEntities {
			b.ok = false
			return
		}
		if !yield(uint32(next - 1)) {
			return
		}
	}
}

// Owner returns the client that owned a recorded entity at the shown tick, 0 for the server.
func (p *Player) Owner(recorded netcode.NetworkID) netcode.ClientID {
	if p.ID(recorded).IsZero() {
		return 0
	}
	return p.recorded.owners[recorded.Index]
}

// Players returns the recorded clients whose visibility is known at the shown tick, ascending: the connected ones, if
// the recording was started with Views.
func (p *Player) Players() []netcode.ClientID { return slices.Sorted(maps.Keys(p.recorded.views)) }

// Follow shows a spectator what a recorded client saw: the same entities with the same components. Player 0 ends it. It
// needs the interest of Player.Interest. In ticks without data about the client, the spectator sees what other
// spectators see.
func (p *Player) Follow(spectator, player netcode.ClientID) {
	if player == 0 {
		delete(p.follows, spectator)
	} else {
		p.follows[spectator] = player
	}
}

// Interest returns an interest for the server's SetInterest. Spectators that follow a recorded client see what that
// client saw; the others see what free allows, everything if free is nil.
func (p *Player) Interest(free snapshot.Interest) snapshot.Interest {
	return &following{player: p, free: free, led: map[netcode.ClientID]bool{}}
}

// following is the Interest of a Player.
type following struct {
	player *Player
	free   snapshot.Interest
	store  *snapshot.Store
	led    map[netcode.ClientID]bool // spectators that follow a recorded client
}

// Prepare implements snapshot.Interest.
func (f *following) Prepare(s *snapshot.Store) {
	if f.store = s; f.free != nil {
		f.free.Prepare(s)
	}
}

// Update implements snapshot.Interest.
func (f *following) Update(client netcode.ClientID, v *snapshot.View) {
	seen := f.player.recorded.views[f.player.follows[client]]
	if f.led[client] != (seen != nil) {
		if f.led[client] = seen != nil; seen == nil {
			v.ShowAll()
		} else if f.free != nil {
			f.free.Leave(client) // it starts anew when the spectator stops following
		}
	}
	if seen != nil {
		f.player.lead(v, seen, f.store)
	} else if f.free != nil {
		f.free.Update(client, v)
	}
}

// lead sets the visible entities of a view to those of a recorded client. Entities outside the recording are visible.
func (p *Player) lead(v *snapshot.View, seen *sight, store *snapshot.Store) {
	v.ShowNew(false)
	for id := range store.All {
		was := p.Recorded(id)
		if !was.IsZero() && !seen.has(was.Index) {
			v.Hide(id)
			continue
		}
		rows, some := seen.rows[was.Index]
		if was.IsZero() || !some {
			v.See(id, snapshot.AllRows())
			continue
		}
		shown := store.Mask(id).Not() // none of its components is no reason to hide it
		for ; !rows.IsZero(); rows = rows.Rest() {
			if to := p.rows[rows.Lowest()]; to >= 0 {
				shown = shown.With(to)
			}
		}
		v.See(id, shown)
	}
}

// Leave implements snapshot.Interest.
func (f *following) Leave(client netcode.ClientID) {
	if delete(f.led, client); f.free != nil {
		f.free.Leave(client)
	}
	delete(f.player.follows, client)
}

// String tells the tick and the range, and whether the player rests.
func (p *Player) String() string {
	text := fmt.Sprintf("player at tick %d of %d to %d, speed %.3g", p.Tick(), p.First(), p.Last(), float64(p.step)/ticksUnit)
	switch {
	case p.failed:
		text += ", the file cannot be read"
	case p.Ended():
		text += ", ended"
	case p.paused:
		text += ", paused"
	}
	return text
}

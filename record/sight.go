package record

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Kinds of notes that Start writes.
const (
	noteOwners = 1 // all entities owned by clients
	noteView   = 2 // visibility of a client, as changes
	noteViews  = 3 // the clients whose visibility is recorded

	noteMessage = 4 // a message of game code to clients
	notePlayers = 5 // joins and leaves of clients
	noteSaid    = 6 // a message of a client
	noteFeature = 7 // data of a feature
)

// Option is an option of Start.
type Option func(*recording)

// Views records what each client sees, for Player.Follow. Each tick it queries each entity for each client.
func Views() Option {
	return func(r *recording) { r.views, r.told = true, map[netcode.ClientID]*sight{} }
}

// sights has the owners and visible entities that the present chunk has recorded.
type sights struct {
	views   bool
	moved   bool // owners may have changed
	owners  []byte
	clients []byte
	told    map[netcode.ClientID]*sight // clients of the previous tick
	note    []byte
}

// sight has the entities that a client sees, by index.
type sight struct {
	visible []uint64                 // bit per index
	rows    map[uint32]snapshot.Mask // entities that it sees with some of their components only
	told    []byte                   // encoded rows in the note
	here    bool                     // the client is connected
}

func (v *sight) has(index uint32) bool {
	return int(index>>6) < len(v.visible) && v.visible[index>>6]>>(index&63)&1 != 0
}

func (v *sight) toggle(index uint32) {
	for int(index>>6) >= len(v.visible) {
		v.visible = append(v.visible, 0)
	}
	v.visible[index>>6] ^= 1 << (index & 63)
}

// ownersMay records whether owners may have changed. Call it while the store has the owner changes.
func (v *sights) ownersMay(s *netcode.Server) {
	store := s.Store()
	v.moved = v.moved || s.TickDue() && len(store.Handovers())+len(store.Births())+len(store.Deaths()) > 0
}

// write adds the notes of a tick.
func (v *sights) write(s *netcode.Server, w *Writer) {
	begins, store := w.Begins(), s.Store()
	if begins {
		clear(v.told)
		v.owners, v.clients = v.owners[:0], v.clients[:0]
	}
	if begins || v.moved {
		v.moved = false
		v.note = v.note[:0]
		last := uint32(0)
		for id := range store.All {
			if owner := store.Owner(id); owner != 0 {
				v.note = wire.AppendVarint(v.note, uint64(id.Index+1-last))
				v.note = wire.AppendVarint(v.note, uint64(owner))
				last = id.Index + 1
			}
		}
		v.tell(w, noteOwners, &v.owners)
	}
	if !v.views {
		return
	}
	v.note = v.note[:0]
	for client := range s.Clients {
		v.note = wire.AppendVarint(v.note, uint64(client))
	}
	v.tell(w, noteViews, &v.clients)
	for client := range s.Clients {
		v.writeView(w, store, client, s.Session(client).View())
	}
	maps.DeleteFunc(v.told, func(_ netcode.ClientID, old *sight) (gone bool) { // the reader removes it too, even if the client returns
		gone, old.here = !old.here, false
		return gone
	})
}

// tell adds a note unless the chunk already has an equal one.
func (v *sights) tell(w *Writer, kind uint64, told *[]byte) {
	if !bytes.Equal(v.note, *told) {
		w.Note(kind, v.note)
		*told = append((*told)[:0], v.note...)
	}
}

// writeView adds the note of one client: the entities that became visible or invisible, and those that it sees without
// some of their components.
func (v *sights) writeView(w *Writer, store *snapshot.Store, client netcode.ClientID, view *snapshot.View) {
	old := v.told[client]
	if old == nil {
		old = &sight{}
		v.told[client] = old
	}
	old.here = true
	v.note = wire.AppendVarint(v.note[:0], uint64(client))
	last, before := uint32(0), len(v.note)
	for id := range store.All {
		if view.Visible(id) != old.has(id.Index) {
			v.note = wire.AppendVarint(v.note, uint64(id.Index+1-last))
			last = id.Index + 1
			old.toggle(id.Index)
		}
	}
	toggled := len(v.note) > before
	v.note = append(v.note, 0)
	last, before = 0, len(v.note)
	for id := range store.All {
		if mask, rows := store.Mask(id), view.Rows(id); old.has(id.Index) && !mask.Within(rows) {
			v.note = wire.AppendVarint(v.note, uint64(id.Index+1-last))
			v.note = w.appendRows(v.note, mask.Intersect(rows))
			last = id.Index + 1
		}
	}
	if toggled || !bytes.Equal(v.note[before:], old.told) {
		w.Note(noteView, v.note)
		old.told = append(old.told[:0], v.note[before:]...)
	}
}

// recorded has the owners and the visible entities of clients as of a recorded tick.
type recorded struct {
	owners map[uint32]netcode.ClientID
	views  map[netcode.ClientID]*sight
}

// read applies the notes of a tick, and reports whether they are legal.
func (v *recorded) read(r *Reader) bool {
	if r.Fresh() || v.views == nil {
		v.owners, v.views = map[uint32]netcode.ClientID{}, map[netcode.ClientID]*sight{}
	}
	for _, n := range r.Notes() {
		b, ok := noteReader{n.Body, true}, true
		switch n.Kind {
		case noteOwners:
			clear(v.owners)
			for index := range b.indexes {
				v.owners[index] = b.client()
			}
			ok = len(b.left) == 0
		case noteViews:
			var clients []netcode.ClientID
			for b.ok && len(b.left) > 0 && len(clients) < netcode.MaxClients {
				clients = append(clients, b.client())
			}
			ok = len(b.left) == 0
			for _, client := range clients {
				if v.views[client] == nil {
					v.views[client] = &sight{}
				}
			}
			maps.DeleteFunc(v.views, func(client netcode.ClientID, _ *sight) bool { return !slices.Contains(clients, client) })
		case noteView:
			ok = v.readView(&b, r)
		}
		if !ok || !b.ok {
			return false
		}
	}
	return true
}

// readView applies the note of one client, which must be in noteViews.
func (v *recorded) readView(b *noteReader, r *Reader) bool {
	view := v.views[b.client()]
	if view == nil {
		return false
	}
	for index := range b.indexes {
		if generation, _ := r.Entity(index); generation == 0 {
			return false
		}
		view.toggle(index)
	}
	view.rows = map[uint32]snapshot.Mask{}
	for index := range b.indexes {
		mask, ok := readMask(b.varint, len(r.plans))
		b.ok = b.ok && ok
		view.rows[index] = mask
	}
	return len(b.left) == 0
}

// noteReader reads the body of a note.
type noteReader struct {
	left []byte
	ok   bool
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
func (p *Player) Interest(free netcode.Interest) netcode.Interest {
	return &following{player: p, free: free, led: map[netcode.ClientID]bool{}}
}

// following is the Interest of a Player.
type following struct {
	player *Player
	free   netcode.Interest
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

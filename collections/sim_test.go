package collections

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type item struct {
	Number uint16         `net:"min=0,max=300"`
	Of     wire.NetworkID `net:"entity"`
}

type pair struct {
	Key   int8
	Value uint32
}

// defs returns a list with entity names in its elements, a set and a map.
func defs(t require.TestingT, most int) []*definition {
	made := []*definition{
		def(t, kindList, "list", reflect.TypeFor[item](), nil, most),
		def(t, kindSet, "set", reflect.TypeFor[int8](), reflect.TypeFor[int8](), most),
		def(t, kindMap, "map", reflect.TypeFor[pair](), reflect.TypeFor[int8](), most),
	}
	for i, d := range made {
		d.Settle(i, false)
	}
	return made
}

func def(t require.TestingT, kind kind, name string, element, key reflect.Type, most int) *definition {
	d, err := newDefinition(kind, name, element, key, limits{Elements: most})
	require.NoError(t, err)
	return d
}

var errJam = errors.New("jam")

// fakeLink is a client that receives everything in order, with a delay.
type fakeLink struct {
	life    map[wire.NetworkID]tick.Tick // visible entities, with the start of their lifetime
	held    map[wire.NetworkID]tick.Tick // acknowledged entities, with the acknowledged lifetime
	named   map[wire.NetworkID]bool
	sights  uint64
	jammed  bool
	limit   int
	waiting []sentBody
	sent    int    // number of bodies that cannot be taken back
	known   uint64 // value of sights at the last look
	shut    bool   // no room
}

type sentBody struct {
	id   wire.NetworkID
	body []byte
}

func (l *fakeLink) Life(id wire.NetworkID) (tick.Tick, bool) { t, ok := l.life[id]; return t, ok }
func (l *fakeLink) Held(id wire.NetworkID) bool {
	t, ok := l.life[id]
	return ok && l.held[id] == t
}
func (l *fakeLink) Names(id wire.NetworkID) bool { return l.named[id] }
func (l *fakeLink) Sights() uint64               { return l.sights }
func (l *fakeLink) Room() bool                   { return !l.shut && len(l.waiting) < 3 }
func (l *fakeLink) Limit() int                   { return l.limit }
func (l *fakeLink) Push(id wire.NetworkID, body []byte) error {
	if l.jammed {
		return errJam
	}
	l.waiting = append(l.waiting, sentBody{id, slices.Clone(body)})
	return nil
}

// sim is an origin with one client, and the contents that the client must have.
type sim struct {
	t      *rapid.T
	defs   []*definition
	origin *origin
	reader *reader
	link   *fakeLink
	copy   *mirror
	now    tick.Tick
	ids    []wire.NetworkID
	events int
	there  map[wire.NetworkID]bool // entities known to the client
	shadow map[string][][]uint32   // contents by the reported changes
}

func newSim(t *rapid.T) *sim {
	s := &sim{t: t, defs: defs(t, rapid.IntRange(1, 40).Draw(t, "most")), there: map[wire.NetworkID]bool{}, shadow: map[string][][]uint32{}}
	s.origin, s.reader, s.copy = newOrigin(s.defs), newReader(), newMirror(s.defs)
	s.link = &fakeLink{
		life: map[wire.NetworkID]tick.Tick{}, held: map[wire.NetworkID]tick.Tick{}, named: map[wire.NetworkID]bool{},
		limit: rapid.IntRange(20, 60).Draw(t, "limit"),
	}
	for i := range uint32(3) {
		s.ids = append(s.ids, wire.NetworkID{Index: i, Generation: 1})
	}
	s.copy.Tell = s.hear
	return s
}

func (s *sim) key(d *definition, id wire.NetworkID) string { return fmt.Sprint(d.Name(), id) }

// hear rebuilds the contents from reported changes alone.
func (s *sim) hear(d *definition, e *change) {
	s.events++
	key := s.key(d, e.ID)
	rows := s.shadow[key]
	switch e.Kind {
	case ChangeWhole:
		rows = all(s.copy.Find(d.Number(), e.ID))
	case ChangeInserted:
		rows = slices.Insert(rows, e.At, slices.Clone(e.Row))
	case ChangeSet:
		require.Equal(s.t, rows[e.At], e.Old)
		rows[e.At] = slices.Clone(e.Row)
	case ChangeRemoved:
		require.Equal(s.t, rows[e.At], e.Row)
		rows = slices.Delete(rows, e.At, e.At+1)
	case ChangeCleared:
		rows = nil
	case ChangeGone:
		delete(s.shadow, key)
		return
	}
	s.shadow[key] = rows
}

// all copies the contents.
func all(r *rowList) [][]uint32 {
	var rows [][]uint32
	for i := range r.Len() {
		rows = append(rows, slices.Clone(r.At(i)))
	}
	return rows
}

// id draws one of the entities.
func (s *sim) id() wire.NetworkID { return rapid.SampledFrom(s.ids).Draw(s.t, "id") }

func (s *sim) change(t *rapid.T) {
	d := rapid.SampledFrom(s.defs).Draw(t, "def")
	c, _ := s.origin.Make(d.Number(), s.id())
	row := make([]uint32, d.Plan().Lanes())
	for i := range row {
		row[i] = rapid.Uint32Range(0, 200).Draw(t, "lane")
	}
	if d.Kind() == kindList {
		row[1], row[2] = 0, 0
		if rapid.Bool().Draw(t, "names") {
			named := s.id()
			row[1], row[2] = named.Index, named.Generation
		}
	}
	before := all(&c.rows)
	at, found := rapid.IntRange(-1, c.rows.Len()+1).Draw(t, "at"), false
	if d.keys > 0 {
		at, found = c.rows.Find(row[:d.keys])
	}
	var err error
	switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
	case what == 0:
		c.Clear()
		before = nil
	case what < 3:
		if err = c.Remove(at); err == nil {
			before = slices.Delete(before, at, at+1)
		}
	case what < 5 && (d.Kind() == kindList || found):
		if err = c.Set(at, row); err == nil {
			before[at] = row
		}
	case !found:
		if err = c.Insert(at, row); err == nil {
			before = slices.Insert(before, at, row)
		}
	}
	if err != nil {
		require.True(t, errors.Is(err, errIndex) || errors.Is(err, errFull))
	}
	require.Equal(t, len(before), c.rows.Len())
	for i, want := range before {
		require.Equal(t, want, c.rows.At(i))
	}
	require.LessOrEqual(t, c.rows.Len(), d.Most())
}

// run changes neighbouring elements, inside and outside of the prefix; the journal joins these into one operation.
func (s *sim) run(t *rapid.T) {
	d := rapid.SampledFrom(s.defs).Draw(t, "def")
	c, _ := s.origin.Make(d.Number(), s.id())
	if c.rows.Len() == 0 {
		return
	}
	at, set := rapid.IntRange(0, c.rows.Len()-1).Draw(t, "at"), rapid.Bool().Draw(t, "set")
	for range rapid.IntRange(2, 8).Draw(t, "count") {
		if set && at < c.rows.Len() {
			row := slices.Clone(c.rows.At(at))
			if row[d.keys%len(row)] ^= 1; d.Kind() != kindSet {
				require.NoError(t, c.Set(at, row))
			}
			at++
		} else if !set && at < c.rows.Len() {
			require.NoError(t, c.Remove(at))
		}
	}
}

// show makes an entity visible to the client, which learns of it later.
func (s *sim) show(id wire.NetworkID) {
	if _, ok := s.link.life[id]; !ok {
		s.now++
		s.link.life[id] = s.now
		s.link.named[id] = true
		s.link.sights++
	}
}

// hide makes an entity invisible. Bodies on their way may arrive before or after the client learns of it. In the second
// case nothing is reported until the entity is visible again.
func (s *sim) hide(id wire.NetworkID, told bool) {
	if _, ok := s.link.life[id]; ok {
		delete(s.link.life, id)
		delete(s.link.held, id)
		delete(s.link.named, id)
		s.link.sights++
	}
	if told {
		s.gone(id)
	}
}

// gone tells the client that it does not see an entity any more.
func (s *sim) gone(id wire.NetworkID) {
	if !s.there[id] {
		return
	}
	delete(s.there, id)
	s.copy.Keep(id.Index, wire.NetworkID{})
	s.copy.TellGone()
	require.Nil(s.t, s.copy.Find(0, id))
}

// hold tells the server that the client has an entity.
func (s *sim) hold(id wire.NetworkID) {
	life, ok := s.link.life[id]
	if !ok || s.link.held[id] == life {
		return
	}
	s.link.held[id] = life
	s.there[id] = true
	for _, d := range s.defs {
		if c := s.origin.Find(d.Number(), id); c != nil {
			s.reader.Meet(c, s.link)
		}
	}
}

// die ends an entity; another one takes its index.
func (s *sim) die(i int) {
	id := s.ids[i]
	s.hide(id, true)
	s.origin.Drop(id)
	s.ids[i].Generation++
}

// recall takes back waiting bodies about invisible entities, and the names of such entities. Some of the sent bodies
// have arrived and wait for lost earlier ones.
func (s *sim) recall(t *rapid.T) {
	l := s.link
	if l.known == l.sights {
		return
	}
	l.known = l.sights
	kept := l.waiting[:0]
	for i, m := range l.waiting {
		_, seen := l.life[m.id]
		switch {
		case !seen && i < l.sent && rapid.Bool().Draw(t, "arrived"):
		case !seen && i < l.sent:
			before := len(m.body)
			blank(m.body)
			require.True(s.t, check(s.defs, m.body))
			require.Equal(s.t, before, len(m.body))
		case !seen:
			continue
		case i >= l.sent:
			m.body = m.body[:s.reader.Amend(s.defs, m.body, l)]
			require.Empty(s.t, s.hiddenNames(m.body))
		}
		kept = append(kept, m)
	}
	l.waiting = kept
}

// hiddenNames returns the entities in a body that the client may not see.
func (s *sim) hiddenNames(body []byte) (hidden []wire.NetworkID) {
	c, err := open(s.defs, body)
	require.NoError(s.t, err)
	row := make([]uint32, c.def.plan.Lanes())
	for c.more() {
		o, err := c.next()
		require.NoError(s.t, err)
		for o.kind.elements() && c.left > 0 {
			require.True(s.t, c.row(row))
			for _, lane := range c.def.plan.Refs() {
				if id := (wire.NetworkID{Index: row[lane], Generation: row[lane+1]}); id.Generation != 0 && !s.link.Names(id) {
					hidden = append(hidden, id)
				}
			}
		}
		require.True(s.t, !o.kind.elements() || c.finish())
	}
	return hidden
}

func (s *sim) flush(t *rapid.T) {
	s.recall(t)
	for _, c := range s.origin.Dirty() {
		s.reader.Follow(c, s.link)
	}
	s.origin.Settle()
	s.reader.Fill(s.link)
}

// deliver delivers the oldest bodies.
func (s *sim) deliver(count int) {
	for _, m := range s.link.waiting[:count] {
		require.True(s.t, check(s.defs, m.body))
		if s.there[m.id] {
			require.NoError(s.t, s.copy.Apply(m.id, m.body))
		}
	}
	s.link.waiting = slices.Delete(s.link.waiting, 0, count)
	s.link.sent = max(s.link.sent-count, 0)
}

// check compares everything visible to the client with the origin.
func (s *sim) check() {
	for _, id := range s.ids {
		_, visible := s.link.life[id]
		for _, d := range s.defs {
			c, got := s.origin.Find(d.Number(), id), s.copy.Find(d.Number(), id)
			if !visible || c == nil {
				require.Nil(s.t, got)
				continue
			}
			require.NotNil(s.t, got, "%s of %v did not come", d.Name(), id)
			want := all(&c.rows)
			for _, row := range want {
				veil := d.hiddenFields(row, s.link)
				for i, lane := range d.plan.Refs() {
					if veil>>i&1 != 0 {
						row[lane], row[lane+1] = 0, 0
					}
				}
			}
			require.Equal(s.t, want, all(got), "%s of %v", d.Name(), id)
			require.Equal(s.t, len(want), len(s.shadow[s.key(d, id)]))
			for i := range want {
				require.Equal(s.t, want[i], s.shadow[s.key(d, id)][i])
			}
		}
	}
}

// In the end a client has the right contents, whatever happens before: late bodies, a full send queue, and entities
// that appear, disappear and die.
func TestClientGetsTheWholeContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t)
		for i := range s.ids {
			s.show(s.ids[i])
			s.hold(s.ids[i])
		}
		for range rapid.IntRange(20, 200).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 39).Draw(t, "step"); {
			case what < 4:
				s.run(t)
			case what < 14:
				for range rapid.IntRange(1, 8).Draw(t, "times") {
					s.change(t)
				}
			case what < 22:
				s.flush(t)
			case what < 28:
				s.deliver(rapid.IntRange(0, len(s.link.waiting)).Draw(t, "count"))
			case what < 30:
				s.show(s.id())
			case what < 31:
				s.link.sent = rapid.IntRange(s.link.sent, len(s.link.waiting)).Draw(t, "sent")
				s.hide(s.id(), rapid.Bool().Draw(t, "told"))
			case what < 34:
				s.hold(s.id())
			case what < 35:
				s.die(rapid.IntRange(0, 2).Draw(t, "who"))
			case what < 36:
				s.link.jammed = rapid.IntRange(0, 2).Draw(t, "jammed") == 0
			case what < 37:
				s.link.shut = rapid.IntRange(0, 2).Draw(t, "shut") == 0
			default:
				s.link.sent = rapid.IntRange(s.link.sent, len(s.link.waiting)).Draw(t, "sent")
				s.link.named[s.id()] = rapid.Bool().Draw(t, "name")
				s.link.sights++
			}
		}
		s.link.jammed, s.link.shut = false, false
		for _, id := range s.ids {
			if _, seen := s.link.life[id]; !seen {
				s.gone(id)
			}
			s.hold(id)
		}
		for range 60 {
			s.deliver(len(s.link.waiting))
			s.flush(t)
		}
		s.deliver(len(s.link.waiting))
		s.check()
		require.Empty(t, s.reader.queue)
		for _, id := range s.ids { // and when visibility changed
			s.link.named[id] = !s.link.named[id]
		}
		s.link.sights++
		s.flush(t)
		s.deliver(len(s.link.waiting))
		s.check()
	})
}

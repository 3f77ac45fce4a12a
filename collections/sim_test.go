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

// defs are a list whose elements name entities, a set and a map.
func defs(t require.TestingT, most int) []*Def {
	made := []*Def{
		def(t, List, "list", reflect.TypeFor[item](), nil, most),
		def(t, Set, "set", reflect.TypeFor[int8](), reflect.TypeFor[int8](), most),
		def(t, Map, "map", reflect.TypeFor[pair](), reflect.TypeFor[int8](), most),
	}
	for i, d := range made {
		d.Settle(i, false)
	}
	return made
}

func def(t require.TestingT, kind Kind, name string, element, key reflect.Type, most int) *Def {
	d, err := NewDef(kind, name, element, key, Limits{Elements: most})
	require.NoError(t, err)
	return d
}

var errJam = errors.New("jam")

// fakeLink is a client that hears everything in order, but late.
type fakeLink struct {
	life    map[wire.NetworkID]tick.Tick // what it sees, and since when
	held    map[wire.NetworkID]tick.Tick // what it has acknowledged, of which life
	named   map[wire.NetworkID]bool
	sights  uint64
	jammed  bool
	limit   int
	waiting []sentBody
	shut    bool // nothing fits
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

// sim is an origin with one client, and what that client must have.
type sim struct {
	t      *rapid.T
	defs   []*Def
	origin *Origin
	reader *Reader
	link   *fakeLink
	copy   *Copy
	now    tick.Tick
	ids    []wire.NetworkID
	events int
	shadow map[string][][]uint32 // what the events say
}

func newSim(t *rapid.T) *sim {
	s := &sim{t: t, defs: defs(t, rapid.IntRange(1, 40).Draw(t, "most")), shadow: map[string][][]uint32{}}
	s.origin, s.reader, s.copy = NewOrigin(s.defs), NewReader(), NewCopy(s.defs)
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

func (s *sim) key(d *Def, id wire.NetworkID) string { return fmt.Sprint(d.Name(), id) }

// hear rebuilds the contents from events alone.
func (s *sim) hear(d *Def, e *Event) {
	s.events++
	key := s.key(d, e.ID)
	rows := s.shadow[key]
	switch e.Kind {
	case EventWhole:
		rows = all(s.copy.Find(d.Number(), e.ID))
	case EventInserted:
		rows = slices.Insert(rows, e.At, slices.Clone(e.Row))
	case EventSet:
		require.Equal(s.t, rows[e.At], e.Old)
		rows[e.At] = slices.Clone(e.Row)
	case EventRemoved:
		require.Equal(s.t, rows[e.At], e.Row)
		rows = slices.Delete(rows, e.At, e.At+1)
	case EventCleared:
		rows = nil
	case EventGone:
		delete(s.shadow, key)
		return
	}
	s.shadow[key] = rows
}

// all copies what there is.
func all(r *Rows) [][]uint32 {
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
	if d.Kind() == List {
		row[1], row[2] = 0, 0
		if rapid.Bool().Draw(t, "names") {
			row[1], row[2] = rapid.Uint32Range(0, 3).Draw(t, "named"), 1
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
	case what < 5 && (d.Kind() == List || found):
		if err = c.Set(at, row); err == nil {
			before[at] = row
		}
	case !found:
		if err = c.Insert(at, row); err == nil {
			before = slices.Insert(before, at, row)
		}
	}
	if err != nil {
		require.True(t, errors.Is(err, ErrIndex) || errors.Is(err, ErrFull))
	}
	require.Equal(t, len(before), c.rows.Len())
	for i, want := range before {
		require.Equal(t, want, c.rows.At(i))
	}
	require.LessOrEqual(t, c.rows.Len(), d.Most())
}

// show has the client see an entity from now on, of which it will hear in time.
func (s *sim) show(id wire.NetworkID) {
	if _, ok := s.link.life[id]; !ok {
		s.now++
		s.link.life[id] = s.now
		s.link.named[id] = true
		s.link.sights++
	}
}

// hide takes an entity out of sight; what is on its way to the client arrives there when it does not have it any more.
func (s *sim) hide(id wire.NetworkID) {
	if _, ok := s.link.life[id]; !ok {
		return
	}
	delete(s.link.life, id)
	delete(s.link.held, id)
	delete(s.link.named, id)
	s.link.sights++
	s.copy.Keep(id.Index, wire.NetworkID{})
	s.copy.TellGone()
	require.Nil(s.t, s.copy.Find(0, id))
}

// hold has the server learn that the client has an entity.
func (s *sim) hold(id wire.NetworkID) {
	life, ok := s.link.life[id]
	if !ok || s.link.held[id] == life {
		return
	}
	s.link.held[id] = life
	for _, d := range s.defs {
		if c := s.origin.Find(d.Number(), id); c != nil {
			s.reader.Meet(c, s.link)
		}
	}
}

// die ends an entity; another one comes at its index.
func (s *sim) die(i int) {
	id := s.ids[i]
	s.hide(id)
	s.origin.Drop(id)
	s.ids[i].Generation++
}

func (s *sim) flush() {
	for _, c := range s.origin.Dirty() {
		s.reader.Follow(c, s.link)
	}
	s.origin.Settle()
	s.reader.Fill(s.link)
}

// deliver hands over the oldest bodies.
func (s *sim) deliver(count int) {
	for _, m := range s.link.waiting[:count] {
		require.True(s.t, Check(s.defs, m.body))
		if _, ok := s.link.life[m.id]; ok {
			require.NoError(s.t, s.copy.Apply(m.id, m.body))
		}
	}
	s.link.waiting = slices.Delete(s.link.waiting, 0, count)
}

// check compares all that the client sees with what there is.
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
				veil := d.veil(row, s.link)
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

// What one client has is, in the end, what there is, whatever comes in between: bodies that are late and that its send queue
// refuses, entities that come, go and die.
func TestClientComesToHaveWhatThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "times") {
					s.change(t)
				}
			},
			"show":    func(*rapid.T) { s.show(s.id()) },
			"hide":    func(*rapid.T) { s.hide(s.id()) },
			"hold":    func(*rapid.T) { s.hold(s.id()) },
			"die":     func(t *rapid.T) { s.die(rapid.IntRange(0, 2).Draw(t, "who")) },
			"flush":   func(*rapid.T) { s.flush() },
			"jam":     func(t *rapid.T) { s.link.jammed = rapid.Bool().Draw(t, "jammed") },
			"shut":    func(t *rapid.T) { s.link.shut = rapid.Bool().Draw(t, "shut") },
			"name":    func(t *rapid.T) { s.link.named[s.id()] = rapid.Bool().Draw(t, "name"); s.link.sights++ },
			"deliver": func(t *rapid.T) { s.deliver(rapid.IntRange(0, len(s.link.waiting)).Draw(t, "count")) },
		})
		s.link.jammed, s.link.shut = false, false
		for _, id := range s.ids {
			s.hold(id)
		}
		for range 400 {
			s.deliver(len(s.link.waiting))
			s.flush()
		}
		s.deliver(len(s.link.waiting))
		s.check()
		require.Empty(t, s.reader.queue)
	})
}

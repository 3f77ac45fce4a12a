package thin

// Known has the newest entity of an index, alive or gone.
type Known struct {
	Generation uint32
	Tick       int64          // of the newest record, or of the despawn
	Rows       map[string]Row // by component; nil: it is gone
}

// World is the entities of a client.
type World struct {
	Tick     int64 // the newest
	Entities map[uint32]*Known
	protocol *Protocol
}

// change is a record or a despawn.
type change struct {
	index, generation uint32 // generation 0: of the entity that is here
	head
	rows map[string]Row
}

// head tells which rows a record has.
type head struct {
	fresh         bool   // the server does not know of any record that is here
	present, sent []bool // by row; nil: a despawn
}

// NewWorld returns an empty world. tick is that of the Welcome.
func NewWorld(p *Protocol, tick int64) *World {
	return &World{Tick: tick, Entities: map[uint32]*Known{}, protocol: p}
}

// Snapshot reads a payload, and applies it if it is legal.
func (w *World) Snapshot(payload []byte) error {
	var tick int64
	var changes []change
	if err := guard(func() { tick, changes = w.read(&stream{b: payload}) }); err != nil {
		return err
	}
	w.Tick = max(w.Tick, tick)
	for _, c := range changes {
		w.apply(tick, c)
	}
	return nil
}

// nearest returns the number with these low bits that is nearest to another.
func nearest(low uint16, to int64) int64 { return to + int64(int16(low-uint16(to))) }

func (w *World) read(s *stream) (tick int64, changes []change) {
	tick = nearest(uint16(s.read(16)), w.Tick)
	must(tick > 0)
	last := uint64(0)
	for s.read(1) == 1 {
		index := last + s.number()
		must(index < 1<<20)
		changes = append(changes, change{index: uint32(index), generation: generation(s)})
		last = index + 1
	}
	last = 0
	var h head
	for {
		index, again := last, s.read(1) == 1
		if !again {
			gap := s.number()
			if gap == 0 {
				return tick, changes
			}
			must(gap <= 1<<20)
			index = (last + gap - 1) % (1 << 20)
			if again = s.read(1) == 1; !again {
				h = w.head(s)
			}
		}
		must(h.present != nil && index < 1<<20)
		last = index + 1
		c := change{index: uint32(index), head: h, rows: map[string]Row{}}
		if h.fresh {
			c.generation = generation(s)
		}
		for row, is := range h.sent {
			if shape := &w.protocol.Components[row]; is {
				c.rows[shape.Name] = readRow(shape.fields, s)
			}
		}
		changes = append(changes, c)
	}
}

func (w *World) head(s *stream) head {
	n := len(w.protocol.Components)
	h := head{fresh: s.read(1) == 1, present: make([]bool, n), sent: make([]bool, n)}
	for row := range n {
		h.present[row] = s.read(1) == 1
		h.sent[row] = h.present[row] && s.read(1) == 1
	}
	return h
}

func generation(s *stream) uint32 {
	g := s.number()
	must(g > 0 && g < 1<<32)
	return uint32(g)
}

// apply applies a change, unless a newer one came before.
func (w *World) apply(tick int64, c change) {
	k := w.Entities[c.index]
	if c.generation == 0 && k != nil {
		c.generation = k.Generation
	}
	if k != nil && (c.generation < k.Generation || c.generation == k.Generation && tick <= k.Tick) {
		return
	}
	now := &Known{Generation: c.generation, Tick: tick}
	if c.present != nil {
		if !c.fresh && (k == nil || k.Rows == nil) {
			return // No honest server sends it.
		}
		now.Rows = map[string]Row{}
		for row, is := range c.present {
			name := w.protocol.Components[row].Name
			switch {
			case !is:
			case c.rows[name] != nil:
				now.Rows[name] = c.rows[name]
			case !c.fresh && k.Rows[name] != nil:
				now.Rows[name] = k.Rows[name]
			default:
				now.Rows[name] = Row{} // A component without fields.
			}
		}
	}
	w.Entities[c.index] = now
}

package format

// Bits counts the bits of snapshots by purpose. Their sum is the size of the payloads.
type Bits struct {
	Header     uint64          // tick and epoch
	List       uint64          // which entities have records
	Heads      uint64          // heads of explicit records: generation, age, which components
	Despawns   uint64          // the list of despawns with its end
	Changed    uint64          // which components of an entity changed
	Padding    uint64          // padding to a byte
	Unknown    uint64          // bits after the first place that could not be decoded
	Components []ComponentBits // one entry for each row
	// Entities is the part of Heads, Changed and Components of each entity, by index. It is counted if it is not nil.
	Entities map[uint32]uint64
}

// ComponentBits is the part of one component.
type ComponentBits struct {
	Name    string      // wire name
	Spawn   uint64      // rows of entities that are new at the client
	Whole   uint64      // other rows sent whole
	Delta   uint64      // rows sent as deltas
	Rows    [3]uint64   // number of rows, indexed by SpawnRows, WholeRows and DeltaRows
	Changed uint64      // part of Delta: which fields changed
	Fields  []FieldBits // part of each field
}

// Indexes of ComponentBits.Rows.
const (
	SpawnRows = iota
	WholeRows
	DeltaRows
)

// FieldBits is the part of one field of a component.
type FieldBits struct {
	Name string // path inside the component
	Bits uint64 // bits of whole rows and of deltas
}

// NewBits returns empty counters.
func NewBits(s *Schema) *Bits {
	b := &Bits{Components: make([]ComponentBits, s.Rows())}
	for row := range b.Components {
		c := &b.Components[row]
		c.Name = s.Plan(row).Name()
		for _, name := range s.Plan(row).Fields() {
			c.Fields = append(c.Fields, FieldBits{Name: name})
		}
	}
	return b
}

// Total returns the sum of all counters.
func (b *Bits) Total() uint64 {
	sum := b.Header + b.List + b.Heads + b.Despawns + b.Changed + b.Padding + b.Unknown
	for i := range b.Components {
		c := &b.Components[i]
		sum += c.Spawn + c.Whole + c.Delta
	}
	return sum
}

// Add adds the counters of other, which must be of the same schema.
func (b *Bits) Add(other *Bits) {
	b.Header, b.List, b.Heads, b.Despawns = b.Header+other.Header, b.List+other.List, b.Heads+other.Heads, b.Despawns+other.Despawns
	b.Changed, b.Padding, b.Unknown = b.Changed+other.Changed, b.Padding+other.Padding, b.Unknown+other.Unknown
	for i := range b.Components {
		to, from := &b.Components[i], &other.Components[i]
		to.Spawn, to.Whole, to.Delta, to.Changed = to.Spawn+from.Spawn, to.Whole+from.Whole, to.Delta+from.Delta, to.Changed+from.Changed
		for n, rows := range from.Rows {
			to.Rows[n] += rows
		}
		for n := range from.Fields {
			to.Fields[n].Bits += from.Fields[n].Bits
		}
	}
	for index, n := range other.Entities {
		if b.Entities != nil {
			b.Entities[index] += n
		}
	}
}

// Reset sets all counters to zero.
func (b *Bits) Reset() {
	components, entities := b.Components, b.Entities
	for i := range components {
		c := &components[i]
		for n := range c.Fields {
			c.Fields[n].Bits = 0
		}
		*c = ComponentBits{Name: c.Name, Fields: c.Fields}
	}
	clear(entities)
	*b = Bits{Components: components, Entities: entities}
}

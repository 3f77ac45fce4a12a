package delta

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Trainer counts symbols and makes the tables that code them best. Fill one from a recording of real play; what it
// builds depends on the counts alone, not on their order.
type Trainer struct {
	counters []*Counter
}

// Counter counts the symbols of one table.
type Counter struct {
	name     string
	symbols  int
	contexts int
	counts   []uint64 // context × symbols + symbol
}

const (
	// mostCounts is the largest count of a symbol, so that no sum of weights can overflow.
	mostCounts = 1 << 36
	// unseen is the number of pseudo-observations that a context borrows from its table's other contexts, and
	// unseenParts the parts of one that every symbol has beside: a symbol never seen costs many bits, yet has a code.
	unseen      = 8
	unseenParts = 16
)

// NewTrainer returns a trainer without tables.
func NewTrainer() *Trainer { return &Trainer{} }

// Table adds a table to be trained and returns its counter. It panics on a name that is taken or illegal and on sizes
// that no table can have.
func (t *Trainer) Table(name string, symbols, contexts int) *Counter {
	if err := checkTableName(name); err != nil {
		panic(err)
	}
	if symbols < 1 || symbols > MaxSymbols || contexts < 1 || contexts > maxContexts {
		panic(fmt.Sprintf("wire: a table has 1 to %d symbols and 1 to %d contexts", MaxSymbols, maxContexts))
	}
	if slices.ContainsFunc(t.counters, func(c *Counter) bool { return c.name == name }) {
		panic("wire: two tables are named " + name)
	}
	c := &Counter{name: name, symbols: symbols, contexts: contexts, counts: make([]uint64, symbols*contexts)}
	t.counters = append(t.counters, c)
	return c
}

// Count counts a symbol that was met in a context; either outside the table panics.
func (c *Counter) Count(context, symbol int) {
	if at := &c.row(context)[symbol]; *at < mostCounts {
		*at++
	}
}

// row returns the counts of a context.
func (c *Counter) row(context int) []uint64 {
	return c.counts[context*c.symbols:][:c.symbols:c.symbols]
}

// Build returns the tables for what was counted so far. Every symbol has a code, also one that was never counted.
func (t *Trainer) Build() (*Tables, error) {
	tables := make([]*Table, len(t.counters))
	for i, c := range t.counters {
		var err error
		if tables[i], err = c.build(); err != nil {
			return nil, err
		}
	}
	return NewTables(tables...)
}

// BuildKnown is Build without the tables that counted fewer symbols than least. Where all would be more than a set can hold, those
// that counted most come first, and each for which there is no room any more is left out; LeftOut names the latter.
func (t *Trainer) BuildKnown(least uint64) (*Tables, error) {
	known, _ := t.known(least)
	return (&Trainer{counters: known}).Build()
}

// LeftOut names the tables that counted enough symbols and that BuildKnown leaves out all the same, as a set holds no more:
// those that counted most come first.
func (t *Trainer) LeftOut(least uint64) (names []string) {
	_, out := t.known(least)
	for _, c := range out {
		names = append(names, c.name)
	}
	return names
}

// known returns the counters that counted enough, those that counted most first, cut to the room of a set, and the others.
func (t *Trainer) known(least uint64) (known, out []*Counter) {
	known = slices.DeleteFunc(slices.Clone(t.counters), func(c *Counter) bool { return c.total() < least })
	slices.SortStableFunc(known, func(a, b *Counter) int { return cmp.Compare(b.total(), a.total()) })
	codes, text := 0, 1024
	known = slices.DeleteFunc(known, func(c *Counter) bool {
		more, longer := c.contexts, c.contexts*(c.symbols+1)+128
		if codes+more > maxCodes || text+longer > maxTableText {
			out = append(out, c)
			return true
		}
		codes, text = codes+more, text+longer
		return false
	})
	return known, out
}

// total returns the number of symbols that were counted.
func (c *Counter) total() (n uint64) {
	for _, count := range c.counts {
		n += count
	}
	return n
}

// build makes the table of the counts.
func (c *Counter) build() (*Table, error) {
	all, sum := make([]uint64, c.symbols), uint64(0)
	for i, n := range c.counts {
		all[i%c.symbols] += n
		sum += n
	}
	lengths, weights := make([][]uint8, c.contexts), make([]uint64, c.symbols)
	for context := range lengths {
		for symbol, n := range c.row(context) {
			weights[symbol] = smoothed(n, all[symbol], sum)
		}
		lengths[context] = codeLengths(weights, MaxCodeLength)
	}
	return NewTable(c.name, lengths)
}

// smoothed returns the weight of a symbol that was counted n times in its context, and all times of sum in the whole
// table: what was seen, a few observations more as the whole table would have them, and a little for certain.
func smoothed(n, all, sum uint64) uint64 {
	borrowed := uint64(0)
	if sum > 0 {
		high, low := bits.Mul64(all, unseen*unseenParts)
		borrowed, _ = bits.Div64(high, low, sum)
	}
	return n*unseenParts + borrowed + 1
}

// Counting is a TableSource for training: it gives tables that are good for nothing but to be asked for, and counts
// what is coded with them.
type Counting struct {
	trainer  *Trainer
	classes  bool
	tables   map[string]*Table
	counters map[*Table][2]*Counter // its own, and that of its class or nil
	byName   map[string]*Counter
}

// NewCounting returns a source that counts for a trainer. With classes, what is counted goes to the tables of the
// classes alone, which do for any component; without, to those of each component's own lanes too.
func NewCounting(t *Trainer, classes bool) *Counting {
	return &Counting{trainer: t, classes: classes, tables: map[string]*Table{}, counters: map[*Table][2]*Counter{}, byName: map[string]*Counter{}}
}

// Table implements TableSource.
func (c *Counting) Table(name, class string, symbols, contexts int) (*Table, error) {
	if c.classes {
		name = class
	}
	if t := c.tables[name]; t != nil {
		if t.Symbols() != symbols || t.Contexts() != contexts {
			return nil, fmt.Errorf("%w: table %s is asked for in two sizes", ErrAlphabet, name)
		}
		return t, nil
	}
	t, err := flatTable(name, symbols, contexts)
	if err != nil {
		return nil, err
	}
	counters := [2]*Counter{c.counter(name, symbols, contexts)}
	if name != class {
		counters[1] = c.counter(class, symbols, contexts)
	}
	c.tables[name], c.counters[t] = t, counters
	return t, nil
}

// counter returns the counter of a name.
func (c *Counting) counter(name string, symbols, contexts int) *Counter {
	if c.byName[name] == nil {
		c.byName[name] = c.trainer.Table(name, symbols, contexts)
	}
	return c.byName[name]
}

// Count counts symbols that were coded with the tables of this source.
func (c *Counting) Count(list []DeltaSymbol) {
	for i := range list {
		s := &list[i]
		if s.Table == nil {
			continue
		}
		for _, counter := range c.counters[s.Table] {
			if counter != nil {
				counter.Count(s.Context, s.Symbol)
			}
		}
	}
}

// flatTable has codes of about the same length.
func flatTable(name string, symbols, contexts int) (*Table, error) {
	weights := make([]uint64, symbols)
	for i := range weights {
		weights[i] = 1
	}
	t, err := NewTable(name, [][]uint8{codeLengths(weights, MaxCodeLength)})
	if err != nil {
		return nil, err
	}
	code := t.code(0)
	t.codes = make([]atomic.Pointer[Code], contexts)
	for context := range t.codes { // all contexts are one and the same
		t.codes[context].Store(code)
	}
	return t, nil
}

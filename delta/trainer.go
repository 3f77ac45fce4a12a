package delta

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Trainer counts symbols and builds the tables with the shortest total code. Train it with recordings of real games.
// The result depends on the counts, not on their order.
type Trainer struct {
	counters []*Counter
}

// Counter counts the symbols of one table.
type Counter struct {
	name     string
	symbols  int
	contexts int
	counts   []uint64 // index: context × symbols + symbol
}

const (
	// mostCounts is the maximum count of a symbol, so that no sum of weights overflows.
	mostCounts = 1 << 36
	// unseen is the number of pseudo-observations that a context takes from its table's other contexts. unseenParts is
	// what every symbol gets in addition, so that an unseen symbol has a (long) code.
	unseen      = 8
	unseenParts = 16
)

// NewTrainer returns a trainer without tables.
func NewTrainer() *Trainer { return &Trainer{} }

// Table adds a table to be trained and returns its counter. It panics on a duplicate or illegal name and on illegal
// sizes.
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

// Count counts a symbol in a context. It panics if either is outside the table.
func (c *Counter) Count(context, symbol int) {
	if at := &c.row(context)[symbol]; *at < mostCounts {
		*at++
	}
}

// row returns the counts of a context.
func (c *Counter) row(context int) []uint64 {
	return c.counts[context*c.symbols:][:c.symbols:c.symbols]
}

// Build returns the tables for the counts so far. Every symbol has a code, even if its count is 0.
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

// BuildKnown is Build without the tables that counted fewer than least symbols. If the rest exceeds the limits of a
// set, the tables with the highest counts are taken first and those that do not fit are left out; see LeftOut.
func (t *Trainer) BuildKnown(least uint64) (*Tables, error) {
	known, _ := t.known(least)
	return (&Trainer{counters: known}).Build()
}

// LeftOut names the tables that counted enough symbols but do not fit into the set of BuildKnown, highest count first.
func (t *Trainer) LeftOut(least uint64) (names []string) {
	_, out := t.known(least)
	for _, c := range out {
		names = append(names, c.name)
	}
	return names
}

// known returns the counters with enough symbols, highest count first, that fit into a set, and the rest.
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

// total returns the number of counted symbols.
func (c *Counter) total() (n uint64) {
	for _, count := range c.counts {
		n += count
	}
	return n
}

// build builds the table of the counts.
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

// smoothed returns the weight of a symbol. n is its count in the context, all its count in the whole table, sum the
// table's total. The weight is n, plus a few observations distributed as in the whole table, plus a small constant.
func smoothed(n, all, sum uint64) uint64 {
	borrowed := uint64(0)
	if sum > 0 {
		high, low := bits.Mul64(all, unseen*unseenParts)
		borrowed, _ = bits.Div64(high, low, sum)
	}
	return n*unseenParts + borrowed + 1
}

// Counting is a TableSource for training. Its tables are placeholders; it counts the symbols that are encoded with
// them.
type Counting struct {
	trainer  *Trainer
	classes  bool
	tables   map[string]*Table
	counters map[*Table][2]*Counter // its own counter, and that of its class or nil
	byName   map[string]*Counter
}

// NewCounting returns a source that counts for a trainer. With classes it counts only for the tables of the classes,
// which suit any component. Without, it also counts for the tables of each component's own lanes.
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

// Count counts symbols that were encoded with tables of this source.
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

// flatTable returns a table whose codes have about equal lengths.
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
	for context := range t.codes { // all contexts have the same code
		t.codes[context].Store(code)
	}
	return t, nil
}

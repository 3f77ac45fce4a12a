package delta

import (
	"fmt"
	"sync/atomic"
)

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

// Flat is a TableSource whose codes say nothing about what is likely: for protocols with packing off.
type Flat struct{ tables map[string]*Table }

// NewFlat returns the source.
func NewFlat() *Flat { return &Flat{tables: map[string]*Table{}} }

// Table implements TableSource.
func (f *Flat) Table(_, class string, symbols, contexts int) (*Table, error) {
	if t := f.tables[class]; t != nil && t.Symbols() == symbols && t.Contexts() == contexts {
		return t, nil
	}
	t, err := flatTable(class, symbols, contexts)
	if err == nil {
		f.tables[class] = t
	}
	return t, err
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

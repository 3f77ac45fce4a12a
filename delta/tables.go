package delta

import (
	"bytes"
	_ "embed" // the shipped tables
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/arche-netcode/netcode/wire"
)

// Bounds of tables.
const (
	maxContexts  = 1024    // of one table
	maxCodes     = 8192    // of all tables in a set
	maxTableText = 1 << 20 // bytes of a set's text
)

// Table has one prefix code per context, all over the same alphabet. A context is known to both ends before the symbol
// and determines the probability of each symbol: for example how the field moved before. A Table is immutable; any
// number of goroutines may use it.
//
// The codes of a shipped table are built at first use, or by Ready.
type Table struct {
	name    string
	symbols int
	lines   string                 // shipped tables: its lines of the text
	codes   []atomic.Pointer[Code] // by context

	once sync.Once
	flat []atomic.Uint32 // Code.enc by context and symbol, zero if not computed yet; see flatten

	onceShort sync.Once
	short     []atomic.Uint32 // short tokens, zero if not computed yet; see shorten

	onceRead sync.Once
	read     *SymbolReader
}

// NewTable returns a table with these code lengths, one list per context, all of the same length.
func NewTable(name string, lengths [][]uint8) (*Table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	if len(lengths) == 0 || len(lengths) > maxContexts {
		return nil, fmt.Errorf("%w: table %s has %d contexts, not 1 to %d", ErrAlphabet, name, len(lengths), maxContexts)
	}
	t := &Table{name: name, symbols: len(lengths[0]), codes: make([]atomic.Pointer[Code], len(lengths))}
	for context, list := range lengths {
		if len(list) != len(lengths[0]) {
			return nil, fmt.Errorf("%w: table %s has %d symbols in context %d, %d in context 0", ErrAlphabet, name, len(list), context, len(lengths[0]))
		}
		code, err := NewCode(list)
		if err != nil {
			return nil, fmt.Errorf("table %s, context %d: %w", name, context, err)
		}
		t.codes[context].Store(code)
	}
	return t, nil
}

// code returns the code of a context.
func (t *Table) code(context int) *Code {
	if c := t.codes[context].Load(); c != nil {
		return c
	}
	return t.build(context)
}

// ready builds all missing codes.
func (t *Table) ready() {
	for context := range t.codes {
		t.code(context)
	}
}

// build builds a code from its line. Two goroutines may build the same one; either result is valid.
func (t *Table) build(context int) *Code {
	line := t.lines[context*(t.symbols+1):][:t.symbols]
	lengths := make([]uint8, t.symbols)
	for i := range lengths {
		lengths[i] = uint8(strings.IndexByte(lineDigits, line[i]))
	}
	c, err := NewCode(lengths)
	if err != nil {
		panic(fmt.Sprintf("wire: table %s that ships, context %d: %v", t.name, context, err))
	}
	t.codes[context].Store(c)
	return c
}

// flatten allocates one array for the codes of all contexts, so that an encoder finds a code with one look-up. Codes
// enter it at their first use.
func (t *Table) flatten() []atomic.Uint32 {
	t.once.Do(func() { t.flat = make([]atomic.Uint32, len(t.codes)*flatSize(t.symbols)) })
	return t.flat
}

// flatSize returns the array size of one context's codes. Large ones start at a cache line, so that the first 16
// symbols, which stand for short distances, share it.
func flatSize(symbols int) int {
	const line = 16
	if symbols <= line {
		return symbols
	}
	return (symbols + line - 1) / line * line
}

// unfold copies the codes of a context to flat and returns that of a symbol.
//
//go:noinline
func (t *Table) unfold(context, symbol int) uint32 {
	enc := t.code(context).enc
	for i, e := range enc {
		t.flat[context*flatSize(t.symbols)+i].Store(e)
	}
	return enc[symbol]
}

// checkTableName accepts 1 to 64 letters, digits, dots, dashes and underscores.
func checkTableName(name string) error {
	if !wire.IsName(name) {
		return fmt.Errorf("%w: %.70q is no table's name", ErrTableText, name)
	}
	return nil
}

// Name returns the table's name in its set.
func (t *Table) Name() string { return t.name }

// Symbols returns the size of the alphabet.
func (t *Table) Symbols() int { return t.symbols }

// Contexts returns the number of contexts.
func (t *Table) Contexts() int { return len(t.codes) }

// Code returns the code of a context. This and the following methods panic for a context outside the table.
func (t *Table) Code(context int) *Code { return t.code(context) }

// Length returns the length of a symbol's code in a context, in bits.
func (t *Table) Length(context, symbol int) int { return t.code(context).Length(symbol) }

// Bits returns the symbol's code in this context, as Write appends it, and its length.
func (t *Table) Bits(context, symbol int) (code uint64, n uint) {
	e := t.code(context).enc[symbol]
	return uint64(e & 0xFFFF), uint(e >> 16)
}

// Write appends the symbol's code in this context. A symbol outside the alphabet panics.
func (t *Table) Write(w *wire.BitWriter, context, symbol int) { t.code(context).Write(w, symbol) }

// Read returns the next symbol in this context. If the bits end within its code, the reader fails and the symbol is 0.
func (t *Table) Read(r *wire.BitReader, context int) int { return t.code(context).Read(r) }

// Tables is a set of tables, by name. It is trained as a whole, stored as one text, and part of the protocol hash. It
// is immutable; any number of goroutines may use it.
type Tables struct {
	list []*Table // by name
	hash uint64
}

// NewTables returns the set of these tables, in any order. Names must differ.
func NewTables(tables ...*Table) (*Tables, error) {
	s := &Tables{list: slices.Clone(tables)}
	slices.SortFunc(s.list, func(a, b *Table) int { return strings.Compare(a.name, b.name) })
	codes := 0
	for i, t := range s.list {
		if i > 0 && t.name == s.list[i-1].name {
			return nil, fmt.Errorf("%w: two tables are named %s", ErrTableText, t.name)
		}
		codes += t.Contexts()
	}
	if codes > maxCodes {
		return nil, fmt.Errorf("%w: %d codes in all, at most %d", ErrAlphabet, codes, maxCodes)
	}
	text := s.appendBody(nil)
	if len(text) > maxTableText-sumLine {
		return nil, fmt.Errorf("%w: %d bytes of text, at most %d", wire.ErrTooLong, len(text)+sumLine, maxTableText)
	}
	s.hash = sumTables(text)
	return s, nil
}

// Find returns the table of that name with these numbers of symbols and contexts. The error wraps ErrAlphabet and tells
// what exists instead.
func (s *Tables) Find(name string, symbols, contexts int) (*Table, error) {
	for _, t := range s.list {
		if t.name != name {
			continue
		}
		if t.Symbols() != symbols || t.Contexts() != contexts {
			return nil, fmt.Errorf("%w: table %s has %d symbols and %d contexts, needed are %d and %d", ErrAlphabet, name, t.Symbols(), t.Contexts(), symbols, contexts)
		}
		return t, nil
	}
	return nil, fmt.Errorf("%w: no table is named %.70s", ErrAlphabet, name)
}

// All returns the tables in the order of their names.
func (s *Tables) All() []*Table { return slices.Clone(s.list) }

// Hash returns the hash of the set for the protocol hash; it is also the last line of the text.
func (s *Tables) Hash() uint64 { return s.hash }

// Errors of the text form of tables.
var (
	// ErrTableText means that a text is not in the format of AppendText.
	ErrTableText = errors.New("wire: malformed table text")
	// ErrTableSum means that a text was changed after it was written.
	ErrTableSum = errors.New("wire: the sum of the table text is wrong")
)

const (
	tablesHead    = "wire.tables 1"
	sumLine       = len("sum 0123456789abcdef\n")
	recordingHead = "netcode recording " // files that begin with it belong to package record
	lineDigits    = "0123456789abcdef"   // a code's length
)

// AppendText appends the text form. Each table has a head line, then per context a line with one hexadecimal digit per
// symbol: the length of its code. The last line is Hash of everything before it.
//
//	wire.tables 1
//	table position.delta symbols=5 contexts=2
//	23232
//	14432
//	sum 0123456789abcdef
func (s *Tables) AppendText(dst []byte) []byte {
	dst = s.appendBody(dst)
	return fmt.Appendf(dst, "sum %016x\n", s.hash)
}

// appendBody appends the text without its last line.
func (s *Tables) appendBody(dst []byte) []byte {
	dst = append(dst, tablesHead+"\n"...)
	for _, t := range s.list {
		dst = fmt.Appendf(dst, "table %s symbols=%d contexts=%d\n", t.name, t.Symbols(), t.Contexts())
		for context := range t.codes {
			for _, e := range t.code(context).enc {
				dst = append(dst, lineDigits[e>>16])
			}
			dst = append(dst, '\n')
		}
	}
	return dst
}

// sumTables is FNV-1a 64.
func sumTables(text []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, b := range text {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return sum
}

// ParseTables parses a text of AppendText and nothing else; only its lines may end in CR LF. Memory is bounded by the
// size of the text. The errors name the line and wrap ErrTableText, ErrTableSum, ErrTooLong or an error of NewCode.
func ParseTables(text []byte) (*Tables, error) {
	if bytes.HasPrefix(text, []byte(recordingHead)) {
		return nil, fmt.Errorf("%w: it is a recording; netcode train makes tables of it", ErrTableText)
	}
	if len(text) > maxTableText {
		return nil, fmt.Errorf("%w: %d bytes of table text, at most %d", wire.ErrTooLong, len(text), maxTableText)
	}
	p := tableParser{rest: bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))}
	body := p.rest[:max(0, len(p.rest)-sumLine)]
	head, ok := p.line()
	if !ok || string(head) != tablesHead {
		return nil, p.fail("does not begin with %q", tablesHead)
	}
	var tables []*Table
	codes := 0
	for len(p.rest) > sumLine {
		t, err := p.table(&codes)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	if last := fmt.Sprintf("sum %016x\n", sumTables(body)); last != string(p.rest) {
		if len(p.rest) == sumLine && bytes.HasPrefix(p.rest, []byte("sum ")) {
			return nil, fmt.Errorf("%w: it ends with %q, which should be %q", ErrTableSum, p.rest, last)
		}
		return nil, p.fail("does not end with a sum")
	}
	s, err := NewTables(tables...)
	if err != nil {
		return nil, err
	}
	if s.hash != sumTables(body) {
		return nil, p.fail("the tables are not in the order of their names, or not written the only way")
	}
	return s, nil
}

// tableParser reads the text line by line.
type tableParser struct {
	rest []byte
	at   int // number of lines read
}

func (p *tableParser) fail(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrTableText, p.at, fmt.Sprintf(format, args...))
}

// line reads the next line, without its end.
func (p *tableParser) line() (line []byte, ok bool) {
	p.at++
	line, p.rest, ok = bytes.Cut(p.rest, []byte{'\n'})
	return line, ok
}

// head reads the line before a table: "table NAME symbols=N contexts=N".
func (p *tableParser) head() (name string, symbols, contexts int, err error) {
	head, ok := p.line()
	word := bytes.Split(head, []byte{' '})
	if !ok || len(word) != 4 || string(word[0]) != "table" {
		return "", 0, 0, p.fail("%.100q is no head of a table", head)
	}
	if symbols, err = p.number(word[2], "symbols=", MaxSymbols); err != nil {
		return "", 0, 0, err
	}
	contexts, err = p.number(word[3], "contexts=", maxContexts)
	return string(word[1]), symbols, contexts, err
}

// table reads one table.
func (p *tableParser) table(codes *int) (*Table, error) {
	name, symbols, contexts, err := p.head()
	if err != nil {
		return nil, err
	}
	if *codes += contexts; *codes > maxCodes {
		return nil, fmt.Errorf("%w: line %d: more than %d codes in all", ErrAlphabet, p.at, maxCodes)
	}
	if contexts*(symbols+1) > len(p.rest) {
		return nil, p.fail("%d contexts of %d symbols are more than follow", contexts, symbols)
	}
	lengths, at := make([][]uint8, contexts), p.at
	for context := range lengths {
		if lengths[context], err = p.lengths(symbols); err != nil {
			return nil, err
		}
	}
	t, err := NewTable(name, lengths)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", at, err)
	}
	return t, nil
}

// number parses key followed by a number from 1 to limit.
func (p *tableParser) number(word []byte, key string, limit int) (int, error) {
	digits, ok := bytes.CutPrefix(word, []byte(key))
	if !ok {
		return 0, p.fail("%.100q should be %sN", word, key)
	}
	n, err := strconv.ParseUint(string(digits), 10, 16)
	if err != nil || n < 1 || int(n) > limit {
		return 0, fmt.Errorf("%w: line %d: %s%.20s, not 1 to %d", ErrAlphabet, p.at, key, digits, limit)
	}
	return int(n), nil
}

// lengths reads the line of one context.
func (p *tableParser) lengths(symbols int) ([]uint8, error) {
	line, ok := p.line()
	if !ok || len(line) != symbols {
		return nil, fmt.Errorf("%w: line %d: %d symbols, not %d", ErrAlphabet, p.at, len(line), symbols)
	}
	lengths := make([]uint8, symbols)
	for i, digit := range line {
		n := strings.IndexByte(lineDigits, digit)
		if n < 0 {
			return nil, p.fail("%q is no code length: one digit of 0 to f a symbol", digit)
		}
		lengths[i] = uint8(n)
	}
	return lengths, nil
}

// shippedText is the text of the tables of all classes, written by `go run ./internal/tables`.
//
//go:embed shipped.tables
var shippedText string

// Shipped returns the tables that ship: one per class, trained on motion of many kinds that the project generates
// (docs/recording.md). It parses only the head lines; a code is built at its first use.
func Shipped() *Tables {
	s, err := lazyTables(shippedText)
	if err != nil {
		panic(err) // cannot happen: a test parses the text
	}
	return s
}

// lazyTables splits a text into tables without checking codes or the sum.
func lazyTables(text string) (*Tables, error) {
	s := &Tables{}
	_, rest, _ := strings.Cut(text, "\n")
	for len(rest) > sumLine {
		head, lines, _ := strings.Cut(rest, "\n")
		p := tableParser{rest: []byte(head + "\n")}
		name, symbols, contexts, err := p.head()
		if err != nil {
			return nil, err
		}
		t := &Table{name: name, symbols: symbols}
		size := contexts * (symbols + 1)
		if size > len(lines) {
			return nil, fmt.Errorf("%w: %q promises more than follows", ErrTableText, head)
		}
		t.lines, rest = lines[:size], lines[size:]
		t.codes = make([]atomic.Pointer[Code], contexts)
		s.list = append(s.list, t)
	}
	var err error
	s.hash, err = strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(rest, "sum "), "\n"), 16, 64)
	return s, err
}

package delta

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/arche-netcode/netcode/wire"
	"strconv"
	"strings"
)

// Errors of the text form of tables.
var (
	// ErrTableText says that a text is not the one that AppendText writes for any tables.
	ErrTableText = errors.New("wire: malformed table text")
	// ErrTableSum says that a text was changed after it was written.
	ErrTableSum = errors.New("wire: the sum of the table text is wrong")
)

const (
	tablesHead    = "wire.tables 1"
	sumLine       = len("sum 0123456789abcdef\n")
	recordingHead = "netcode recording " // what begins so is of package record
	lineDigits    = "0123456789abcdef"   // a code's length
)

// AppendText appends the text form, made to be checked in: for each table a head line, then for each context a line
// with one hexadecimal digit a symbol, the length of its code. The last line is Hash over all before it.
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

// ParseTables reads what AppendText wrote and nothing else, but that lines may end in CR LF, as some checkouts make
// them. Memory is bounded by what the text holds. The errors name the line and wrap ErrTableText, ErrTableSum, ErrTooLong
// or what NewCode returns.
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

// tableParser goes over the text by lines.
type tableParser struct {
	rest []byte
	at   int // lines taken
}

func (p *tableParser) fail(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrTableText, p.at, fmt.Sprintf(format, args...))
}

// line takes the next line, without its end.
func (p *tableParser) line() (line []byte, ok bool) {
	p.at++
	line, p.rest, ok = bytes.Cut(p.rest, []byte{'\n'})
	return line, ok
}

// table takes one table.
func (p *tableParser) table(codes *int) (*Table, error) {
	head, ok := p.line()
	word := bytes.Split(head, []byte{' '})
	if !ok || len(word) != 4 || string(word[0]) != "table" {
		return nil, p.fail("%.100q is no head of a table", head)
	}
	symbols, err := p.number(word[2], "symbols=", MaxSymbols)
	if err != nil {
		return nil, err
	}
	contexts, err := p.number(word[3], "contexts=", maxContexts)
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
	t, err := NewTable(string(word[1]), lengths)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", at, err)
	}
	return t, nil
}

// number reads key and a number of 1 to limit after it.
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

// lengths takes the line of one context.
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

package protocolpage_test

// Prefix codes and their tables, by the reader that is written from PROTOCOL.md alone. (10)

import (
	"fmt"
	"math/bits"
	"os"
	"sort"
	"strings"
	"testing"
)

// code is one prefix code: what each number of each length stands for.
type code map[[2]int]int

func newCode(lengths []int) code {
	order := make([]int, len(lengths))
	for symbol := range order {
		order[symbol] = symbol
	}
	sort.SliceStable(order, func(a, b int) bool { return lengths[order[a]] < lengths[order[b]] })
	c, next, was := code{}, 0, lengths[order[0]]
	for _, symbol := range order {
		next <<= lengths[symbol] - was
		was = lengths[symbol]
		c[[2]int{was, next}] = symbol
		next++
	}
	must(next == 1<<was, "not a complete code")
	return c
}

func (c code) read(s *stream) int {
	number := 0
	for length := 0; length <= 15; length++ {
		if symbol, ok := c[[2]int{length, number}]; ok {
			return symbol
		}
		number = number<<1 | int(s.bits(1))
	}
	panic(illegal("no code"))
}

// table is the codes of one name, by context. They are made when they are needed.
type table struct {
	symbols int
	lengths []string
	codes   map[int]code
}

func (t *table) read(s *stream, context int) int {
	c, made := t.codes[context]
	if !made {
		must(len(t.lengths[context]) == t.symbols, "code of %d symbols", len(t.lengths[context]))
		lengths := make([]int, t.symbols)
		for symbol, digit := range t.lengths[context] {
			lengths[symbol] = strings.IndexRune("0123456789abcdef", digit)
		}
		c = newCode(lengths)
		t.codes[context] = c
	}
	return c.read(s)
}

// token reads a signed number.
func (t *table) token(s *stream, context int) int64 {
	symbol := t.read(s, context)
	if symbol < 3 {
		return [3]int64{0, 1, -1}[symbol]
	}
	k := (symbol-3)/4 + 2
	m := int64(1)<<(k-1) | int64((symbol-3)/2%2)<<(k-2) | int64(s.bits(k-2))
	if (symbol-3)%2 == 1 {
		return -m
	}
	return m
}

// tables is a set; one that holds nothing gives flat codes, and one of the name stairs those of the vectors of deltas.
type tables map[string]*table

// find takes the table of a component's own lane, or the one of the class.
func (set tables) find(name, class string, symbols, contexts int) *table {
	t := set[name]
	if t == nil {
		t = set[class]
	}
	if _, stairs := set["stairs"]; stairs {
		t = stairTable(symbols, contexts)
	} else if t == nil && len(set) == 0 {
		t = flat(symbols, contexts)
	}
	must(t != nil && t.symbols == symbols && len(t.lengths) == contexts, "no table %s or %s of %d symbols and %d contexts", name, class,
		symbols, contexts)
	return t
}

// flat is the table of a protocol without tables: 2^k - n symbols of k-1 bits, then the rest of k.
func flat(symbols, contexts int) *table {
	k := bits.Len(uint(symbols - 1))
	short := 1<<k - symbols
	line := strings.Repeat(fmt.Sprintf("%x", max(k-1, 0)), short) + strings.Repeat(fmt.Sprintf("%x", k), symbols-short)
	t := &table{symbols: symbols, codes: map[int]code{}}
	for range contexts {
		t.lengths = append(t.lengths, line)
	}
	return t
}

// parseTables reads a set's text.
func parseTables(text string) (set tables, sum string) {
	lines := strings.Split(text, "\n")
	must(lines[0] == "wire.tables 1", "no table text")
	set = tables{}
	at, last := 1, ""
	for strings.HasPrefix(lines[at], "table ") {
		var name string
		var symbols, contexts int
		n, err := fmt.Sscanf(lines[at], "table %s symbols=%d contexts=%d", &name, &symbols, &contexts)
		must(n == 3 && err == nil && name > last && at+contexts < len(lines), "head of a table: %s", lines[at])
		set[name] = &table{symbols: symbols, lengths: lines[at+1 : at+1+contexts], codes: map[int]code{}}
		at, last = at+1+contexts, name
	}
	sum, ok := strings.CutPrefix(lines[at], "sum ")
	h := uint64(0xcbf29ce484222325)
	for _, c := range []byte(strings.Join(lines[:at], "\n") + "\n") {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	must(ok && sum == fmt.Sprintf("%016x", h) && at == len(lines)-2 && lines[at+1] == "", "sum of a table text")
	return set, sum
}

// shippedTables is the text of the tables that a protocol takes when its first entry says so.
const shippedTables = "../../delta/shipped.tables"

// tablesOf is the set that a protocol's first entry names: of none, flat codes.
func tablesOf(limits string) tables {
	_, want, named := strings.Cut(limits, ";tables:")
	if !named {
		return tables{}
	}
	want = want[:16] // the golden session chooses no others
	text, err := os.ReadFile(shippedTables)
	must(err == nil, "no tables")
	set, sum := parseTables(string(text))
	must(sum == want, "the tables are %s, the protocol's are %s", sum, want)
	return set
}

// TestProtocolTextSufficesForTables reads the codes, tokens and tables of the wire package's vectors.
func TestProtocolTextSufficesForTables(t *testing.T) {
	seen := map[string]int{}
	for word := range vectors(t, "delta/testdata/golden_tables.txt") {
		fault := attempt(func() {
			switch word[0] {
			case "code", "token":
				one := &table{symbols: len(word[1]), lengths: []string{word[1]}, codes: map[int]code{}}
				s := &stream{b: unhex(word[3])}
				for _, want := range strings.Split(word[2], ",") {
					got := ""
					if word[0] == "code" {
						got = fmt.Sprint(one.read(s, 0))
					} else {
						got = fmt.Sprint(one.token(s, 0))
					}
					must(got == want, "%s and not %s", got, want)
				}
				s.end()
			case "tables":
				parseTables(strings.NewReplacer("|", "\n", "_", " ").Replace(word[1]))
			}
		})
		if fault != nil {
			t.Errorf("%v: %v", word, fault)
		}
		seen[word[0]]++
	}
	if seen["code"] < 5 || seen["token"] < 3 || seen["tables"] < 2 {
		t.Fatalf("only %v", seen)
	}
}

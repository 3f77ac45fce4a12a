package delta

import (
	_ "embed" // the tables that ship
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// shippedText is what `go run ./cmd/netcode ship` writes: the text of the tables of all classes.
//
//go:embed shipped.tables
var shippedText string

// Shipped returns the tables that ship: one of each class, trained on motion of many kinds that the project generates
// (docs/recording.md). It reads heads only: a code is made when it is first used.
func Shipped() *Tables {
	s, err := lazyTables(shippedText)
	if err != nil {
		panic(err) // tests read the text as any other
	}
	return s
}

// lazyTables takes a text apart without looking at any code, or at the sum.
func lazyTables(text string) (*Tables, error) {
	s := &Tables{}
	_, rest, _ := strings.Cut(text, "\n")
	for len(rest) > sumLine {
		head, lines, _ := strings.Cut(rest, "\n")
		t := &Table{}
		contexts := 0
		if _, err := fmt.Sscanf(head, "table %s symbols=%d contexts=%d", &t.name, &t.symbols, &contexts); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrTableText, head, err)
		}
		size := contexts * (t.symbols + 1)
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

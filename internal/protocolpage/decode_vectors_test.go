package protocolpage_test

// The reader written from PROTOCOL.md against the other vectors that testdata/README.md names.

import (
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// attempt returns the text that a step of the reader panics with, as an error, or nil.
func attempt(step func()) (err error) {
	defer func() {
		if why, ok := recover().(illegal); ok {
			err = fmt.Errorf("%s", string(why))
		}
	}()
	step()
	return nil
}

// vectors are the lines of a file of vectors, in words.
func vectors(t *testing.T, name string) iter.Seq[[]string] {
	file, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func([]string) bool) {
		for _, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
			if !strings.HasPrefix(line, "#") && !yield(strings.Fields(line)) {
				return
			}
		}
	}
}

// unhex reads bytes as vectors spell them.
func unhex(text string) []byte {
	b, err := hex.DecodeString(strings.TrimSuffix(text, "-"))
	must(err == nil, "no bytes: %s", text)
	return b
}

// TestProtocolTextSufficesForRows reads the bit codes and rows of the wire package's vectors.
func TestProtocolTextSufficesForRows(t *testing.T) {
	var s shape
	seen := map[string]int{}
	for word := range vectors(t, "quantize/testdata/golden.txt") {
		if word[0] == "describe" {
			s = parseShape(word[1])
		}
	}
	for word := range vectors(t, "quantize/testdata/golden.txt") {
		if word[0] != "var" && word[0] != "row" && word[0] != "refuse" {
			continue
		}
		from := &stream{b: unhex(word[len(word)-1])}
		var got, want string
		fault := attempt(func() {
			switch word[0] {
			case "var":
				want = word[1]
				got = strconv.FormatUint(from.number(), 10)
				from.end()
			case "row":
				want = word[2] + " " + word[3]
				row := s.row(from)
				got = meanings(&s, row) + " " + numbers(row)
				from.end()
			case "refuse":
				want = "refused"
				if word[1] == "var" {
					from.number()
				} else {
					got = want
				}
			}
		})
		if fault != nil && word[0] == "refuse" {
			got = want
		} else if fault != nil {
			t.Errorf("%v: %v", word, fault)
		}
		if got != want {
			t.Errorf("%v\nmeans %s", word, got)
		}
		seen[word[0]]++
	}
	if seen["var"] < 10 || seen["row"] < 4 {
		t.Fatalf("only %v", seen)
	}
}

// numbers lists a row's numbers.
func numbers(row []uint32) string {
	var text []string
	for _, n := range row {
		text = append(text, fmt.Sprint(n))
	}
	return strings.Join(text, ",")
}

// meanings spells a row as the vectors do: floats as their bits.
func meanings(s *shape, row []uint32) string {
	var parts []string
	for i := range s.fields {
		f := &s.fields[i]
		var spelled []string
		for _, text := range strings.Split(f.text(row), ",") {
			switch v, err := strconv.ParseFloat(text, 64); {
			case f.base == "bool":
				text = fmt.Sprint(row[f.lane])
			case err == nil && f.base == "f64":
				text = fmt.Sprintf("%016x", math.Float64bits(v))
			case err == nil && !strings.ContainsAny(f.base[:1], "iu"):
				text = fmt.Sprintf("%08x", math.Float32bits(float32(v)))
			}
			spelled = append(spelled, text)
		}
		parts = append(parts, f.path+"="+strings.Join(spelled, ","))
	}
	return strings.Join(parts, ";")
}

// TestProtocolTextSufficesForItsExamples reads the datagrams that testdata/README.md prints.
func TestProtocolTextSufficesForItsExamples(t *testing.T) {
	page, err := os.ReadFile("../../testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{hash: 0xAABBCCDD, nonce: 0x1122334455667788, epoch: 0xCAFEF00D, packetSize: 1200, seen: map[string]int{}}
	cookie := "cookie=0102030405060708090a0b0c0d0e0f10"
	want := []string{
		"hello version=1 nonce=1122334455667788 protocol=00000000aabbccdd " + cookie + " entries=2 hashes=deadbeef,00000005",
		"challenge nonce=1122334455667788 " + cookie,
		"accept nonce=1122334455667788 epoch=cafef00d rate=30 window=64 packet=1200",
		"join nonce=1122334455667788 " + cookie,
		"join nonce=1122334455667788 " + cookie + " payload=616e6e61",
		"welcome client=3 tick=1000 token=0102030405060708090a0b0c0d0e0f10",
		"resume client=3 nonce=1122334455667788 path=2233445566778899 number=1 " + cookie,
		"reset client=3 nonce=1122334455667788 path=2233445566778899 reason=14 token=0102030405060708090a0b0c0d0e0f10",
		`refuse nonce=1122334455667788 reason=32 detail="64 of 64"`,
		"packet sequence=1 acks=- []",
		`packet sequence=2 acks=4,2,1 [Close reason=2 detail="hi"]`,
		`packet sequence=3 acks=4,2,1 delay=2000us [Close reason=2 detail="hi"]`,
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^        ((?:[0-9a-f]{2}|\.| )+)$`).FindAllStringSubmatch(string(page), -1) {
		text := strings.ReplaceAll(m[1], " ", "")
		if head, sum, cut := strings.Cut(text, "..."); cut {
			text = head + strings.Repeat("00", 512-len(head+sum)/2) + sum
			r.entries, r.hash = []string{"", ""}, 0 // not the reader's own protocol
		}
		datagram, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		fromServer := datagram[0] >= 0x82 && datagram[0] != 0x85 && datagram[0] != 0x87
		meaning, err := r.read(datagram, fromServer)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		got, r.hash = append(got, meaning), 0xAABBCCDD
	}
	if !slices.Equal(got, want) {
		t.Errorf("the examples mean\n%s", strings.Join(got, "\n"))
	}
}

// TestProtocolHashOfTheText computes the hash that testdata/README.md gives of the entries that it prints.
func TestProtocolHashOfTheText(t *testing.T) {
	page, err := os.ReadFile("../../testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`- Protocol hash: these entries give 0x([0-9a-f]{16}):\n\n((?:      .*\n)+)`).FindSubmatch(page)
	if m == nil {
		t.Fatal("no example")
	}
	hash := uint64(0xcbf29ce484222325)
	for _, c := range []byte(strings.ReplaceAll(string(m[2]), "      ", "")) {
		hash = (hash ^ uint64(c)) * 0x100000001b3
	}
	if fmt.Sprintf("%016x", hash) != string(m[1]) {
		t.Fatalf("%016x", hash)
	}
}

// TestProtocolTextSufficesForDeltas reads rows as what differs from the wire package's vectors.
func TestProtocolTextSufficesForDeltas(t *testing.T) {
	list := func(text string) (row []uint32) {
		for _, word := range strings.Split(strings.TrimSuffix(text, "-"), ",") {
			if n, err := strconv.ParseUint(word, 10, 32); err == nil {
				row = append(row, uint32(n))
			}
		}
		return row
	}
	seen := map[string]int{}
	for word := range vectors(t, "delta/testdata/golden_differ.txt") {
		s := parseShape(word[1])
		age, _ := strconv.ParseInt(word[2], 10, 64)
		span, _ := strconv.ParseInt(word[3], 10, 64)
		v := leant{base: list(word[5]), before: list(word[4]), age: age, span: span, miss: new(int)}
		var got []uint32
		at := len(word) - 1
		if word[0] == "refuse" {
			at--
		}
		fault := attempt(func() {
			from := &stream{b: unhex(word[at])}
			got = newDiffer(&s, tables{"stairs": nil}).row(from, v)
			from.end()
		})
		switch {
		case word[0] == "refuse" && fault == nil:
			t.Errorf("%v: legal", word)
		case word[0] == "row" && fault != nil:
			t.Errorf("%v: %v", word, fault)
		case word[0] == "row" && !slices.Equal(got, list(word[6])):
			t.Errorf("%v means %v", word, got)
		}
		seen[word[0]]++
	}
	if seen["row"] < 40 || seen["refuse"] < 10 {
		t.Fatalf("only %v", seen)
	}
}

// stairTable is the rule of those vectors.
func stairTable(symbols, contexts int) *table {
	lengths := flat(symbols, 1).lengths[0]
	if u := min(4, symbols-2); u > 0 {
		lengths = "1234"[:u]
		for _, n := range flat(symbols-u, 1).lengths[0] {
			lengths += string("0123456789abcdef"[u+strings.IndexRune("0123456789abcdef", n)])
		}
	}
	t := &table{symbols: symbols, codes: map[int]code{}}
	for context := range contexts {
		t.lengths = append(t.lengths, lengths[context%symbols:]+lengths[:context%symbols])
	}
	return t
}

// TestProtocolTextSufficesForSetsOfRows reads the vectors of the rows that records have.
func TestProtocolTextSufficesForSetsOfRows(t *testing.T) {
	read := 0
	for word := range vectors(t, "snapshot/format/testdata/rows.golden") {
		components, err := strconv.Atoi(word[0])
		require.NoError(t, err)
		got, from := "", &stream{b: unhex(word[2])}
		if fault := attempt(func() {
			for _, row := range presentOf(from, components) {
				got += "," + strconv.Itoa(row)
			}
			from.end()
		}); fault != nil {
			got = ",illegal"
		}
		require.Equal(t, strings.TrimPrefix(word[1], "-"), strings.TrimPrefix(got, ","), "%v", word)
		read++
	}
	require.Greater(t, read, 10)
}

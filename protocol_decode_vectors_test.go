package netcode_test

// The reader written from PROTOCOL.md against the other vectors that its section 14 names.

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// attempt is what a step of the reader panics with, or nil.
func attempt(step func()) (err error) {
	defer func() {
		if why, ok := recover().(illegal); ok {
			err = fmt.Errorf("%s", string(why))
		}
	}()
	step()
	return nil
}

// TestProtocolTextSufficesForRows reads the bit codes and rows of the wire package's vectors.
func TestProtocolTextSufficesForRows(t *testing.T) {
	file, err := os.ReadFile("wire/testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	description := regexp.MustCompile(`(?m)^describe (.*)$`).FindSubmatch(file)
	s := parseShape(string(description[1]))
	seen := map[string]int{}
	for _, line := range strings.Split(string(file), "\n") {
		word := strings.Fields(line)
		if len(word) < 2 {
			continue
		}
		payload, _ := hex.DecodeString(word[len(word)-1])
		from := &stream{b: payload}
		var got, want string
		fault := attempt(func() {
			switch word[0] {
			case "var":
				want = word[1]
				got = strconv.FormatUint(from.number(), 10)
				from.end()
			case "row":
				want = word[2] + " " + word[3]
				got = values(s.row(from))
				got = meanings(&s, &stream{b: payload}) + " " + got
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
			t.Errorf("%s: %v", line, fault)
		}
		if got != want {
			t.Errorf("%s\nmeans %s", line, got)
		}
		seen[word[0]]++
	}
	if seen["var"] < 10 || seen["row"] < 4 {
		t.Fatalf("only %v", seen)
	}
}

// values lists a row's numbers as they travel: those of 64 bits as two.
func values(row [][]uint64) string {
	widths := map[int]bool{3: true, 6: true, 10: true} // I64, F64, Half
	var text []string
	for i, numbers := range row {
		for _, n := range numbers {
			if widths[i] {
				text = append(text, fmt.Sprint(n&math.MaxUint32), fmt.Sprint(n>>32))
			} else {
				text = append(text, fmt.Sprint(n))
			}
		}
	}
	return strings.Join(text, ",")
}

// meanings spells a row as the vectors do: floats as their bits.
func meanings(s *shape, from *stream) string {
	var parts []string
	for i, numbers := range s.row(from) {
		f := &s.fields[i]
		var spelled []string
		for _, text := range strings.Split(f.text(numbers), ",") {
			switch v, err := strconv.ParseFloat(text, 64); {
			case f.base == "bool":
				text = fmt.Sprint(numbers[0])
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

// TestProtocolTextSufficesForItsExamples reads the datagrams that PROTOCOL.md prints.
func TestProtocolTextSufficesForItsExamples(t *testing.T) {
	page, err := os.ReadFile("PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{hash: 0xAABBCCDD, nonce: 0x1122334455667788, epoch: 0xCAFEF00D, packetSize: 1200}
	cookie := "cookie=0102030405060708090a0b0c0d0e0f10"
	want := []string{
		"hello version=1 nonce=1122334455667788 protocol=00000000aabbccdd " + cookie + " entries=2 hashes=deadbeef,00000005",
		"challenge nonce=1122334455667788 " + cookie,
		"accept nonce=1122334455667788 epoch=cafef00d client=3 tick=1000 rate=30 window=64 packet=1200",
		`refuse nonce=1122334455667788 reason=32 detail="64 of 64"`,
		"packet sequence=1 acks=- []",
		`packet sequence=2 acks=4,2,1 [Close reason=2 detail="hi"]`,
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^        ((?:[0-9a-f]{2}|\.| )+)$`).FindAllStringSubmatch(string(page), -1) {
		text := strings.ReplaceAll(m[1], " ", "")
		if head, sum, cut := strings.Cut(text, "..."); cut {
			text = head + strings.Repeat("00", 1200-len(head+sum)/2) + sum
			r.entries, r.hash = []string{"", ""}, 0 // not the reader's own protocol
		}
		datagram, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		fromServer := datagram[0] >= 0x82
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

// TestProtocolHashOfTheText computes the hash that PROTOCOL.md gives.
func TestProtocolHashOfTheText(t *testing.T) {
	r := newReader([]string{
		"limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192}",
		"component Position{X:f32[-512,512,0.002];Y:f32}",
		"message Chat{Number:u32}",
	})
	if r.hash != 0x181ddaf46525f20b {
		t.Fatalf("%016x", r.hash)
	}
}

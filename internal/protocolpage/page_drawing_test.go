package protocolpage_test

// The drawings of snapshots in PROTOCOL.md are of the golden session.

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// draw returns the parts of the first snapshot of the golden session for which a condition holds: its bits in the order of the stream.
func draw(t *testing.T, is func(meaning string) bool) string {
	var parts []part
	text := ""
	faults, _ := decodeSession(t, recallRows, func(r *reader, datagram []byte, fromServer bool) (string, error) {
		parts = nil
		if r.world != nil {
			r.world.parts = &parts
		}
		meaning, err := r.read(datagram, fromServer)
		if text == "" && err == nil && len(parts) > 0 && is(meaning) {
			payload := datagram[len(datagram)-4-(parts[len(parts)-1].to+7)/8 : len(datagram)-4]
			text = drawParts(payload, parts)
		}
		return meaning, err
	})
	if len(faults) > 0 || text == "" {
		t.Fatal("nothing to draw", faults)
	}
	return text
}

func drawParts(payload []byte, parts []part) string {
	text := fmt.Sprintf("    % x\n\n", payload)
	for _, p := range parts {
		bits := ""
		for at := p.from; at < p.to; at++ {
			bits += string('0' + rune(payload[at/8]>>(at%8)&1))
		}
		text += fmt.Sprintf("    %4d  %-33s %s\n", p.from, bits, p.meaning)
	}
	return text
}

// TestProtocolPageDrawings compares the drawings of PROTOCOL.md. With -rewrite it writes them, after TestProtocolGoldenSession.
func TestProtocolPageDrawings(t *testing.T) {
	const path = "../../PROTOCOL.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for name, is := range map[string]func(meaning string) bool{
		"full": func(meaning string) bool { return strings.Contains(meaning, "absolute=2 baseline=0") },
		"delta": func(meaning string) bool {
			return strings.Contains(meaning, "absolute=0 baseline=1 rows=0 deltas=1 same=1")
		},
	} {
		before, rest, found := strings.Cut(text, "<!-- drawing "+name+" -->\n\n")
		old, after, ended := strings.Cut(rest, "\n<!-- end -->")
		if !found || !ended {
			t.Fatal("PROTOCOL.md has no drawing ", name)
		}
		drawn := draw(t, is)
		if old != drawn && !*rewrite {
			t.Errorf("the drawing %s is stale: go test ./internal/protocolpage -rewrite; now it is\n%s", name, drawn)
		}
		text = before + "<!-- drawing " + name + " -->\n\n" + drawn + "\n<!-- end -->" + after
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

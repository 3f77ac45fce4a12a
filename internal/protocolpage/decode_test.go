package protocolpage_test

// A second reader of the wire, written from PROTOCOL.md alone: it uses nothing of this module. It decodes every datagram of
// the golden session and must come to the meaning that the file gives. Section numbers are those of PROTOCOL.md.

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// illegal is the value that the reader panics with. read turns it into an error.
type illegal string

func must(holds bool, format string, values ...any) {
	if !holds {
		panic(illegal(fmt.Sprintf(format, values...)))
	}
}

// reader is a listener on the network that hears both directions.
type reader struct {
	entries    []string
	components []shape // by row
	messages   []shape // by type - 16
	hash       uint64
	epoch      uint32
	nonce      uint64
	path       uint64 // of the last Resume,
	number     uint32 // and its number
	packetSize int
	window     int64
	client     uint32 // the last that was welcomed
	world      *observed
	theirs     *observed    // what the client writes
	inputs     []shape      // in the order of their entries
	writable   map[int]bool // rows that clients write
	tables     tables
	seen       map[string]int // what there was of everything that may be there
	roles      []string       // by type - 16: what stands behind the fields of a message's entry
	recall     recallFunc
	tried      func(o *observed, payload []byte)
	pieces     map[string][][]byte // by direction, channel and number of the first
}

func newReader(entries []string) *reader {
	r := &reader{entries: entries, hash: 0xcbf29ce484222325, writable: map[int]bool{}, pieces: map[string][][]byte{}, seen: map[string]int{}}
	r.tables = tablesOf(entries[0])
	for _, entry := range entries { // 12
		for _, c := range []byte(entry + "\n") {
			r.hash = (r.hash ^ uint64(c)) * 0x100000001b3
		}
		kind, text, _ := strings.Cut(entry, " ")
		switch kind {
		case "component":
			if after := text[strings.LastIndex(text, "}")+1:]; after != "" {
				must(after == "[owner]" || after == "[named]", "component with %s", after)
				r.writable[len(r.components)] = true
			}
			r.components = append(r.components, parseShape(text))
		case "input":
			must(strings.HasSuffix(text, "}[64]"), "input %s", text)
			r.inputs = append(r.inputs, parseShape(text))
		case "message":
			r.messages = append(r.messages, parseShape(text))
			r.roles = append(r.roles, text[strings.LastIndex(text, "}")+1:])
		}
	}
	return r
}

func fnv32(text string) uint32 {
	h := uint32(0x811c9dc5)
	for _, c := range []byte(text) {
		h = (h ^ uint32(c)) * 0x1000193
	}
	return h
}

// crc continues from the finished value c. (2)
func crc(c uint32, b []byte) uint32 { return crc32.Update(c, crc32.IEEETable, b) }

// start is C. (2)
func start(epoch uint32, hash uint64) uint32 {
	b := binary.LittleEndian.AppendUint32(nil, epoch)
	return crc(0, binary.LittleEndian.AppendUint64(b, hash))
}

// unsum takes the checksum off.
func unsum(from uint32, datagram []byte) []byte {
	must(len(datagram) >= 4, "no checksum")
	b := datagram[:len(datagram)-4]
	must(crc(from, b) == binary.LittleEndian.Uint32(datagram[len(b):]), "wrong checksum")
	return b
}

// read is the meaning of a datagram, or why it has none.
func (r *reader) read(datagram []byte, fromServer bool) (meaning string, err error) {
	defer func() {
		if why := recover(); why != nil {
			text, ok := why.(illegal)
			if !ok {
				panic(why)
			}
			err = fmt.Errorf("%s", string(text))
		}
	}()
	must(len(datagram) > 0, "empty")
	if sealed := datagram[0] >= 0x85 && datagram[0] <= 0x87; datagram[0]&0x80 != 0 && !sealed {
		return r.handshake(unsum(start(0, 0), datagram), fromServer), nil
	}
	c := start(r.epoch, r.hash)
	must(r.epoch != 0 && c != 0 && ^c != 0, "no session")
	must(len(datagram) <= r.packetSize, "larger than agreed")
	if fromServer {
		c = ^c
	}
	switch {
	case datagram[0] == 0x85 && !fromServer:
		return r.join(unsum(c, datagram)), nil
	case datagram[0] == 0x87 && !fromServer:
		return r.resume(unsum(c, datagram)), nil
	case datagram[0] == 0x86 && fromServer:
		return r.welcome(unsum(c, datagram)), nil
	}
	must(datagram[0] < 0x80, "from the wrong end")
	return r.packet(unsum(c, datagram), fromServer), nil
}

// handshake reads section 3.
func (r *reader) handshake(b []byte, fromServer bool) string {
	kind, nonce := b[0], uint64(0)
	if kind != 0x81 && kind != 0x88 && len(b) >= 9 {
		nonce = binary.LittleEndian.Uint64(b[1:])
		must(nonce == r.nonce || nonce == r.path && kind != 0x83, "nonce of another attempt")
	}
	must(fromServer == (kind != 0x81), "from the wrong end")
	switch {
	case kind == 0x81 && len(b) == 508:
		return r.hello(b)
	case kind == 0x82 && len(b) == 25:
		must(string(b[9:25]) != strings.Repeat("\x00", 16), "no cookie")
		return fmt.Sprintf("challenge nonce=%016x cookie=%x", nonce, b[9:25])
	case kind == 0x83 && len(b) == 19:
		return r.accept(b, nonce)
	case kind == 0x84 && len(b) >= 10 && len(b) <= 490:
		must(b[9] != 0, "no reason")
		return fmt.Sprintf("refuse nonce=%016x reason=%d detail=%q", nonce, b[9], detail(b[10:]))
	case kind == 0x88 && len(b) == 38:
		must(b[21] != 0, "no reason")
		le := binary.LittleEndian
		must(le.Uint64(b[5:]) == r.nonce && le.Uint64(b[13:]) == r.path, "not the Resume that it answers")
		return fmt.Sprintf("reset client=%d nonce=%016x path=%016x reason=%d token=%x", le.Uint32(b[1:]), le.Uint64(b[5:]), le.Uint64(b[13:]), b[21], b[22:38])
	}
	panic(illegal("neither kind nor length of a handshake datagram"))
}

func (r *reader) hello(b []byte) string {
	r.nonce = binary.LittleEndian.Uint64(b[3:])
	must(binary.LittleEndian.Uint16(b[1:]) == 1, "another version")
	entries := int(binary.LittleEndian.Uint16(b[35:]))
	hash := binary.LittleEndian.Uint64(b[11:])
	var hashes []string
	rest := b[37:]
	for i := range min(entries, 117) {
		h := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		if hash == r.hash {
			must(entries == len(r.entries) && h == fnv32(r.entries[i]), "hash of entry %d", i)
		}
		hashes = append(hashes, fmt.Sprintf("%08x", h))
	}
	for _, padding := range rest {
		must(padding == 0, "padding")
	}
	return fmt.Sprintf("hello version=1 nonce=%016x protocol=%016x cookie=%x entries=%d hashes=%s", r.nonce, hash, b[19:35],
		entries, strings.Join(hashes, ","))
}

func (r *reader) accept(b []byte, nonce uint64) string {
	u16 := func(at int, least, most uint16) uint16 {
		v := binary.LittleEndian.Uint16(b[at:])
		must(v >= least && v <= most, "number at %d", at)
		return v
	}
	r.epoch = binary.LittleEndian.Uint32(b[9:])
	must(r.epoch != 0, "illegal accept")
	rate, window, size := u16(13, 1, 1000), u16(15, 64, 4096), u16(17, 256, 8192)
	r.packetSize, r.window = int(size), int64(window)
	return fmt.Sprintf("accept nonce=%016x epoch=%08x rate=%d window=%d packet=%d", nonce, r.epoch, rate, window, size)
}

// join reads what the client sends when it was accepted.
func (r *reader) join(b []byte) string {
	must(len(b) >= 25 && len(b) <= 425 && binary.LittleEndian.Uint64(b[1:]) == r.nonce, "illegal join")
	must(string(b[9:25]) != strings.Repeat("\x00", 16), "no cookie")
	text := fmt.Sprintf("join nonce=%016x cookie=%x", r.nonce, b[9:25])
	if len(b) > 25 {
		text += fmt.Sprintf(" payload=%x", b[25:])
	}
	return text
}

// resume reads what names a session from an address that may be another.
func (r *reader) resume(b []byte) string {
	must(len(b) == 41, "illegal resume")
	client, nonce, number := binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint64(b[5:]), binary.LittleEndian.Uint32(b[21:])
	must(client == r.client && nonce == r.nonce, "resume of another session")
	must(number > r.number, "number of a resume that is not the next")
	r.path, r.number = binary.LittleEndian.Uint64(b[13:]), number
	return fmt.Sprintf("resume client=%d nonce=%016x path=%016x number=%d cookie=%x", client, nonce, r.path, number, b[25:41])
}

// welcome reads what begins a session. It may come again.
func (r *reader) welcome(b []byte) string {
	must(len(b) == 29, "illegal welcome")
	client, tick := binary.LittleEndian.Uint32(b[1:]), int64(binary.LittleEndian.Uint64(b[5:]))
	must(client != 0 && tick >= 0 && tick <= 1<<62+1<<53, "illegal welcome")
	if client != r.client {
		r.client, r.number = client, 0
		r.world = newObserved(r.components, r.tables, tick, r.window)
		r.world.seen, r.world.recall, r.world.tried = r.seen, r.recall, r.tried
		r.theirs = newObserved(r.components, r.tables, tick, r.window)
		r.theirs.seen, r.theirs.writable = map[string]int{}, r.writable
	}
	return fmt.Sprintf("welcome client=%d tick=%d token=%x", client, tick, b[13:29])
}

func detail(b []byte) string {
	must(utf8.Valid(b), "detail is not UTF-8")
	for _, c := range string(b) {
		must(unicode.IsPrint(c), "detail is not printable")
	}
	return string(b)
}

// packet reads section 5.
func (r *reader) packet(b []byte, fromServer bool) string {
	take := func(n int) []byte {
		must(n <= len(b), "too short")
		taken := b[:n]
		b = b[n:]
		return taken
	}
	flags := take(1)[0]
	must(flags&0xC0 == 0 && (flags&1 != 0 || flags == 0), "flags %02x", flags)
	sequence, acks := binary.LittleEndian.Uint16(take(2)), "-"
	if flags&1 != 0 {
		ack := binary.LittleEndian.Uint16(take(2))
		acks = fmt.Sprint(ack)
		for k := range 4 {
			bits := byte(0xFF)
			if flags>>(1+k)&1 != 0 {
				bits = take(1)[0]
				must(bits != 0xFF, "ack bits of 0xFF")
			}
			for i := range 8 {
				if bits>>i&1 != 0 {
					acks += fmt.Sprintf(",%d", ack-1-uint16(8*k+i))
				}
			}
		}
		if flags&0x20 != 0 {
			r.seen["ack delay"]++
			acks += fmt.Sprintf(" delay=%dus", 8*int(binary.LittleEndian.Uint16(take(2))))
		}
	}
	return fmt.Sprintf("packet sequence=%d acks=%s [%s]", sequence, acks, strings.Join(r.batches(b, fromServer), " | "))
}

// expand is the inverse of the short form of zeros (testdata/README.md).
func expand(t *testing.T, text string) []byte {
	text = regexp.MustCompile(`\(00\*(\d+)\)`).ReplaceAllStringFunc(text, func(run string) string {
		n, _ := strconv.Atoi(run[4 : len(run)-1])
		return strings.Repeat("00", n)
	})
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decodeSession decodes the golden session. It returns where the meaning is not that of the file, and what there was.
func decodeSession(t *testing.T, recall recallFunc, read func(*reader, []byte, bool) (string, error)) (faults []string, seen map[string]int) {
	file, err := os.ReadFile("../../testdata/session.golden")
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	readers := map[string]*reader{} // by the end that is not the server
	seen, got := map[string]int{}, ""
	counted := regexp.MustCompile(` despawns=\d+ absolute=\d+ baseline=\d+ rows=\d+ deltas=\d+ same=\d+`)
	for n, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#":
		case "entry":
			entries = append(entries, rest)
		case "hash":
			if r := newReader(entries); rest != fmt.Sprintf("%016x", r.hash) {
				t.Fatalf("protocol hash %016x, the file says %s", r.hash, rest)
			}
		case "=":
			if strings.Contains(got, "Snapshot ") && !strings.Contains(rest, " despawns=") { // one of several of its tick
				got = counted.ReplaceAllString(got, "")
			}
			if got != rest {
				faults = append(faults, fmt.Sprintf("line %d means\n%s\nand not\n%s", n+1, got, rest))
			}
		default:
			seen["datagram"]++
			from, to, _ := strings.Cut(word, ">")
			end := from
			if from == "server" {
				end = to
			}
			r := readers[end]
			if r == nil {
				r = newReader(entries)
				r.seen, r.recall = seen, recall
				readers[end] = r
			}
			if got, err = read(r, expand(t, rest[strings.LastIndex(rest, " ")+1:]), from == "server"); err != nil {
				faults = append(faults, fmt.Sprintf("line %d: %v", n+1, err))
			}
		}
	}
	return faults, seen
}

// TestProtocolTextSufficesToDecode decodes the golden session by PROTOCOL.md and nothing else.
func TestProtocolTextSufficesToDecode(t *testing.T) {
	faults, seen := decodeSession(t, recallRows, decodeStrictly)
	for _, fault := range faults {
		t.Error(fault)
	}
	for _, what := range []string{
		"run", "list", "left out", "rows told", "against T'", "near", "nearer", "newest", "age", "despawned", "nobody", "resync", "lacking", "whole page", "part of a page", "list told", "piece", "Unreliable", "UnreliableSequenced", "Reliable",
		"ReliableOrdered", "credit", "refusal", "tick", "entity", "call", "state", "pulse", "ack delay", "feedback", "late", "slip", "input", "several inputs", "input that differs", "lane as distance",
		"lane in full", "input not set", "snapshot of a client", "despawned by a client", "netcode.right", "netcode.wish", "record of T gone", "kept record later than T", "row that came since T",
	} {
		if seen[what] == 0 {
			t.Errorf("nothing with: %s", what)
		}
	}
	if seen["datagram"] < 100 {
		t.Fatalf("only %v", seen)
	}
}

// decodeStrictly decodes one datagram, after forms of it with one damaged bit were refused.
func decodeStrictly(r *reader, datagram []byte, fromServer bool) (string, error) {
	step := 1 + len(datagram)/256 // of large ones not every bit, to save time
	for bit := 0; bit < 8*len(datagram); bit += step {
		datagram[bit/8] ^= 1 << (bit % 8)
		if _, err := r.read(datagram, fromServer); err == nil {
			return "", fmt.Errorf("legal with bit %d turned over", bit)
		}
		datagram[bit/8] ^= 1 << (bit % 8)
	}
	if _, err := r.read(datagram, !fromServer); err == nil {
		return "", errors.New("legal from the other end")
	}
	return r.read(datagram, fromServer)
}

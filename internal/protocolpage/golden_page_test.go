package protocolpage_test

// The code does as PROTOCOL.md says in its tables and examples.

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// pageSection is the text from one heading of PROTOCOL.md to the next.
func pageSection(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../PROTOCOL.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n"+heading+"\n")
	require.True(t, found, heading)
	text, _, _ = strings.Cut(text, "\n#")
	return text
}

// TestProtocolPageStates walks the table of what a message comes to.
func TestProtocolPageStates(t *testing.T) {
	verdicts := map[string]peer.Verdict{"+": peer.VerdictAccept, "-": peer.VerdictDrop, "x": peer.VerdictClose}
	told := map[wire.MessageType][]string{}
	var others []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+)(?:\.\.(\d+))?(?: \w+)? \|(.*)\|$|^\| all others \|(.*)\|$`).
		FindAllStringSubmatch(pageSection(t, "### What a message comes to"), -1) {
		if m[1] == "" {
			others = strings.Split(m[4], "|")
			continue
		}
		first, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		last := first
		if m[2] != "" {
			last, err = strconv.Atoi(m[2])
			require.NoError(t, err)
		}
		for kind := first; kind <= last; kind++ {
			told[wire.MessageType(kind)] = strings.Split(m[3], "|")
		}
	}
	require.NotEmpty(t, others)
	for kind := range 256 {
		cells, ok := told[wire.MessageType(kind)]
		if !ok {
			cells = others
		}
		require.Len(t, cells, 4)
		for state, cell := range cells {
			of := strings.Split(strings.TrimSpace(cell), " / ")
			require.Len(t, of, 2)
			for role, word := range of {
				want, known := verdicts[word]
				require.True(t, known, word)
				require.Equal(t, want, peer.Allowed(peer.State(state), peer.Role(role), wire.MessageType(kind)), "type %d, state %d, role %d", kind, state, role)
			}
		}
	}
}

// TestProtocolPageReasons finds a row for each reason that there is, and no other.
func TestProtocolPageReasons(t *testing.T) {
	told := map[errs.Reason]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(pageSection(t, "## 15. Reasons"), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		told[errs.Reason(n)] = true
	}
	for n := 1; n < 256; n++ {
		exists := errs.Reason(n).String() != "reason "+strconv.Itoa(n)
		require.Equal(t, exists, told[errs.Reason(n)], "reason %d", n)
	}
}

// TestProtocolPageDetail refuses a client whose protocol lacks a long entry: the detail is cut at a character.
func TestProtocolPageDetail(t *testing.T) {
	require.Contains(t, pageSection(t, "## 12. Protocol hash"), "cut at a character, to 480 bytes at most")
	require.Contains(t, pageSection(t, "## 3. Handshake datagrams"), "0..480 B  detail")
	p := netcode.NewProtocol()
	netcode.Replicate[[100]float32](p, netcode.Named("Long"))
	g := rig.New(t, p, netcode.Config{})
	longest := 0
	g.Tamper = func(_, _ transport.Addr, datagram []byte) []byte {
		if peer.KindOf(datagram) == peer.KindRefuse {
			longest = max(longest, len(datagram))
		}
		return datagram
	}
	c := g.Join(rig.Protocol(), netcode.Config{})
	g.Until(func() bool { return c.State() == netcode.Disconnected })
	require.Equal(t, 494, longest)
	short := peer.AppendRefuse(nil, peer.Refuse{Reason: errs.ReasonFull, Detail: strings.Repeat("x", 479) + "ü"})
	require.Len(t, short, 493)
}

// TestProtocolPageCode reads the example of a prefix code.
func TestProtocolPageCode(t *testing.T) {
	m := regexp.MustCompile(`Example: lengths 2 3 2 3 2 are 00 110 01 111 10; .* are the bytes .([0-9a-f ]+).\.`).
		FindStringSubmatch(pageSection(t, "## 10. Prefix codes and tables"))
	require.NotNil(t, m)
	c, s := newCode([]int{2, 3, 2, 3, 2}), &stream{b: unhex(strings.ReplaceAll(m[1], " ", ""))}
	for symbol := range 5 {
		require.Equal(t, symbol, c.read(s))
	}
	s.end()
}

// TestProtocolPagePackets reads the packets with messages that testdata/README.md prints.
func TestProtocolPagePackets(t *testing.T) {
	page, err := os.ReadFile("../../testdata/README.md")
	require.NoError(t, err)
	sum := wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD)
	messages := 0
	for _, m := range regexp.MustCompile(`(?m)^      ((?:[0-9a-f]{2,8} ?){12,})$`).FindAllStringSubmatch(string(page), -1) {
		b, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		require.NoError(t, err)
		body := b[:len(b)-wire.ChecksumSize]
		if sum.Sum(body) != binary.LittleEndian.Uint32(b[len(body):]) {
			require.Equal(t, byte('x'), b[len(b)-1], "the one that is cut short")
			continue
		}
		in := peer.Incoming{Batches: body[wire.MinPacketHeader:]}
		r := in.Messages()
		for r.Next() {
			messages++
		}
		require.NoError(t, r.Err())
	}
	require.Equal(t, 6, messages)
}

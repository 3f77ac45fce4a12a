package inspect_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/inspect"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/transport/secure"
)

// crossing is a datagram that was sent.
type crossing struct {
	at       time.Duration
	from, to transport.Addr
	datagram []byte
}

// wiretap is a connection whose datagrams are noted.
type wiretap struct {
	transport.Conn
	note func(to transport.Addr, datagram []byte)
}

func (w wiretap) Send(to transport.Addr, datagram []byte) error {
	w.note(to, datagram)
	return w.Conn.Send(to, datagram)
}

// secureGame plays a game of 1500 moving entities over transport/secure. It returns the datagrams as they crossed the network, those of netcode that
// were in them, and the key log.
func secureGame(t *testing.T, p *netcode.Protocol) (sealed, plain []crossing, log *bytes.Buffer) {
	var now time.Duration
	clock := func() time.Duration { return now }
	network, key := memory.NewNetwork(), secure.Key{7}
	log = &bytes.Buffer{}
	at, far := transport.MustParseAddr("127.0.0.1:9000"), transport.MustParseAddr("127.0.0.1:5000")
	socket := func(at transport.Addr) transport.Conn {
		conn, err := network.Listen(at)
		require.NoError(t, err)
		return wiretap{conn, func(to transport.Addr, datagram []byte) {
			sealed = append(sealed, crossing{now, at, to, bytes.Clone(datagram)})
		}}
	}
	within := func(conn transport.Conn) transport.Conn { return within{conn, &now, &plain, &sealed} }
	end, err := secure.Listen(socket(at), secure.Config{Key: key, Admit: secure.Open(), Now: clock, KeyLog: log})
	require.NoError(t, err)
	other, err := secure.Dial(socket(far), secure.ClientConfig{ServerKey: key.Public(), Now: clock})
	require.NoError(t, err)
	server, err := netcode.NewServer(p, netcode.Config{SendBudget: 1 << 20, Random: rand.NewChaCha8([32]byte{1})})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	worlds := [2]*ecs.World{ecs.New(), ecs.New()}
	there, here := systems.NewServer(server, within(end), clock), systems.NewClient(client, within(other), clock)
	loops := [2]*systems.Runner{systems.NewRunner(worlds[0], there, 60), systems.NewRunner(worlds[1], here, 60)}
	build := generic.NewMap3[components.Replicated, place, health](worlds[0])
	build.NewBatch(1500)
	frame := 0
	there.Add(tick.Update, systems.Func(func(w *ecs.World) {
		n := 0
		frame++
		for query := generic.NewFilter1[place]().Query(w); query.Next(); {
			query.Get().X = float32((frame*(n+3)*7919)%64) / 2
			n++
		}
	}))
	require.NoError(t, client.Connect(at))
	for now < 2*time.Second {
		now += time.Second / 60
		loops[0].Step()
		loops[1].Step()
	}
	require.Equal(t, 1500, client.Replica().Len())
	return sealed, plain, log
}

// within is the connection above the encryption. A datagram that is sealed and sent is noted.
type within struct {
	transport.Conn
	now    *time.Duration
	plain  *[]crossing
	sealed *[]crossing
}

func (w within) Send(to transport.Addr, datagram []byte) error {
	sent := len(*w.sealed)
	err := w.Conn.Send(to, datagram)
	for _, c := range (*w.sealed)[sent:] {
		if len(c.datagram) == len(datagram)+secure.Overhead {
			*w.plain = append(*w.plain, crossing{*w.now, c.from, c.to, bytes.Clone(datagram)})
		}
	}
	return err
}

// captured writes datagrams into a capture file. joined writes those of a run as one, as segmentation offload shows them.
func captured(all []crossing, joined bool) (file *pcap, runs int) {
	file = newPcap(binary.LittleEndian, 0xA1B2C3D4, 101)
	for len(all) > 0 {
		first, n := all[0], 1
		for n < len(all) && all[n].from == first.from && all[n].to == first.to && all[n].at == first.at &&
			len(all[n-1].datagram) == len(first.datagram) && len(all[n].datagram) <= len(first.datagram) && (n+1)*len(first.datagram) < 1<<15 {
			n++
		}
		if !joined || n > 1 && len(first.datagram)+len(all[1].datagram) < 1500 {
			n = 1
		}
		if n > 1 {
			runs++
		}
		var datagram []byte
		for _, c := range all[:n] {
			datagram = append(datagram, c.datagram...)
		}
		file.frame(uint32(first.at/time.Second), uint32(first.at%time.Second/time.Microsecond), ip4(first.from, first.to, len(datagram)), datagram)
		all = all[n:]
	}
	return file, runs
}

// tap returns the text of a capture.
func tap(t *testing.T, p *netcode.Protocol, file *pcap, keys inspect.Keys) string {
	var out strings.Builder
	require.NoError(t, inspect.Tap(&out, p, file, keys))
	return out.String()
}

// With its key log the capture of an encrypted session reads as that of a plain one, beside lines for what has nothing of netcode in it. Datagrams
// that the system joined are taken apart, in either.
func TestTapReadsSecureSessions(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	sealed, plain, log := secureGame(t, p)
	require.Greater(t, len(plain), 100)
	keys, err := secure.ReadKeyLog(log)
	require.NoError(t, err)
	file, _ := captured(plain, false)
	want := tap(t, p, file, nil)
	require.Greater(t, strings.Count(want, " X="), 1000)
	for _, line := range regexp.MustCompile("(?m)^.*not known.*$").FindAllString(want, 5) {
		t.Error(line)
	}

	file, _ = captured(sealed, false)
	got := tap(t, p, file, keys)
	others := regexp.MustCompile(`(?m)^\S+ \S+ > \S+: \d+ bytes: (.*)\n`)
	opened := others.ReplaceAllString(got, "") // The first Hello waited for the keys: no Send of the layer above sent it.
	hello := max(len(opened)-len(want), 0)
	require.Contains(t, opened[:hello], "Hello")
	sameText(t, want, opened[hello:])
	var kinds []string
	for _, line := range others.FindAllStringSubmatch(got, 5) {
		kinds = append(kinds, strings.Split(line[1], " of ")[0])
	}
	require.Equal(t, []string{"Request", "Challenge", "Initiate", "Accept"}, kinds[:4])

	file, runs := captured(plain, true)
	require.Greater(t, runs, 3)
	sameText(t, want, tap(t, p, file, nil))
	file, runs = captured(sealed, true)
	require.Greater(t, runs, 3)
	sameText(t, got, tap(t, p, file, keys))

	other, err := secure.ReadKeyLog(strings.NewReader("NETCODE_SECURE_1 00000001 AES-256-GCM " + strings.Repeat("0", 64) + " " + strings.Repeat("0", 64)))
	require.NoError(t, err)
	file, _ = captured(sealed, false)
	require.Contains(t, tap(t, p, file, other), "is not in the key log")
}

// sameText compares two texts and shows the first line that differs.
func sameText(t *testing.T, want, got string) {
	t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		require.Equal(t, a[i], b[i], "line %d", i)
	}
	require.Equal(t, len(a), len(b))
}

// Of a datagram that was captured in part the lengths are told.
func TestTapTellsWhatIsCut(t *testing.T) {
	p := netcode.NewProtocol()
	file := newPcap(binary.LittleEndian, 0xA1B2C3D4, 101)
	a, b := transport.MustParseAddr("10.0.0.1:9"), transport.MustParseAddr("10.0.0.2:9")
	file.frame(1, 0, ip4(a, b, 1200), make([]byte, 68))
	file.frame(2, 0, ip4(a, b, 1200))
	file.frame(3, 0, ip4(a, b, 1200)[:28]) // within the header
	require.Equal(t, fmt.Sprintf("1.000000 %v > %v: 68 of 1200 bytes were captured: tcpdump -s 0 takes whole datagrams\n"+
		"2.000000 %v > %v: 0 of 1200 bytes were captured: tcpdump -s 0 takes whole datagrams\n", a, b, a, b), tap(t, p, file, nil))
}

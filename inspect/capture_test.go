package inspect_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// pcap is a capture file that is written.
type pcap struct {
	bytes.Buffer
	order binary.ByteOrder
}

func newPcap(order binary.ByteOrder, magic, link uint32) *pcap {
	c := &pcap{order: order}
	for _, v := range []uint32{magic, 2 | 4<<16, 0, 0, 1 << 16, link} {
		c.number(v)
	}
	return c
}

func (c *pcap) number(v uint32) {
	var b [4]byte
	c.order.PutUint32(b[:], v)
	c.Write(b[:])
}

// frame adds a frame of these bytes.
func (c *pcap) frame(second, part uint32, parts ...[]byte) {
	all := bytes.Join(parts, nil)
	for _, v := range []uint32{second, part, uint32(len(all)), uint32(len(all))} {
		c.number(v)
	}
	c.Write(all)
}

// ip4 returns the headers of a datagram over IPv4, with an option.
func ip4(from, to transport.Addr, n int) []byte {
	b := make([]byte, 24+8)
	b[0], b[9] = 0x46, 17
	a, z := from.IP.Addr().As4(), to.IP.Addr().As4()
	copy(b[12:], a[:])
	copy(b[16:], z[:])
	return udpHeader(b, 24, from, to, n)
}

// ip6 returns the headers of a datagram over IPv6.
func ip6(from, to transport.Addr, n int) []byte {
	b := make([]byte, 40+8)
	b[0], b[6] = 0x60, 17
	a, z := from.IP.Addr().As16(), to.IP.Addr().As16()
	copy(b[8:], a[:])
	copy(b[24:], z[:])
	return udpHeader(b, 40, from, to, n)
}

func udpHeader(b []byte, at int, from, to transport.Addr, n int) []byte {
	binary.BigEndian.PutUint16(b[at:], from.IP.Port())
	binary.BigEndian.PutUint16(b[at+2:], to.IP.Port())
	binary.BigEndian.PutUint16(b[at+4:], uint16(8+n))
	return b
}

// tapped plays a game with two clients, and captures what crosses the network.
func tapped(t *testing.T, p *netcode.Protocol, seed int, each func(now time.Duration, from, to transport.Addr, datagram []byte)) *nettest.Net {
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: uint64(seed), Game: func(w *ecs.World, frame int) {
		build := generic.NewMap3[components.Replicated, place, health](w)
		if frame == 5 || frame == 60 {
			build.NewBatch(3)
		}
		for query := generic.NewFilter2[place, health]().Query(w); query.Next(); {
			at, points := query.Get()
			at.X, points.Points = float32(frame)/4, int16(frame/30*seed)
		}
	}})
	n.OnSend(func(from, to transport.Addr, datagram []byte) { each(n.Now(), from, to, datagram) })
	n.Run(2 * time.Second)
	return n
}

// A capture is read with the state of each packet, in all its forms.
func TestTapReadsCaptures(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	ethernet := append(make([]byte, 12), 8, 0)
	tagged := append(make([]byte, 12), 0x81, 0, 0, 7, 8, 0)
	for name, c := range map[string]struct {
		order       binary.ByteOrder
		magic, link uint32
		before      []byte
		ip          func(from, to transport.Addr, n int) []byte
		unit        time.Duration
	}{
		"ethernet":             {binary.LittleEndian, 0xA1B2C3D4, 1, ethernet, ip4, time.Microsecond},
		"a virtual LAN":        {binary.LittleEndian, 0xA1B2C3D4, 1, tagged, ip4, time.Microsecond},
		"nanoseconds":          {binary.LittleEndian, 0xA1B23C4D, 101, nil, ip4, time.Nanosecond},
		"big-endian, any":      {binary.BigEndian, 0xA1B2C3D4, 113, make([]byte, 16), ip4, time.Microsecond},
		"version 2 of that":    {binary.LittleEndian, 0xA1B2C3D4, 276, make([]byte, 20), ip4, time.Microsecond},
		"loopback, version 6 ": {binary.LittleEndian, 0xA1B2C3D4, 0, make([]byte, 4), ip6, time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			file, datagrams := newPcap(c.order, c.magic, c.link), 0
			tapped(t, p, 4, func(now time.Duration, from, to transport.Addr, datagram []byte) {
				file.frame(uint32(now/time.Second), uint32(now%time.Second/c.unit), c.before, c.ip(from, to, len(datagram)), datagram, []byte("padding"))
				datagrams++
			})
			whole := file.Len()
			file.frame(9, 9, []byte("a frame of something else"))
			file.Write([]byte("cut"))
			require.NotZero(t, whole)
			var out strings.Builder
			require.NoError(t, inspect.Tap(&out, p, file, nil))
			require.Len(t, regexp.MustCompile(`(?m)^\d\.\d{6} \S+:\d+ > \S+:\d+: (packet|handshake datagram) of`).FindAllString(out.String(), -1), datagrams)
			require.Contains(t, out.String(), "X=29.75")
			require.NotContains(t, out.String(), "not known", "each baseline is in the capture")
			require.Regexp(t, `(?m)^1\.\d{6} `, out.String())
		})
	}
}

// A filter leaves one client, one entity or one component.
func TestTapFilters(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	file := newPcap(binary.LittleEndian, 0xA1B2C3D4, 101)
	tapped(t, p, 4, func(now time.Duration, from, to transport.Addr, datagram []byte) {
		file.frame(1, 0, ip4(from, to, len(datagram)), datagram)
	})
	capture := file.Bytes()
	text := func(client, entity, component string) string {
		filter, err := inspect.NewFilter(client, entity, component)
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, inspect.Tap(&out, p, bytes.NewReader(capture), nil, filter))
		return out.String()
	}
	count := func(text, of string) int { return len(regexp.MustCompile("(?m)"+of).FindAllString(text, -1)) }
	all := text("", "", "")
	second := count(all, `^.*127\.0\.0\.1:49154.*(packet|handshake datagram) of`)
	require.NotZero(t, second)
	one := text("127.0.0.1:49154", "", "")
	require.Equal(t, second, count(one, `(packet|handshake datagram) of`))
	require.Equal(t, second, count(one, `127\.0\.0\.1:49154`))
	welcome := regexp.MustCompile(`> 127\.0\.0\.1:49154: handshake datagram of kind 6, Welcome, 33 bytes: client (\d), tick \d+`).FindStringSubmatch(one)
	require.NotNil(t, welcome)
	numbered := text(welcome[1], "", "")
	require.Equal(t, count(one, `: packet of`), count(numbered, `: packet of`))
	require.NotContains(t, numbered, "49153")

	entity := text("", "1v1", "")
	require.Equal(t, count(all, `^   entity (1v1|at 1),`), count(entity, `^   entity `))
	require.NotZero(t, count(entity, "^    place "))
	require.Less(t, count(entity, ": packet of"), count(all, ": packet of"), "packets without it are left out")
	places := text("", "", "PLA")
	require.Equal(t, count(all, `^    place `), count(places, `^    `))
	require.Zero(t, count(places, "health"))
	both := text(welcome[1], "2", "health")
	require.Equal(t, count(both, `^    health`), count(both, `^   entity (2v1|at 2)`))
	require.NotZero(t, count(both, `^    health Points=`))
	for _, wrong := range [][3]string{{"0"}, {"x"}, {"", "v3"}, {"", "12v"}, {"", "one"}, {"-1"}} {
		_, err := inspect.NewFilter(wrong[0], wrong[1], wrong[2])
		require.ErrorIs(t, err, inspect.ErrFilter, wrong)
	}
}

// A handshake is read line by line.
func TestAHandshakeIsReadInLines(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	var lines []string
	tapped(t, p, 4, func(_ time.Duration, _, _ transport.Addr, datagram []byte) {
		if text := string(inspect.AppendDump(nil, p, datagram)); strings.HasPrefix(text, "handshake") {
			require.Equal(t, 1, strings.Count(text, "\n"), text)
			lines = append(lines, text)
		}
	})
	all := strings.Join(lines, "")
	require.Contains(t, all, "kind 1, Hello, 512 bytes: version 1, nonce ")
	require.Contains(t, all, fmt.Sprintf("protocol %016x of 3 entries, no cookie\n", p.Hash()))
	for _, want := range []string{"Challenge, 29 bytes: nonce ", ", 30 ticks a second, window 64, packets of 1200 bytes\n", "payload of 0 bytes", "Welcome, 33 bytes: client 1, tick "} {
		require.Contains(t, all, want)
	}
}

// Two sessions, one after the other at the same addresses, are read as each of them alone.
func TestTapFollowsSessions(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	text := func(sessions ...int) string {
		file := newPcap(binary.LittleEndian, 0xA1B2C3D4, 101)
		for _, seed := range sessions {
			tapped(t, p, seed, func(now time.Duration, from, to transport.Addr, datagram []byte) {
				file.frame(1, 0, ip4(from, to, len(datagram)), datagram)
			})
		}
		var out strings.Builder
		require.NoError(t, inspect.Tap(&out, p, file, nil))
		return out.String()
	}
	require.Equal(t, text(4)+text(9), text(4, 9))
}

// A capture that begins within a session is read as far as records need no baseline that is missing.
func TestTapBeginsWithinASession(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	file, packets := newPcap(binary.LittleEndian, 0xA1B2C3D4, 101), 0
	tapped(t, p, 4, func(now time.Duration, from, to transport.Addr, datagram []byte) {
		if now > time.Second {
			file.frame(1, 0, ip4(from, to, len(datagram)), datagram)
			packets++
		}
	})
	var out strings.Builder
	require.NoError(t, inspect.Tap(&out, p, file, nil))
	require.Equal(t, packets, strings.Count(out.String(), "packet of"))
}

// shout is a message with a text, which serializes itself.
type shout struct{ Text string }

func (m *shout) Serialize(s *wire.Serializer) { s.String(&m.Text, 40) }

// A message of either kind has its name and its values, and a close its reason.
func TestDumpNamesMessages(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Handle(p, func(*netcode.Context, *shout) {}, netcode.FromClient())
	netcode.Handle(p, func(*netcode.Context, *health) {}, netcode.FromClient())
	var text []byte
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1})
	n.OnSend(func(_, _ transport.Addr, datagram []byte) { text = inspect.AppendDump(text, p, datagram) })
	require.True(t, n.RunUntil(time.Second, n.Connected))
	require.NoError(t, netcode.Send(n.Clients[0], netcode.ToServer(), &shout{"hello"}))
	require.NoError(t, netcode.Send(n.Clients[0], netcode.ToServer(), &health{7}))
	n.Run(time.Second)
	n.Server.Server.Kick(n.Clients[0].ID(), "be nice")
	n.Run(time.Second)
	require.Regexp(t, `(?m)^  message \d+ shout, stage .*\n   \{Text:hello\}$`, string(text))
	require.Regexp(t, `(?m)^  message \d+ health, stage .*\n   Points=7$`, string(text))
	require.Regexp(t, `(?m)^  message 3 close, stage .*\n   kicked: be nice$`, string(text))
}

func TestTapRefuses(t *testing.T) {
	p := netcode.NewProtocol()
	header := newPcap(binary.LittleEndian, 0xA1B2C3D4, 101).Bytes()
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":       {nil, "tcpdump -w"},
		"pcapng":        {append([]byte{0x0A, 0x0D, 0x0D, 0x0A}, make([]byte, 40)...), "editcap -F pcap"},
		"another link":  {newPcap(binary.LittleEndian, 0xA1B2C3D4, 127).Bytes(), "link type 127"},
		"a large frame": {append(bytes.Clone(header), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9), "a frame of"},
	} {
		err := inspect.Tap(&bytes.Buffer{}, p, bytes.NewReader(c.file), nil)
		require.ErrorIs(t, err, inspect.ErrCapture, name)
		require.ErrorContains(t, err, c.want, name)
	}
	file := newPcap(binary.LittleEndian, 0xA1B2C3D4, 101)
	a := transport.MustParseAddr("10.0.0.1:9")
	for range 2000 {
		file.frame(1, 0, ip4(a, a, 5), []byte("hello"))
	}
	require.ErrorIs(t, inspect.Tap(failing{}, p, file, nil), errFailing)
}

type failing struct{}

var errFailing = errors.New("no room")

func (failing) Write([]byte) (int, error) { return 0, errFailing }

// A hostile capture neither panics nor takes memory beyond its size.
func FuzzTap(f *testing.F) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	a, b := transport.MustParseAddr("10.0.0.1:9"), transport.MustParseAddr("10.0.0.2:9")
	for _, link := range []uint32{1, 101, 113, 0} {
		file := newPcap(binary.LittleEndian, 0xA1B2C3D4, link)
		file.frame(1, 2, ip4(a, b, 5), []byte("hello"))
		file.frame(1, 2, ip6(b, a, 5), []byte("hello"))
		f.Add(file.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var out strings.Builder
		_ = inspect.Tap(&out, p, bytes.NewReader(file), nil)
	})
}

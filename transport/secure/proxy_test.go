package secure

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

var datagrams = flag.Int("datagrams", 100_000, "datagrams through the hostile proxy")

// proxy is a hostile box on the path. Clients send to front, and the server sees back.
type proxy struct {
	r           *rig
	random      *rand.Rand
	near        transport.Conn // A socket for the client.
	front, back transport.Addr
	inFront     transport.Conn
	inBack      transport.Conn
	former      []transport.Conn // The sockets that inBack was before.
	hostile     bool
	record      bool
	recorded    []recorded
	held        []recorded
	counts      struct{ flipped, dropped, repeated, reordered, replayed, passed uint64 }
	data        struct{ flipped, repeated uint64 }
	change      func(d *recorded) // A change of single datagrams.
}

type recorded struct {
	toServer bool
	bytes    []byte
}

func newProxy(r *rig, seed uint64) *proxy {
	p := &proxy{r: r, random: rand.New(rand.NewPCG(seed, seed))}
	p.near = must(r.network.Listen(transport.Addr{}))
	p.inFront, p.inBack = must(r.network.Listen(transport.Addr{})), must(r.network.Listen(transport.Addr{}))
	p.front, p.back = p.inFront.LocalAddr(), p.inBack.LocalAddr()
	return p
}

// clientAtServer is the client's newest session at its present address, if there is one.
func (p *proxy) clientAtServer() (name transport.Addr, ok bool) {
	newest := time.Duration(-1)
	for _, c := range p.r.server.bySerial {
		if c.heard > newest {
			name, newest = keyedBy(p.back, c.serial), c.heard
		}
	}
	return name, newest >= 0
}

// rebind gives the client another address at the server, as a router does. Answers to the one before are lost.
func (p *proxy) rebind() {
	p.former = append(p.former, p.inBack)
	p.inBack = must(p.r.network.Listen(transport.Addr{}))
	p.back = p.inBack.LocalAddr()
}

// pump moves all that waits, in both directions.
func (p *proxy) pump() {
	buf := make([]byte, 2048)
	for _, side := range []struct {
		from     transport.Conn
		toServer bool
	}{{p.inFront, true}, {p.inBack, false}} {
		for {
			n, _, err := side.from.Receive(buf)
			if n == 0 || err != nil {
				break
			}
			d := recorded{side.toServer, append([]byte(nil), buf[:n]...)}
			if p.record {
				p.recorded = append(p.recorded, d)
			}
			if p.change != nil {
				p.change(&d)
			}
			p.pass(d)
		}
	}
	for _, d := range p.held {
		p.send(d)
	}
	p.held = p.held[:0]
}

// pass does something bad to a datagram of four.
func (p *proxy) pass(d recorded) {
	isData := d.bytes[0] == kindData
	if !p.hostile {
		p.send(d)
		return
	}
	if p.record && p.random.IntN(10) == 0 { // Something of the past, of any session.
		p.counts.replayed++
		old := p.recorded[p.random.IntN(len(p.recorded))]
		if p.send(old); old.toServer && len(p.former) > 0 {
			_ = p.former[p.random.IntN(len(p.former))].Send(p.r.server.LocalAddr(), old.bytes)
		}
	}
	switch p.random.IntN(16) {
	case 0:
		p.counts.flipped++
		if isData {
			p.data.flipped++
		}
		d.bytes = append([]byte(nil), d.bytes...)
		d.bytes[p.random.IntN(len(d.bytes))] ^= 1 << p.random.IntN(8)
		p.send(d)
	case 1:
		p.counts.dropped++
	case 2:
		p.counts.repeated++
		if isData {
			p.data.repeated++
		}
		p.send(d)
		p.send(d)
	case 3:
		p.counts.reordered++
		p.held = append(p.held, d)
	case 4: // Cut, or made longer.
		p.counts.flipped++
		n := p.random.IntN(len(d.bytes) + 8)
		p.send(recorded{d.toServer, append(append([]byte(nil), d.bytes...), make([]byte, 8)...)[:n]})
	default:
		p.counts.passed++
		p.send(d)
	}
}

func (p *proxy) send(d recorded) {
	if len(d.bytes) == 0 {
		return
	}
	if d.toServer {
		_ = p.inBack.Send(p.r.server.LocalAddr(), d.bytes)
	} else {
		_ = p.inFront.Send(p.near.LocalAddr(), d.bytes)
	}
}

// A box on the path flips, drops, repeats, reorders, cuts, records and replays, over many sessions, keys and addresses. Nothing is accepted twice or changed,
// and each datagram that an end took in is in one counter. -datagrams 1000000 is the long form.
func TestNothingIsAcceptedTwiceOrChanged(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit = Open() })
	p := newProxy(r, 3)
	p.hostile, p.record = true, true
	c := r.dialOver(p.near, ClientConfig{ServerKey: r.key.Public()})
	var sent [2]uint64
	var seen [2]map[uint64]bool
	seen[0], seen[1] = map[uint64]bool{}, map[uint64]bool{}
	check := func(side int, all []got) {
		for _, one := range all {
			require.Len(t, one.text, 24)
			number := binary.BigEndian.Uint64([]byte(one.text))
			require.Equal(t, number*0x9E3779B97F4A7C15, binary.BigEndian.Uint64([]byte(one.text[8:])), "changed")
			require.EqualValues(t, side, binary.BigEndian.Uint64([]byte(one.text[16:])), "sent back to its sender")
			require.False(t, seen[side][number], "twice: %d", number)
			seen[side][number] = true
		}
	}
	text := func(side int) []byte {
		sent[side]++
		b := binary.BigEndian.AppendUint64(nil, sent[side])
		b = binary.BigEndian.AppendUint64(b, sent[side]*0x9E3779B97F4A7C15)
		return binary.BigEndian.AppendUint64(b, uint64(side))
	}
	for sent[0]+sent[1] < uint64(*datagrams) {
		for range 20 {
			require.NoError(t, c.Send(p.front, text(0)))
			if to, ok := p.clientAtServer(); ok {
				require.NoError(t, r.server.Send(to, text(1)))
			}
		}
		p.pump()
		all, err := r.drain(r.server)
		require.NoError(t, err)
		check(0, all)
		p.pump()
		all, err = r.drain(c)
		require.NoError(t, err)
		check(1, all)
		r.now += 100 * time.Millisecond
		if p.random.IntN(1500) == 0 { // The client begins anew from time to time.
			c.state = idle
		}
		if p.random.IntN(100) == 0 { // The router between them forgets the client, who has another address from then on.
			p.rebind()
		}
		if len(p.recorded) > 20000 {
			p.recorded = p.recorded[10000:]
		}
	}
	s, o := r.server.Stats(), c.Stats()
	t.Logf("sent %v, accepted %d and %d; proxy %+v; server %+v; client %+v", sent, len(seen[0]), len(seen[1]), p.counts, s, o)
	require.Greater(t, len(seen[0]), int(sent[0])*3/4, "most arrives")
	require.Greater(t, len(seen[1]), int(sent[1])*3/4)
	for name, count := range map[string]uint64{
		"repeated": s.Repeated, "old": s.TooOld + o.TooOld, "forged": s.Forged, "unknown": s.Unknown, "malformed": s.Malformed,
		"repeated at the client": o.Repeated, "forged at the client": o.Forged, "unknown at the client": o.Unknown, "malformed at the client": o.Malformed,
	} {
		require.Positive(t, count, name)
	}
	taken := p.taken(t, s, o)
	require.Equal(t, taken[0], p.serverSaw())
	require.Equal(t, taken[1], p.clientSaw())
}

// taken sums the counters of both ends: each datagram that came is in one of them.
func (p *proxy) taken(t *testing.T, s Stats, o ClientStats) [2]uint64 {
	t.Helper()
	server := s.Opened + s.Repeated + s.TooOld + s.Forged + s.Unknown + s.Malformed + s.Requests + s.BadCookie + s.Version + s.Busy + s.Handshakes + s.RepeatedInitiates
	client := o.Opened + o.Repeated + o.TooOld + o.Forged + o.Unknown + o.Malformed + o.Resets + o.Challenges + o.Sessions + o.Refused + o.Hints
	return [2]uint64{server, client}
}

func (p *proxy) serverSaw() uint64 {
	return p.r.server.inner.(*memory.Conn).Stats().Received
}

func (p *proxy) clientSaw() uint64 { return p.near.(*memory.Conn).Stats().Received }

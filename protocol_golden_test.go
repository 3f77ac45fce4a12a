package netcode_test

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// rewrite makes TestProtocolGoldenSession write the file instead of comparing with it: go test . -run Protocol -rewrite.
var rewrite = flag.Bool("rewrite", false, "write testdata/session.golden anew")

const goldenSession = "testdata/session.golden"

type goldenBody struct {
	X    float32 `net:"min=-512,max=512,step=0.002"`
	Y    float32
	Rot  [4]float32 `net:"quat,bits=9"`
	Turn float32    `net:"angle,bits=10"`
}

func (b goldenBody) String() string {
	return fmt.Sprintf("Body{X:%s;Y:%s;Rot:%s,%s,%s,%s;Turn:%s}", short(b.X), short(b.Y),
		short(b.Rot[0]), short(b.Rot[1]), short(b.Rot[2]), short(b.Rot[3]), short(b.Turn))
}

type goldenHealth struct {
	Points int16 `net:"min=-5,max=500"`
	Total  int64
	Charge float64
	Down   bool
	Wide   uint64 `net:"min=10,max=4294967306"`
}

func (h goldenHealth) String() string {
	return fmt.Sprintf("Health{Points:%d;Total:%d;Charge:%s;Down:%t;Wide:%d}", h.Points, h.Total,
		strconv.FormatFloat(h.Charge, 'g', -1, 64), h.Down, h.Wide)
}

type goldenFrozen struct{}

func (goldenFrozen) String() string { return "Frozen{}" }

type goldenChat struct {
	From uint32
	Text [5]int8
	Loud bool
}

func (c goldenChat) String() string {
	return fmt.Sprintf("Chat{From:%d;Text[0]:%d;Text[1]:%d;Text[2]:%d;Text[3]:%d;Text[4]:%d;Loud:%t}",
		c.From, c.Text[0], c.Text[1], c.Text[2], c.Text[3], c.Text[4], c.Loud)
}

type goldenBuy struct {
	Item uint16 `net:"min=0,max=1000"`
}

func (b goldenBuy) String() string { return fmt.Sprintf("Buy{Item:%d}", b.Item) }

type goldenSold struct {
	Gold int32
}

func (s goldenSold) String() string { return fmt.Sprintf("Sold{Gold:%d}", s.Gold) }

// goldenMap is larger than a packet, and mostly zeros so that the file stays small.
type goldenMap struct {
	Cells [900]uint64
}

func short(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// Rows of the golden protocol, by wire name.
const (
	rowBody = iota
	rowFrozen
	rowHealth
)

func goldenProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[goldenHealth](p, netcode.Named("Health"))
	netcode.Replicate[goldenBody](p, netcode.Named("Body"))
	netcode.Replicate[goldenFrozen](p, netcode.Named("Frozen"))
	netcode.Handle[goldenMap](p, nil, netcode.Named("Map"), netcode.FromServer(), netcode.Over(netcode.ReliableOrdered),
		netcode.AtStage(netcode.StageEarlyUpdate))
	netcode.Handle[goldenChat](p, nil, netcode.Named("Chat"))
	netcode.Answer(p, func(_ *netcode.Context, buy *goldenBuy, sold *goldenSold) error {
		if buy.Item > 10 {
			return errors.New("sold out")
		}
		sold.Gold = -5 * int32(buy.Item)
		return nil
	}, netcode.FromClient(), netcode.OnChannel(7), netcode.Named("Buy"), netcode.NamedAnswer("Sold"))
	return p
}

// goldenLanes is the row of a component, taken through the payload that it would have as a message.
func goldenLanes[T any](plan *wire.Plan, v T) []uint32 {
	codec, err := message.NewCodec[T](plan.Name(), nil)
	if err != nil {
		panic(err)
	}
	payload := make([]byte, codec.Size())
	if _, err := codec.Encode(&message.Scratch{}, payload, &v); err != nil {
		panic(err)
	}
	lanes, r := make([]uint32, plan.Lanes()), wire.NewBitReader(payload)
	plan.ReadRow(&r, lanes)
	return lanes
}

// goldenValue reads a payload as the meaning of a type.
func goldenValue[T fmt.Stringer](plan *wire.Plan, payload []byte) (text string) {
	codec, err := message.NewCodec(plan.Name(), func(_ *message.Context, v *T) { text = (*v).String() })
	if err != nil || !codec.Handle(&message.Context{}, payload) {
		panic(fmt.Sprint("not a payload of ", plan.Name(), ": ", err))
	}
	return text
}

func goldenRow(schema *snapshot.Schema, row int, lanes []uint32) string {
	plan := schema.Plan(row)
	payload := make([]byte, (plan.Bits()+7)/8)
	w := wire.NewBitWriter(payload)
	plan.WriteRow(&w, lanes)
	w.Finish()
	switch row {
	case rowBody:
		return goldenValue[goldenBody](plan, payload)
	case rowFrozen:
		return goldenValue[goldenFrozen](plan, payload)
	}
	return goldenValue[goldenHealth](plan, payload)
}

// goldenRig plays the golden session and writes down what the network carries, and what this implementation means by it.
type goldenRig struct {
	*rig
	protocol *netcode.Protocol
	client   *clientEnd
	pieces   map[string][][]byte // Of messages that come in pieces.
	observer *snapshot.Replica   // A client that gets every packet.
	before   snapshot.ViewStats
	lose     bool // The next packet of the server is lost.
	loseAll  bool // And every one after it.
	text     strings.Builder
}

func (g *goldenRig) write(format string, values ...any) { fmt.Fprintf(&g.text, format, values...) }

// carry is the network: it writes each datagram down.
func (g *goldenRig) carry(from, _ netip.AddrPort, datagram []byte) []byte {
	who := "stranger"
	switch {
	case from == g.server.conn.LocalAddr():
		who = "server"
	case len(g.clients) > 0 && from == g.clients[0].conn.LocalAddr():
		who = "client"
	}
	lost := who == "server" && g.lose
	g.write("%s %d", who, g.now.Milliseconds())
	if lost {
		g.lose = g.loseAll
		g.write(" lost")
	}
	g.write(" %s\n= %s\n", packZeros(datagram), g.meaning(datagram, who == "server"))
	if lost {
		return nil
	}
	return datagram
}

// packZeros is hexadecimal with runs of zeros shortened.
func packZeros(b []byte) string {
	var text strings.Builder
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] == 0 {
			n++
		}
		if n >= 16 {
			fmt.Fprintf(&text, "(00*%d)", n)
			b = b[n:]
			continue
		}
		text.WriteString(hex.EncodeToString(b[:1]))
		b = b[1:]
	}
	return text.String()
}

func (g *goldenRig) meaning(b []byte, fromServer bool) string {
	switch peer.KindOf(b) {
	case peer.KindHello:
		h, err := peer.ParseHello(b)
		require.NoError(g.t, err)
		var hashes []string
		for i := range h.Digest.Len() {
			hashes = append(hashes, fmt.Sprintf("%08x", h.Digest.At(i)))
		}
		return fmt.Sprintf("hello version=%d nonce=%016x protocol=%016x cookie=%x entries=%d hashes=%s",
			h.Version, h.Nonce, h.Protocol, h.Cookie, h.Digest.Types(), strings.Join(hashes, ","))
	case peer.KindChallenge:
		c, err := peer.ParseChallenge(b)
		require.NoError(g.t, err)
		return fmt.Sprintf("challenge nonce=%016x cookie=%x", c.Nonce, c.Cookie)
	case peer.KindAccept:
		a, err := peer.ParseAccept(b)
		require.NoError(g.t, err)
		g.before = snapshot.ViewStats{}
		g.observer = snapshot.NewReplica(g.protocol.Schema(), snapshot.Config{Window: tick.Tick(a.Window)}, a.Tick)
		return fmt.Sprintf("accept nonce=%016x epoch=%08x client=%d tick=%d rate=%d window=%d packet=%d",
			a.Nonce, a.Epoch, a.Client, a.Tick, a.Rate, a.Window, a.PacketSize)
	case peer.KindRefuse:
		r, err := peer.ParseRefuse(b)
		require.NoError(g.t, err)
		return fmt.Sprintf("refuse nonce=%016x reason=%d detail=%q", r.Nonce, r.Reason, r.Detail)
	}
	return g.packet(b[:len(b)-wire.ChecksumSize], fromServer)
}

func (g *goldenRig) packet(b []byte, fromServer bool) string {
	h, n, err := wire.ParsePacketHeader(b)
	require.NoError(g.t, err)
	acks, messages := "-", []string{}
	if h.HasAck {
		acks = strconv.Itoa(int(h.Ack))
		for i := range wire.Sequence(32) {
			if h.AckBits>>i&1 != 0 {
				acks += "," + strconv.Itoa(int(h.Ack-1-i))
			}
		}
	}
	in := peer.Incoming{Batches: b[n:]}
	r := in.Messages()
	for r.Next() {
		messages = append(messages, g.message(&r, fromServer))
	}
	require.NoError(g.t, r.Err())
	return fmt.Sprintf("packet sequence=%d acks=%s [%s]", h.Sequence, acks, strings.Join(messages, " | "))
}

// snapshot takes what is in a snapshot from the server's counters and from a replica that reads all of them.
func (g *goldenRig) snapshot(payload []byte) string {
	stats, ok := g.server.ClientStats(g.client.ID())
	require.True(g.t, ok)
	now, was := stats.Snapshot, g.before
	require.Equal(g.t, was.Snapshots+1, now.Snapshots, "one snapshot a tick")
	g.before = now
	resynced, r := 0, wire.NewBitReader(payload)
	if r.Read(16); r.Bool() {
		resynced = int(r.Read(16))
	}
	require.NoError(g.t, g.observer.Read(payload))
	var entities []string
	for _, index := range slices.Sorted(slices.Values(g.observer.Changed())) {
		e := g.observer.Entity(index)
		text := e.ID.String()
		if !e.Alive {
			text += " gone"
		}
		for row := range g.protocol.Schema().Rows() {
			if e.Mask.Has(row) {
				text += " " + goldenRow(g.protocol.Schema(), row, g.observer.Row(index, row))
			}
		}
		entities = append(entities, text)
	}
	g.observer.ClearChanged()
	return fmt.Sprintf("Snapshot tick=%d resynced=%d despawns=%d absolute=%d baseline=%d rows=%d same=%d: %s",
		g.observer.Tick(), resynced, now.Despawns-was.Despawns, now.Spawns-was.Spawns, now.Updates-was.Updates,
		now.Rows-was.Rows, now.Unchanged-was.Unchanged, strings.Join(entities, "; "))
}

// at changes the world in the next capture and lets the news travel.
func (g *goldenRig) at(f func(store *snapshot.Store)) {
	g.change(f)
	g.run(100 * time.Millisecond)
}

func (g *goldenRig) body(store *snapshot.Store, id wire.NetworkID, b goldenBody) {
	store.Set(id, rowBody, goldenLanes(store.Schema().Plan(rowBody), b))
}

func (g *goldenRig) health(store *snapshot.Store, id wire.NetworkID, h goldenHealth) {
	store.Set(id, rowHealth, goldenLanes(store.Schema().Plan(rowHealth), h))
}

// play is the session.
func (g *goldenRig) play() {
	var first, second, third wire.NetworkID
	g.at(func(s *snapshot.Store) {
		first, second = s.Spawn(), s.Spawn()
		g.body(s, first, goldenBody{X: 1.5, Y: -0.1, Rot: [4]float32{0, 0, 0, 1}, Turn: 0.5})
		g.health(s, first, goldenHealth{Points: 100, Total: -1, Charge: 0.1, Wide: 4294967306})
		g.body(s, second, goldenBody{X: -512, Rot: [4]float32{0.5, -0.5, 0.5, 0.5}, Turn: -3})
		s.Set(second, rowFrozen, nil)
	})
	g.at(func(s *snapshot.Store) {
		g.body(s, first, goldenBody{X: 3.25, Y: 7, Rot: [4]float32{0.1, 0.9, -0.3, -0.2}})
	})
	g.lose = true
	g.change(func(s *snapshot.Store) {
		g.health(s, first, goldenHealth{Points: -5, Total: 1 << 40, Charge: -2, Down: true, Wide: 10})
	})
	g.run(300 * time.Millisecond)
	require.NoError(g.t, netcode.Send(g.server.Server, netcode.To(g.client.ID()), &goldenChat{From: 0, Text: [5]int8{'h', 'i', -1}}))
	require.NoError(g.t, netcode.Send(g.client.Client, netcode.ToServer(), &goldenChat{From: 1, Text: [5]int8{'y', 'o'}, Loud: true}))
	g.at(func(s *snapshot.Store) { s.Remove(second, rowFrozen) })
	g.at(func(s *snapshot.Store) {
		s.Despawn(first)
		g.body(s, second, goldenBody{X: 511.998, Rot: [4]float32{0, 1}})
	})
	g.at(func(s *snapshot.Store) { third = s.Spawn(); s.Set(third, rowFrozen, nil) })
	require.Equal(g.t, wire.NetworkID{Index: first.Index, Generation: 2}, third)
	g.client.Replica().Lose()
	g.observer.Lose()
	g.run(200 * time.Millisecond)
	g.at(func(s *snapshot.Store) {
		g.health(s, third, goldenHealth{Points: 1, Wide: 4294967295})
		g.body(s, second, goldenBody{X: 0.002, Y: 1e-5, Rot: [4]float32{-0.1, 0.2, 0.3, -0.9}, Turn: 3.1})
	})
	g.run(time.Second) // Long enough for a KeepAlive.
	stats, _ := g.server.ClientStats(g.client.ID())
	require.True(g.t, stats.Synced)
	require.Equal(g.t, 2, g.client.Replica().Len())
}

// part is a clean close, a second session of the same address, and a close that the client never hears of.
func (g *goldenRig) part() {
	g.client.Close()
	g.until(func() bool { return g.client.State() == netcode.Disconnected })
	require.NoError(g.t, g.client.Connect(g.server.conn.LocalAddr()))
	g.until(func() bool { stats, ok := g.server.ClientStats(2); return ok && stats.Known == 2 })
	g.lose, g.loseAll = true, true
	g.server.Close(peer.ReasonNone)
	g.until(g.server.Closed)
}

// TestProtocolGoldenSession compares every datagram of a small session, and what it means, with the file that PROTOCOL.md
// names. A change of the file is a change of the protocol.
func TestProtocolGoldenSession(t *testing.T) {
	p := goldenProtocol()
	g := &goldenRig{rig: newRig(t, p, netcode.Config{}), protocol: p, pieces: map[string][][]byte{}}
	g.tamper = g.carry
	g.client = g.joined(p, netcode.Config{})
	g.play()
	g.talk()

	other := netcode.NewProtocol()
	netcode.Replicate[goldenHealth](other, netcode.Named("Body"))
	stranger := g.join(other, netcode.Config{})
	g.until(func() bool { return stranger.State() == netcode.Disconnected })
	require.ErrorIs(t, stranger.Err(), peer.ReasonWrongProtocol)
	g.part()
	require.Empty(t, g.server.errors)

	text := "# A session by PROTOCOL.md, section 14. Written by go test . -run Protocol -rewrite.\n" + goldenEntries(p) + g.text.String()
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(goldenSession, []byte(text), 0o644))
	}
	want, err := os.ReadFile(goldenSession)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(text, "\n"))
}

// goldenEntries is the description of a protocol of three components and four messages.
func goldenEntries(p *netcode.Protocol) string {
	text := "entry limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;" +
		"reliable:1024;credit:131072;fragments:32}\n"
	for row := range p.Schema().Rows() {
		text += "entry component " + string(p.Schema().Plan(row).Describe(nil)) + "\n"
	}
	for _, m := range []struct {
		of         reflect.Type
		name, rest string
	}{
		{reflect.TypeFor[goldenBuy](), "Buy", "[from client;Reliable 7][question]"},
		{reflect.TypeFor[goldenChat](), "Chat", "[both ways;Unreliable 0]"},
		{reflect.TypeFor[goldenMap](), "Map", "[from server;ReliableOrdered 0]"},
		{reflect.TypeFor[goldenSold](), "Sold", "[both ways;Reliable 0][answer]"},
	} {
		plan, err := wire.Compile(m.of, m.name)
		if err != nil {
			panic(err)
		}
		text += "entry message " + string(plan.Describe(nil)) + m.rest + "\n"
	}
	return text + fmt.Sprintf("hash %016x\n", p.Hash())
}

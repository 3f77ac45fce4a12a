package protocolpage_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// goldenRig plays the golden session and writes down what the network carries, and what this implementation means by it.
type goldenRig struct {
	*rig.Rig
	protocol *netcode.Protocol
	client   *rig.ClientEnd
	late     *rig.ClientEnd
	interest goldenInterest
	watched  []*goldenWatch // of rig.clients, one each
	lose     bool           // The next packet of the server to the first client is lost.
	mute     bool           // The next packet of the first client is lost.
	loseAll  bool           // And every one after it.
	about    int            // Which client these are about, instead of the first.
	text     strings.Builder
}

// goldenWatch has the state that the network's packets tell of one client.
type goldenWatch struct {
	name     string
	pieces   map[string][][]byte // Of messages that come in pieces.
	observer *replica.Replica    // A client that gets every packet, and forgets the past when it asks for a resync.
	author   *replica.Replica    // Likewise a server that gets every packet of this client.
	before   snapshot.ViewStats
	accept   peer.Accept   // The last,
	client   wire.ClientID // and whom the last Welcome named.
	crowded  tick.Tick     // Of which there were several snapshots.
}

// goldenInterest hides an entity, and one component, from one client.
type goldenInterest struct {
	from   wire.ClientID // 0: from nobody
	entity wire.NetworkID
	masked wire.NetworkID
}

func (*goldenInterest) Prepare(*snapshot.Store) {}
func (*goldenInterest) Leave(wire.ClientID)     {}

func (i *goldenInterest) Update(client wire.ClientID, v *snapshot.View) {
	if client != i.from {
		return
	}
	if i.entity.IsZero() {
		v.ShowNew(true)
		return
	}
	v.Hide(i.entity)
	v.See(i.masked, snapshot.Mask{}.With(rowHealth).Not())
}

// watch says who joins next.
func (g *goldenRig) watch(name string) {
	g.watched = append(g.watched, &goldenWatch{name: name, pieces: map[string][][]byte{}})
}

func (g *goldenRig) write(format string, values ...any) { fmt.Fprintf(&g.text, format, values...) }

// carry is the network: it writes each datagram down.
func (g *goldenRig) carry(from, to transport.Addr, datagram []byte) []byte {
	fromServer := from == g.Server.Conn.LocalAddr()
	who := slices.IndexFunc(g.Clients, func(c *rig.ClientEnd) bool { return c.Conn.LocalAddr() == from || c.Conn.LocalAddr() == to })
	w := g.watched[who]
	lost := who == g.about && (fromServer && g.lose || !fromServer && g.mute)
	if fromServer {
		g.write("server>%s %d", w.name, g.Now.Milliseconds())
	} else {
		g.write("%s>server %d", w.name, g.Now.Milliseconds())
	}
	if lost {
		g.lose, g.mute = g.lose && (!fromServer || g.loseAll), g.mute && (fromServer || g.loseAll)
		g.write(" lost")
	}
	g.write(" %s\n= %s\n", packZeros(datagram), g.meaning(w, g.Clients[who], datagram, fromServer))
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

func (g *goldenRig) meaning(w *goldenWatch, c *rig.ClientEnd, b []byte, fromServer bool) string {
	switch peer.KindOf(b) {
	case peer.KindHello:
		h, err := peer.ParseHello(b)
		require.NoError(g.T, err)
		var hashes []string
		for i := range h.Digest.Len() {
			hashes = append(hashes, fmt.Sprintf("%08x", h.Digest.At(i)))
		}
		return fmt.Sprintf("hello version=%d nonce=%016x protocol=%016x cookie=%x entries=%d hashes=%s",
			h.Version, h.Nonce, h.Protocol, h.Cookie, h.Digest.Types(), strings.Join(hashes, ","))
	case peer.KindChallenge:
		c, err := peer.ParseChallenge(b)
		require.NoError(g.T, err)
		return fmt.Sprintf("challenge nonce=%016x cookie=%x", c.Nonce, c.Cookie)
	case peer.KindAccept:
		a, err := peer.ParseAccept(b)
		require.NoError(g.T, err)
		w.accept = a
		return fmt.Sprintf("accept nonce=%016x epoch=%08x rate=%d window=%d packet=%d", a.Nonce, a.Epoch, a.Rate, a.Window, a.PacketSize)
	case peer.KindJoin:
		j, err := peer.ParseJoin(b)
		require.NoError(g.T, err)
		require.True(g.T, peer.JoinSealed(b, wire.NewChecksum(w.accept.Epoch, g.protocol.Hash())))
		return fmt.Sprintf("join nonce=%016x cookie=%x", j.Nonce, j.Cookie)
	case peer.KindWelcome:
		v, err := peer.ParseWelcome(b, ^wire.NewChecksum(w.accept.Epoch, g.protocol.Hash()))
		require.NoError(g.T, err)
		if w.client != v.Client {
			window := tick.Tick(w.accept.Window)
			w.client, w.before = v.Client, snapshot.ViewStats{}
			w.pieces = map[string][][]byte{}
			w.observer = replica.New(g.protocol.Schema(), snapshot.Config{Window: window}, v.Tick)
			w.author = replica.New(g.protocol.Schema(), snapshot.Config{Window: window}, v.Tick)
		}
		return fmt.Sprintf("welcome client=%d tick=%d token=%x", v.Client, v.Tick, v.Token)
	case peer.KindResume:
		v, err := peer.ParseResume(b)
		require.NoError(g.T, err)
		require.True(g.T, peer.ResumeSealed(b, wire.NewChecksum(w.accept.Epoch, g.protocol.Hash())))
		return fmt.Sprintf("resume client=%d nonce=%016x path=%016x number=%d cookie=%x", v.Client, v.Nonce, v.Path, v.Number, v.Cookie)
	case peer.KindReset:
		v, err := peer.ParseReset(b)
		require.NoError(g.T, err)
		return fmt.Sprintf("reset client=%d nonce=%016x path=%016x reason=%d token=%x", v.Client, v.Nonce, v.Path, v.Reason, v.Token)
	case peer.KindRefuse:
		r, err := peer.ParseRefuse(b)
		require.NoError(g.T, err)
		return fmt.Sprintf("refuse nonce=%016x reason=%d detail=%q", r.Nonce, r.Reason, r.Detail)
	}
	return g.packet(w, c, b[:len(b)-wire.ChecksumSize], fromServer)
}

func (g *goldenRig) packet(w *goldenWatch, c *rig.ClientEnd, b []byte, fromServer bool) string {
	h, n, err := wire.ParsePacketHeader(b)
	require.NoError(g.T, err)
	acks, messages := "-", []string{}
	if h.HasAck {
		acks = strconv.Itoa(int(h.Ack))
		for i := range wire.Sequence(32) {
			if h.AckBits>>i&1 != 0 {
				acks += "," + strconv.Itoa(int(h.Ack-1-i))
			}
		}
		if h.HasDelay {
			acks += fmt.Sprintf(" delay=%dus", time.Duration(h.Delay)*wire.AckDelayUnit/time.Microsecond)
		}
	}
	in := peer.Incoming{Batches: b[n:]}
	r := in.Messages()
	for r.Next() {
		messages = append(messages, g.message(w, c, &r, fromServer))
	}
	require.NoError(g.T, r.Err())
	return fmt.Sprintf("packet sequence=%d acks=%s [%s]", h.Sequence, acks, strings.Join(messages, " | "))
}

// snapshot takes what is in a snapshot from the server's counters and from a replica that reads all of them.
func (g *goldenRig) snapshot(w *goldenWatch, c *rig.ClientEnd, payload []byte) string {
	stats, ok := g.Server.ClientStats(w.client)
	require.True(g.T, ok)
	now, was := stats.Snapshot, w.before
	w.before = now
	text, entities, s := g.held(w.observer, payload)
	if entities == "" && text == leansOnNothing {
		return text
	}
	if w.crowded == s || now.Snapshots != was.Snapshots+1 {
		w.crowded = s // The counters are those of all of them together.
	} else {
		text += fmt.Sprintf(" despawns=%d absolute=%d baseline=%d rows=%d deltas=%d same=%d",
			now.Despawns-was.Despawns, now.Spawns-was.Spawns, now.Updates-was.Updates, now.Rows-was.Rows, now.Deltas-was.Deltas, now.Unchanged-was.Unchanged)
	}
	return text + ": " + entities
}

// authored is a snapshot of a client, of which nothing is counted.
func (g *goldenRig) authored(w *goldenWatch, payload []byte) string {
	text, entities, _ := g.held(w.author, payload)
	require.NotEqual(g.T, leansOnNothing, text)
	return text + ": " + entities
}

const leansOnNothing = "Snapshot that leans on what is not held"

// held is a snapshot's head, and what the entities in it are afterwards to a replica.
func (g *goldenRig) held(by *replica.Replica, payload []byte) (text, list string, s tick.Tick) {
	resynced, r := 0, wire.NewBitReader(payload)
	s = tick.Near(uint16(r.Read(16)), by.Tick())
	if r.Bool() {
		resynced = int(r.Read(16))
	}
	if err := by.Read(payload); err != nil {
		require.ErrorIs(g.T, err, replica.ErrBaseline)
		return leansOnNothing, "", s
	}
	var entities []string
	for _, index := range slices.Sorted(slices.Values(by.Changed())) {
		e := by.Entity(index)
		text := e.ID.String()
		if !e.Alive {
			text += " gone"
		}
		for row := range g.protocol.Schema().Rows() {
			if e.Mask.Has(row) {
				text += " " + goldenRow(g.protocol.Schema(), row, by.Row(index, row))
			}
		}
		entities = append(entities, text)
	}
	by.ClearChanged()
	return fmt.Sprintf("Snapshot tick=%d resynced=%d", s, resynced), strings.Join(entities, "; "), s
}

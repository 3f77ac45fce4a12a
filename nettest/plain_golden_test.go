package nettest_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/thin"
	"github.com/arche-netcode/netcode/transport"
)

var rewritePlain = flag.Bool("rewrite-plain", false, "write testdata/plain.golden anew")

const goldenPlain = "../testdata/plain.golden"

// plainLine is a frame of a plain client in the golden file: what it took and sent, and what it knows after that. testdata/README.md explains it.
type plainLine struct {
	Ms       float64        `json:"ms"`
	In       []string       `json:"in,omitempty"`
	Send     []plainSent    `json:"send,omitempty"`
	Input    []thin.Row     `json:"input,omitempty"`
	Close    bool           `json:"close,omitempty"`
	Out      []string       `json:"out,omitempty"`
	World    map[string]any `json:"world,omitempty"`
	Messages []plainSent    `json:"messages,omitempty"`
	Closed   string         `json:"closed,omitempty"`
}

type plainSent struct {
	Name string   `json:"name"`
	Row  thin.Row `json:"row,omitempty"`
}

// plainWriter is a plain client that writes down its frames.
type plainWriter struct {
	thinEnd
	out    bytes.Buffer
	known  map[uint32]string
	leave  bool
	forged [][]byte // datagrams that come before those of the server, which could have their numbers
}

func (w *plainWriter) frame(send ...plainSent) {
	line := plainLine{Ms: ms(w.n), Send: send}
	for _, datagram := range w.forged {
		w.take(&line, datagram)
	}
	w.forged = nil
	for {
		size, _, err := w.conn.Receive(w.buf[:])
		if size == 0 || err != nil {
			break
		}
		w.take(&line, w.buf[:size])
	}
	for _, m := range send {
		w.Send(m.Name, m.Row)
	}
	if w.Connected && w.rows != nil {
		line.Input = w.rows
		w.SetInput(ms(w.n), w.rows)
	}
	if line.Close = w.leave; w.leave {
		w.leave = false
		w.Close()
	}
	for _, datagram := range w.Update(ms(w.n)) {
		line.Out = append(line.Out, hex.EncodeToString(datagram))
		_ = w.conn.Send(w.n.Address(), datagram)
	}
	w.tell(&line)
	b, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	w.out.Write(append(b, '\n'))
}

func (w *plainWriter) take(line *plainLine, datagram []byte) {
	line.In = append(line.In, hex.EncodeToString(datagram))
	w.Receive(datagram, ms(w.n))
}

// tell adds what the client knows now and did not know before.
func (w *plainWriter) tell(line *plainLine) {
	for _, m := range w.Messages {
		line.Messages = append(line.Messages, plainSent{Name: m.Name, Row: portable(m.Row)})
	}
	w.Messages, line.Closed = nil, w.Closed
	if w.World == nil {
		return
	}
	line.World = map[string]any{}
	for index, k := range w.World.Entities {
		var now any
		if k.Rows != nil {
			rows := map[string]any{}
			for name, row := range k.Rows {
				rows[name] = portable(row)
			}
			now = map[string]any{"generation": k.Generation, "tick": k.Tick, "rows": rows}
		}
		if b, _ := json.Marshal(now); w.known[index] != string(b) {
			w.known[index], line.World[strconv.Itoa(int(index))] = string(b), now
		}
	}
}

// portable returns a row as JSON has it in every language: integers beyond 2^53 are texts.
func portable(row thin.Row) thin.Row {
	out := thin.Row{}
	for path, v := range row {
		switch v := v.(type) {
		case uint64:
			if out[path] = v; v > 1<<53 {
				out[path] = strconv.FormatUint(v, 10)
			}
		case int64:
			if out[path] = v; v > 1<<53 || v < -1<<53 {
				out[path] = strconv.FormatInt(v, 10)
			}
		case []thin.Row:
			elements := []thin.Row{}
			for _, element := range v {
				elements = append(elements, portable(element))
			}
			out[path] = elements
		default:
			out[path] = v
		}
	}
	return out
}

// goldenOfPlain plays the session of the golden file: a plain client that joins, sees births, deaths, sight, groups, texts and lists over a bad link,
// gives inputs, sends and gets messages, one of them in pieces, takes packets of a hostile server, and closes.
func goldenOfPlain(t *testing.T) []byte {
	link := transport.Link{Delay: 30 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2, Duplicate: .05}
	g := newPlainGame(t, 5, link, 150)
	g.most = 9
	p := thin.NewProtocol(plainWords(g.protocol))
	w := &plainWriter{known: map[uint32]string{}, thinEnd: thinEnd{n: g.n, conn: g.n.Listen()}}
	w.Client = thin.New(p, 0x1122334455667788, []byte("anna"), ms(g.n))
	var send []plainSent
	g.n.Each(func() { w.frame(send...); send = nil })
	head, err := json.Marshal(map[string]any{"plain": plainWords(g.protocol), "nonce": "8877665544332211", "payload": "616e6e61"})
	require.NoError(t, err)
	w.rows = []thin.Row{{"X": int64(3), "Y": int64(-3), "Jump": false}}
	require.True(t, g.n.RunUntil(5*time.Second, func() bool { return w.Connected }))
	require.NoError(t, netcode.Send(g.n.Server.Server, netcode.To(netcode.ClientID(w.ID)), &plainBig{Cells: [90]uint64{1: 7, 89: 1 << 63}}))
	send = []plainSent{{Name: "plainChat", Row: thin.Row{"Text": "hej"}}, {Name: "plainFlash", Row: thin.Row{"N": uint64(9)}}}
	g.n.Run(time.Second)
	w.rows = []thin.Row{{"X": int64(-120), "Y": int64(-3), "Jump": true}}
	send = []plainSent{{Name: "plainChat", Row: thin.Row{"Text": "på dig"}}}
	g.n.Run(time.Second)
	g.n.Heal()
	w.rows = nil
	g.n.Run(time.Second)
	require.Empty(t, w.differs())
	require.Equal(t, []string{"hej", "på dig"}, g.heard)
	illegal, _ := forgedPackets(w.Client)
	world, err := json.Marshal(w.World)
	require.NoError(t, err)
	for _, datagram := range illegal {
		w.Receive(datagram, ms(g.n))
		after, _ := json.Marshal(w.World)
		require.Equal(t, string(world), string(after), "%x", datagram)
	}
	w.forged = illegal
	g.n.Run(100 * time.Millisecond)
	require.Empty(t, w.differs())
	_, w.forged = forgedPackets(w.Client)
	w.leave = true
	g.n.Run(200 * time.Millisecond)
	require.Equal(t, "closed", w.Closed)
	return append(append(head, '\n'), w.out.Bytes()...)
}

// TestThePlainGoldenSession compares the session of a plain client with the file that clients in other languages read. A change of the file is a change
// of the protocol.
func TestThePlainGoldenSession(t *testing.T) {
	text := goldenOfPlain(t)
	if *rewritePlain {
		require.NoError(t, os.WriteFile(goldenPlain, text, 0o644))
	}
	want, err := os.ReadFile(goldenPlain)
	require.NoError(t, err)
	got, lines := bytes.Split(text, []byte("\n")), bytes.Split(want, []byte("\n"))
	require.Len(t, got, len(lines))
	for i := range lines {
		require.Equal(t, string(lines[i]), string(got[i]), "line %d", i+1)
	}
}

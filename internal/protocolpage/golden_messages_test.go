package protocolpage_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// message returns the meaning of a message to this implementation, as text.
func (g *goldenRig) message(w *goldenWatch, c *rig.ClientEnd, r *peer.Reader, fromServer bool) string {
	h, payload := r.Header, r.Payload
	switch h.Type {
	case wire.MessageSnapshot:
		if !fromServer {
			return g.authored(w, payload)
		}
		return g.snapshot(w, c, payload)
	case wire.MessageKeepAlive:
		text := "KeepAlive"
		if fromServer {
			text, payload = fmt.Sprintf("KeepAlive tick=%d", binary.LittleEndian.Uint16(payload)), payload[2:]
		}
		if len(payload) > 0 {
			text += fmt.Sprintf(" padding=%d", len(payload))
		}
		return text
	case wire.MessageInput:
		require.False(g.T, fromServer)
		return g.input(payload)
	case wire.MessageFeedback:
		text := fmt.Sprintf("Feedback tick=%d early=%d", binary.LittleEndian.Uint16(payload), int16(binary.LittleEndian.Uint16(payload[2:])))
		if len(payload) > 4 {
			text += fmt.Sprintf(" since=%d slipped=%d", binary.LittleEndian.Uint16(payload[4:]), binary.LittleEndian.Uint16(payload[6:]))
		}
		return text
	case wire.MessageClose:
		reason, err := peer.ParseClose(payload)
		require.NoError(g.T, err)
		return fmt.Sprintf("Close reason=%d detail=%q", reason.Reason, reason.Detail)
	case wire.MessageResync:
		epoch := binary.LittleEndian.Uint16(payload)
		if wanted, _ := w.observer.WantResync(); wanted != epoch {
			w.observer.Lose()
		}
		return fmt.Sprintf("Resync epoch=%d", epoch)
	case wire.MessageCredit:
		return fmt.Sprintf("Credit %d", binary.LittleEndian.Uint32(payload))
	}
	var a peer.Arrival
	require.NoError(g.T, a.Open(r.Channel, h, payload))
	text := ""
	if a.Channel != 0 {
		text = a.Channel.String() + ": "
	}
	if a.Channel.Delivery().Reliable() {
		text += fmt.Sprintf("number=%d ", a.Number)
	}
	if h.Type == wire.MessageFragment {
		return text + g.piece(w, &a, fromServer)
	}
	return text + g.whole(&a)
}

// whole is the meaning of a message that is all there.
func (g *goldenRig) whole(a *peer.Arrival) string {
	text := fmt.Sprintf("stage=%d ", a.Header.Stage)
	if a.Header.Flags&wire.FlagTick != 0 {
		text += fmt.Sprintf("tick=%d ", a.Tick)
	}
	if a.Header.Flags&wire.FlagEntity != 0 {
		text += fmt.Sprintf("entity=%v ", a.Entity)
	}
	if a.Header.Flags&wire.FlagCall != 0 {
		text += fmt.Sprintf("call=%d ", a.Call)
	}
	if a.Header.Flags&wire.FlagState != 0 {
		text += fmt.Sprintf("state=%d ", a.State)
	}
	switch a.Header.Type {
	case wire.MessageRefusal:
		return text + fmt.Sprintf("Refusal %q", a.Body)
	case wire.FirstUserMessage:
		return text + goldenMessage[goldenBuy]("Buy", a.Body)
	case wire.FirstUserMessage + 1:
		return text + goldenMessage[goldenChat]("Chat", a.Body)
	case wire.FirstUserMessage + 2:
		return text + fmt.Sprintf("Map %s", packZeros(a.Body))
	case wire.FirstUserMessage + 3:
		return text + goldenMessage[goldenSold]("Sold", a.Body)
	case wire.FirstUserMessage + 4:
		return text + goldenMessage[goldenRight]("netcode.right", a.Body)
	}
	return text + goldenMessage[goldenWish]("netcode.wish", a.Body)
}

// piece is the meaning of a piece, and with the last one that comes of the message.
func (g *goldenRig) piece(w *goldenWatch, a *peer.Arrival, fromServer bool) string {
	kind, stage, index, count := a.Body[0], a.Body[1], a.Body[2], a.Body[3]
	text := fmt.Sprintf("piece %d of %d of type=%d stage=%d, %d bytes", index, count, kind, stage, len(a.Body)-4)
	key := fmt.Sprint(fromServer, a.Channel, a.Number-uint16(index))
	set, known := w.pieces[key]
	if !known {
		set = make([][]byte, count)
		w.pieces[key] = set
	}
	if set == nil {
		return text // It was whole before.
	}
	set[index] = append([]byte{}, a.Body[4:]...)
	for _, piece := range set {
		if piece == nil {
			return text
		}
	}
	w.pieces[key] = nil
	whole := peer.Arrival{Header: wire.MessageHeader{Type: wire.MessageType(kind), Stage: tick.Stage(stage & 7)}, Body: bytes.Join(set, nil)}
	return text + ", whole: " + g.whole(&whole)
}

// goldenMessage reads a payload as the meaning of a message type.
func goldenMessage[T fmt.Stringer](name string, payload []byte) string {
	plan, err := quantize.Compile(reflect.TypeFor[T](), name)
	if err != nil {
		panic(err)
	}
	return goldenValue[T](plan, payload)
}

// talk is messages in every mode and with every flag: a lost packet that is sent again, questions with their answers, a
// message in pieces, and so many of these that credit is granted.
func (g *goldenRig) talk() {
	send := func(text [5]int8, how ...netcode.Option) {
		require.NoError(g.T, netcode.Send(g.Server.Server, netcode.To(1), &goldenChat{From: 7, Text: text}, how...))
	}
	second := wire.NetworkID{Index: 1, Generation: 1}
	send([5]int8{'a'}, netcode.Over(netcode.UnreliableSequenced), netcode.OnChannel(63))
	send([5]int8{'b'})
	send([5]int8{'c'}, netcode.Over(netcode.Reliable), netcode.NotBefore(g.Server.Tick()+3))
	send([5]int8{'d'}, netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(2), netcode.About(second), netcode.AtStage(tick.PostLateUpdate))
	send([5]int8{'e'}, netcode.About(second), netcode.NotBefore(g.Server.Tick()+2))
	g.lose = true
	g.Run(400 * time.Millisecond)
	answers := 0
	hear := func(*goldenSold, error) { answers++ }
	require.NoError(g.T, netcode.Call(context.Background(), g.client.Client, 0, &goldenBuy{Item: 3}, hear))
	require.NoError(g.T, netcode.Call(context.Background(), g.client.Client, 0, &goldenBuy{Item: 30}, hear))
	g.Until(func() bool { return answers == 2 })
	for i := range uint64(5) {
		sheet := goldenMap{}
		sheet.Cells[0], sheet.Cells[700+i] = i+1, 1<<63
		require.NoError(g.T, netcode.Send(g.Server.Server, netcode.To(1), &sheet))
		g.Run(500 * time.Millisecond)
	}
}

package protocolpage_test

// The messages of a packet, by the reader that is written from PROTOCOL.md alone.

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// batches reads a packet's batches: the first is of channel 0, each further one of another channel than the one before.
func (r *reader) batches(b []byte, fromServer bool) (messages []string) {
	channel, seen := byte(0), map[byte]bool{}
	for first := true; first || len(b) > 0; first = false {
		must(len(b) >= 2, "no batch")
		size, header := int(binary.LittleEndian.Uint16(b)), 2
		if !first {
			header = 3
			must(size >= 7 && len(b) >= 3 && b[2] != channel, "further batch of %d bytes", size)
			channel = b[2]
		}
		must(size >= header && size <= len(b), "batch of %d bytes", size)
		batch := b[header:size]
		b = b[size:]
		for len(batch) > 0 {
			must(len(batch) >= 4, "no message")
			h, end := batch[:4], 4+int(binary.LittleEndian.Uint16(batch[2:]))
			must(end <= len(batch), "message too long")
			messages = append(messages, r.message(h[0], h[1], channel, batch[4:end], fromServer, seen))
			batch = batch[end:]
		}
	}
	return messages
}

// modes are the modes of delivery, by the two high bits of a channel.
var modes = [4]string{"Unreliable", "UnreliableSequenced", "Reliable", "ReliableOrdered"}

// message reads one message.
func (r *reader) message(kind, stage, channel byte, payload []byte, fromServer bool, seen map[byte]bool) string {
	flags := stage & 0x78
	must(stage&0x80 == 0 && stage&7 <= 6, "stage byte %02x", stage)
	if kind < 16 && kind != 6 && kind != 7 {
		must(stage == 0 && channel == 0 && (kind == 2 && !fromServer || !seen[kind]), "message %d", kind)
		seen[kind] = true
		return r.own(kind, payload, fromServer)
	}
	text := ""
	r.seen[modes[channel>>6]]++
	if channel != 0 {
		text = fmt.Sprintf("%s %d: ", modes[channel>>6], channel&63)
	}
	number := uint16(0)
	if channel >= 0x80 {
		must(len(payload) >= 2, "no number")
		number, payload = binary.LittleEndian.Uint16(payload), payload[2:]
		text += fmt.Sprintf("number=%d ", number)
	}
	if kind == 6 {
		must(channel >= 0x80 && flags == 0 && stage == 0, "piece on channel %d", channel)
		return text + r.piece(fmt.Sprint(fromServer, channel), number, payload, fromServer)
	}
	return text + r.whole(kind, stage, payload, fromServer)
}

// own reads a message of netcode's own that travels on channel 0.
func (r *reader) own(kind byte, payload []byte, fromServer bool) string {
	switch {
	case kind == 1 && fromServer && len(payload) > 0:
		return r.world.snapshot(payload)
	case kind == 1 && !fromServer && len(payload) > 0 && len(r.writable) > 0:
		r.seen["snapshot of a client"]++
		text := r.theirs.snapshot(payload)
		r.seen["despawned by a client"] = max(r.seen["despawned by a client"], r.theirs.seen["despawned"])
		return text
	case kind == 9 && !fromServer && len(payload) > 4 && len(r.inputs) > 0:
		return r.input(payload)
	case kind == 2 && !fromServer:
		return "KeepAlive" + r.padding(payload)
	case kind == 2 && fromServer && len(payload) >= 2:
		r.seen["pulse"]++
		return fmt.Sprintf("KeepAlive tick=%d", binary.LittleEndian.Uint16(payload)) + r.padding(payload[2:])
	case kind == 8 && fromServer && (len(payload) == 4 || len(payload) == 8):
		r.seen["feedback"]++
		if payload[3]&0x80 != 0 {
			r.seen["late"]++
		}
		text := fmt.Sprintf("Feedback tick=%d early=%d", binary.LittleEndian.Uint16(payload), int16(binary.LittleEndian.Uint16(payload[2:])))
		if len(payload) == 8 {
			r.seen["slip"]++
			text += fmt.Sprintf(" since=%d slipped=%d", binary.LittleEndian.Uint16(payload[4:]), binary.LittleEndian.Uint16(payload[6:]))
		}
		return text
	case kind == 3 && len(payload) >= 1 && len(payload) <= 201 && payload[0] != 0:
		return fmt.Sprintf("Close reason=%d detail=%q", payload[0], detail(payload[1:]))
	case kind == 4 && !fromServer && len(payload) == 2:
		r.world.resync(binary.LittleEndian.Uint16(payload))
		return fmt.Sprintf("Resync epoch=%d", r.world.asked)
	case kind == 5 && len(payload) == 4:
		r.seen["credit"]++
		return fmt.Sprintf("Credit %d", binary.LittleEndian.Uint32(payload))
	}
	panic(illegal(fmt.Sprintf("message %d of %d bytes", kind, len(payload))))
}

// whole reads what follows the number of a message that is all there: what its flags announce, and its body.
func (r *reader) whole(kind, stage byte, b []byte, fromServer bool) string {
	text := fmt.Sprintf("stage=%d ", stage&7)
	take := func(n int) []byte {
		must(n <= len(b), "too short")
		taken := b[:n]
		b = b[n:]
		return taken
	}
	if stage&0x08 != 0 {
		r.seen["tick"]++
		text += fmt.Sprintf("tick=%d ", binary.LittleEndian.Uint16(take(2)))
	}
	if stage&0x10 != 0 {
		r.seen["entity"]++
		index, generation := prefixCode(take), prefixCode(take)
		must(index < 1<<20 && generation >= 1 && generation < 1<<32, "entity %dv%d", index, generation)
		text += fmt.Sprintf("entity=%dv%d ", index, generation)
	}
	called := stage&0x20 != 0
	if called {
		r.seen["call"]++
		text += fmt.Sprintf("call=%d ", binary.LittleEndian.Uint16(take(2)))
	}
	if stage&0x40 != 0 {
		r.seen["state"]++
		must(stage&0x10 != 0, "state of no entity")
		text += fmt.Sprintf("state=%d ", binary.LittleEndian.Uint16(take(2)))
	}
	if kind == 7 {
		r.seen["refusal"]++
		must(stage&0x78 == 0x20 && len(b) <= 200, "refusal")
		return text + fmt.Sprintf("Refusal %q", detail(b))
	}
	must(kind >= 16 && kind < 255, "message %d of %d bytes", kind, len(b))
	if int(kind)-16 >= len(r.messages) {
		return text + fmt.Sprintf("Unknown %d of %d bytes", kind, len(b))
	}
	role := r.roles[kind-16]
	must(called == (strings.HasSuffix(role, "[question]") || strings.HasSuffix(role, "[answer]")), "call of %s", role)
	must(!strings.HasPrefix(role, "[from client;") || !fromServer, "direction")
	must(!strings.HasPrefix(role, "[from server;") || fromServer, "direction")
	s, bits := r.messages[kind-16], &stream{b: b}
	r.seen[s.name]++
	row := s.row(bits)
	must(len(b) == (bits.at+7)/8, "message of %d bytes", len(b))
	bits.end()
	if len(s.fields) > 100 {
		return text + s.name + " " + zeros(b)
	}
	return text + s.text(row)
}

// prefixCode reads a number whose first byte says how many follow.
func prefixCode(take func(n int) []byte) uint64 {
	first := uint64(take(1)[0])
	if first <= 240 {
		return first
	}
	v, least := uint64(0), uint64(0)
	big := func(n uint64) {
		for _, c := range take(int(n)) {
			v = v<<8 | uint64(c)
		}
	}
	switch {
	case first <= 248:
		big(1)
		v, least = v+240+256*(first-241), 241
	case first == 249:
		big(2)
		v, least = v+2288, 2288
	case first == 250:
		big(3)
		least = 67824
	default:
		big(first - 247)
		least = 1 << (8 * (first - 248))
	}
	must(v >= least, "number in a longer form")
	return v
}

// piece reads a piece of a message; the last one that comes makes it whole.
func (r *reader) piece(from string, number uint16, b []byte, fromServer bool) string {
	r.seen["piece"]++
	must(len(b) >= 5 && b[3] >= 2 && b[3] <= 80 && b[2] < b[3] && b[0] >= 16, "piece of %d bytes", len(b))
	text := fmt.Sprintf("piece %d of %d of type=%d stage=%d, %d bytes", b[2], b[3], b[0], b[1], len(b)-4)
	key := fmt.Sprint(from, " ", number-uint16(b[2]))
	set, known := r.pieces[key]
	if !known {
		set = make([][]byte, b[3])
		r.pieces[key] = set
	}
	if set == nil {
		return text
	}
	set[b[2]] = b[4:]
	for _, piece := range set {
		if piece == nil {
			return text
		}
	}
	for _, piece := range set[:len(set)-1] {
		must(len(piece) == len(set[0]) && len(set[len(set)-1]) <= len(piece), "pieces of different lengths")
	}
	r.pieces[key] = nil
	return text + ", whole: " + r.whole(b[0], b[1], bytes.Join(set, nil), fromServer)
}

// zeros is hexadecimal with runs of zeros shortened, as testdata/README.md says.
func zeros(b []byte) (text string) {
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] == 0 {
			n++
		}
		if n < 16 {
			text += hex.EncodeToString(b[:1])
			b = b[1:]
			continue
		}
		text += fmt.Sprintf("(00*%d)", n)
		b = b[n:]
	}
	return text
}

// padding reads the zeros behind a KeepAlive.
func (r *reader) padding(b []byte) string {
	for _, c := range b {
		must(c == 0, "padding")
	}
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf(" padding=%d", len(b))
}

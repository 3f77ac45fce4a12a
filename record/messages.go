package record

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Recipients of a recorded message.
const (
	postedAll = iota
	postedBut
	postedSeers
	postedClients

	postedAtOnce   = 1 << 2
	postedAfterAll = 1 << 3
)

// Messages records the server's messages to clients, with their recipients. A Player sends them to its spectators.
// Calls and collections are left out. While the recording runs, encoding a message to one client takes twice as long.
func Messages() Option { return func(r *recording) { r.messages = true } }

// posted records a message of game code.
func (r *recording) posted(m *extend.Posted) {
	if r.writer != nil && r.messages {
		r.note = appendPosted(r.note[:0], m, r.server.Tick())
		r.writer.Note(noteMessage, r.note)
	}
}

// appendPosted appends the note of a message.
func appendPosted(b []byte, m *extend.Posted, now tick.Tick) []byte {
	to := byte(postedClients)
	switch {
	case m.All && m.But == 0:
		to = postedAll
	case m.All:
		to = postedBut
	case !m.Seers.IsZero():
		to = postedSeers
	}
	if m.AtOnce {
		to |= postedAtOnce
	}
	if m.AfterAll {
		to |= postedAfterAll
	}
	b = append(b, byte(m.Type-wire.FirstUserMessage), byte(m.Stage), byte(m.Channel), to)
	switch to & 3 {
	case postedBut:
		b = wire.AppendVarint(b, uint64(m.But))
	case postedSeers:
		b = appendID(b, m.Seers)
	case postedClients:
		b = wire.AppendVarint(b, uint64(len(m.Clients)))
		for _, client := range m.Clients {
			b = wire.AppendVarint(b, uint64(client))
		}
	}
	b = appendID(b, m.Entity)
	b = wire.AppendVarint(b, uint64(max(m.NotBefore-now, 0)))
	return append(b, m.Body...)
}

// appendID appends an entity; the zero id takes one byte.
func appendID(b []byte, id netcode.NetworkID) []byte {
	if id.IsZero() {
		return wire.AppendVarint(b, 0)
	}
	return wire.AppendVarint(wire.AppendVarint(b, uint64(id.Index)+1), uint64(id.Generation))
}

// id reads an entity written by appendID.
func (b *noteReader) id() netcode.NetworkID {
	index, _ := b.varint(math.MaxUint32)
	if index == 0 {
		return netcode.NetworkID{}
	}
	generation, _ := b.varint(math.MaxUint32)
	b.ok = b.ok && generation != 0
	return netcode.NetworkID{Index: uint32(index - 1), Generation: uint32(generation)}
}

// byte reads a byte.
func (b *noteReader) byte() (v byte) {
	if b.ok = b.ok && len(b.left) > 0; b.ok {
		v, b.left = b.left[0], b.left[1:]
	}
	return v
}

// readPosted parses the note of a message. The result refers to body.
func readPosted(body []byte, now tick.Tick) (m extend.Posted, ok bool) {
	b := noteReader{left: body, ok: true}
	m.Type, m.Stage, m.Channel = wire.MessageType(b.byte()), tick.Stage(b.byte()), wire.Channel(b.byte())
	to := b.byte()
	m.AtOnce, m.AfterAll = to&postedAtOnce != 0, to&postedAfterAll != 0
	switch to & 3 {
	case postedBut:
		m.But = b.client()
		fallthrough
	case postedAll:
		m.All = true
	case postedSeers:
		m.Seers = b.id()
		b.ok = b.ok && !m.Seers.IsZero()
	case postedClients:
		n, _ := b.varint(wire.MaxClients)
		for ; n > 0 && b.ok; n-- {
			m.Clients = append(m.Clients, b.client())
		}
	}
	m.Entity = b.id()
	if wait, _ := b.varint(1 << 20); wait > 0 {
		m.NotBefore = now + tick.Tick(wait)
	}
	m.Body = b.left
	return m, b.ok && to>>4 == 0
}

// messageTypes returns the protocol's type for each recorded type number; 0 if the protocol lacks it or defines it
// differently.
func (h *Header) messageTypes(p *netcode.Protocol) (types []wire.MessageType) {
	own := entriesOf(p.Description(), "message")
	for _, entry := range entriesOf(h.Entries, "message") {
		of := wire.MessageType(0)
		if at := slices.Index(own, entry); at >= 0 {
			of = wire.FirstUserMessage + wire.MessageType(at)
		}
		types = append(types, of)
	}
	return types
}

// entriesOf returns the entries of a kind, in order; message numbers follow this order.
func entriesOf(entries []string, kind string) (list []string) {
	for _, e := range entries {
		if strings.HasPrefix(e, kind+" ") {
			list = append(list, e)
		}
	}
	return list
}

// said is a message to be sent.
type said struct {
	extend.Posted
	tick tick.Tick
}

// hear collects the messages of the reader's tick, if playback reached it without a seek.
func (p *Player) hear() bool {
	if p.reader.now <= p.heard {
		return true
	}
	for _, n := range p.reader.Notes() {
		if n.Kind != noteMessage {
			continue
		}
		m, ok := readPosted(n.Body, p.reader.now)
		if !ok || int(m.Type) >= len(p.types) {
			return false
		}
		if m.Type = p.types[m.Type]; m.Type != 0 {
			m.Body = bytes.Clone(m.Body)
			p.said = append(p.said, said{m, p.reader.now})
		}
	}
	return true
}

// say sends the collected messages to the spectators. The entities of the tick exist already.
func (p *Player) say() {
	for i := range p.said {
		m := &p.said[i]
		if !p.address(&m.Posted) {
			continue
		}
		if m.NotBefore != tick.None {
			m.NotBefore = p.server.Tick() + (m.NotBefore-m.tick)*ticksUnit/tick.Tick(p.step)
		}
		if err := extend.OfServer(p.server).Post(&m.Posted, p.ID); err != nil {
			p.server.Report(fmt.Errorf("netcode: playing a message of tick %d: %w", m.tick, err))
		}
	}
	clear(p.said)
	p.said, p.heard = p.said[:0], p.at
}

// address replaces recorded clients by their spectators and recorded entities by those of the server. It returns false
// if no recipient is left or the entity does not exist.
func (p *Player) address(m *extend.Posted) bool {
	if !m.Entity.IsZero() {
		if m.Entity = p.ID(m.Entity); m.Entity.IsZero() {
			return false
		}
	}
	if !m.Seers.IsZero() {
		m.Seers = p.ID(m.Seers)
		return !m.Seers.IsZero()
	}
	if m.All && m.But == 0 {
		return true
	}
	to := []netcode.ClientID{}
	for spectator := range p.server.Clients {
		player := p.follows[spectator]
		if m.All && player != m.But || !m.All && player != 0 && slices.Contains(m.Clients, player) {
			to = append(to, spectator)
		}
	}
	m.All, m.But, m.Clients = false, 0, to
	return len(to) > 0
}

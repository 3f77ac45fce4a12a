package main

import (
	"strings"
	"unicode"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/wire"
)

// Limits in bytes. What is longer is refused before it is sent, and by whoever receives it.
const (
	maxName = 24
	maxText = 400
	maxList = 4096
)

// Enter says who a client is and where it goes: first of all, and again for /nick and /join. What is empty stays as it is.
type Enter struct{ Name, Room string }

// Serialize reads, writes and measures: messages with strings need it, others travel field by field without any code.
func (m *Enter) Serialize(s *wire.Serializer) {
	s.String(&m.Name, maxName)
	s.String(&m.Room, maxName)
}

// Say is what somebody types.
type Say struct{ Text string }

// Serialize reads, writes and measures.
func (m *Say) Serialize(s *wire.Serializer) { s.String(&m.Text, maxText) }

// Line is what the server shows to those in a room. News have no From.
type Line struct{ Room, From, Text string }

// Serialize reads, writes and measures.
func (m *Line) Serialize(s *wire.Serializer) {
	s.String(&m.Room, maxName)
	s.String(&m.From, maxName)
	s.String(&m.Text, maxText)
}

// Who asks for the names in a room, or in one's own; Names is the answer.
type (
	Who   struct{ Room string }
	Names struct{ Room, List string }
)

// Serialize reads, writes and measures.
func (m *Who) Serialize(s *wire.Serializer) { s.String(&m.Room, maxName) }

// Serialize reads, writes and measures.
func (m *Names) Serialize(s *wire.Serializer) {
	s.String(&m.Room, maxName)
	s.String(&m.List, maxList)
}

// handlers is what an end does with what arrives; the other end's are nil.
type handlers struct {
	enter func(*netcode.Context, *Enter)
	say   func(*netcode.Context, *Say)
	line  func(*netcode.Context, *Line)
	who   func(*netcode.Context, *Who, *Names) error
}

// newProtocol is the same on both sides: what travels, how, and in which direction.
func newProtocol(h handlers) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Handle(p, h.enter, netcode.Over(netcode.ReliableOrdered), netcode.FromClient())
	netcode.Handle(p, h.say, netcode.Over(netcode.ReliableOrdered), netcode.FromClient())
	netcode.Handle(p, h.line, netcode.Over(netcode.ReliableOrdered), netcode.FromServer())
	netcode.Answer(p, h.who, netcode.Over(netcode.ReliableOrdered), netcode.FromClient())
	return p
}

// clean makes of text what is safe to print on a terminal, at most so many bytes of it.
func clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	for len(text) > limit {
		runes := []rune(text)
		text = string(runes[:len(runes)-1])
	}
	return strings.TrimSpace(text)
}

// word is clean for a name, which has no spaces.
func word(text string) string { return clean(strings.ReplaceAll(text, " ", ""), maxName) }

package lan

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

const (
	// MaxName is the most bytes of the name of a game.
	MaxName = 40
	// MaxJoin is the most bytes of the text that tells how to join it.
	MaxJoin = 120
	// questionSize is the size of a question, the longest datagram of this package.
	questionSize = 200

	question = "netcode lan ?\x01"
	answer   = "netcode lan !\x01"
)

// ErrMalformed means that a datagram is no answer of this package.
var ErrMalformed = errors.New("lan: no answer of a game")

// Game describes a server to players who look for one.
type Game struct {
	Name     string // At most MaxName bytes of UTF-8; the rest is cut off.
	Join     string // How to join: an address or a URL of at most MaxJoin bytes; a longer one is not announced.
	Players  uint16 // Players that are there,
	Places   uint16 // and most that there may be.
	Protocol uint64 // The hash of its protocol: netcode.Protocol.Hash. A client with another one cannot join.
}

// Append appends the datagram of a game.
func (g *Game) Append(dst []byte) []byte {
	name, join := g.Name, g.Join
	for len(name) > MaxName || !utf8.ValidString(name) {
		name = name[:len(name)-1]
	}
	if len(join) > MaxJoin || !utf8.ValidString(join) {
		join = ""
	}
	dst = append(dst, answer...)
	dst = binary.LittleEndian.AppendUint64(dst, g.Protocol)
	dst = binary.LittleEndian.AppendUint16(dst, g.Players)
	dst = binary.LittleEndian.AppendUint16(dst, g.Places)
	dst = append(append(dst, byte(len(name))), name...)
	return append(append(dst, byte(len(join))), join...)
}

// Parse reads the datagram of a game. The bytes are hostile.
func Parse(datagram []byte) (g Game, err error) {
	rest, ok := cut(datagram, answer)
	if !ok || len(rest) < 12 || len(datagram) > questionSize {
		return g, ErrMalformed
	}
	g.Protocol, g.Players, g.Places = binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint16(rest[8:]), binary.LittleEndian.Uint16(rest[10:])
	name, rest, ok := text(rest[12:], MaxName)
	join, rest, also := text(rest, MaxJoin)
	if !ok || !also || len(rest) > 0 || join == "" {
		return Game{}, ErrMalformed
	}
	g.Name, g.Join = name, join
	return g, nil
}

// text reads a text behind its length.
func text(from []byte, most int) (s string, rest []byte, ok bool) {
	if len(from) == 0 || int(from[0]) > most || len(from) < 1+int(from[0]) {
		return "", nil, false
	}
	n := 1 + int(from[0])
	return string(from[1:n]), from[n:], utf8.Valid(from[1:n])
}

func cut(datagram []byte, head string) (rest []byte, ok bool) {
	if len(datagram) < len(head) || string(datagram[:len(head)]) != head {
		return nil, false
	}
	return datagram[len(head):], true
}

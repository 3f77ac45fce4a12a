package voice

import (
	"encoding/binary"
	"errors"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// maxTalkers is the most players that can be heard at a time.
const maxTalkers = 16

const (
	headSize   = 2 // u16: the version of the table, little-endian.
	talkerSize = 5 // u32: the client; u8: how loud it is.
)

var errSection = errors.New("a voice section that is not legal")

// Register adds the feature to a protocol. Call it on both sides.
func Register(p *netcode.Protocol) {
	extend.OfProtocol(p).Extend(extend.Extension{
		Name: "voice", Kind: "voice",
		ToServer: extend.FreeSection, ToClient: extend.FreeSection,
		Server: feature{}, Client: feature{},
	})
}

// feature makes the hooks of both ends.
type feature struct{}

// Server implements extend.ServerSide.
func (feature) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	return newMixer(s).hooks()
}

// Client implements extend.ClientSide.
func (feature) Client(extend.Client) extend.ClientHooks { return (&ear{}).hooks() }

// Talk sets how loud the player of a client is: 0 is silent.
func Talk(c *netcode.Client, level uint8) {
	if e, ok := extend.ExtensionOf[*ear](c); ok {
		e.level, e.told = level, e.told && level == e.level
	}
}

// Level returns how loud a player is, as far as this client has heard.
func Level(c *netcode.Client, player netcode.ClientID) uint8 {
	if e, ok := extend.ExtensionOf[*ear](c); ok {
		for _, t := range e.talkers[:e.count] {
			if t.player == player {
				return t.level
			}
		}
	}
	return 0
}

type talker struct {
	player netcode.ClientID
	level  uint8
}

// ear is the feature on a client.
type ear struct {
	level uint8
	told  bool // The server was told the level, as far as is known.

	talkers [maxTalkers]talker
	count   int
	version uint16
	heard   bool // A table came in this connection.
}

func (e *ear) hooks() extend.ClientHooks {
	return extend.ClientHooks{
		State:  e,
		Opened: func() { *e = ear{level: e.level} },
		Section: &extend.ClientSection{
			Due:   func(bool) bool { return !e.told },
			Write: e.write,
			Lost:  func(uint64) { e.told = false }, // Tell it again.
			Check: func(payload []byte) error {
				if n := len(payload) - headSize; n < 0 || n%talkerSize != 0 || n/talkerSize > maxTalkers {
					return errSection
				}
				return nil
			},
			Take: e.take,
		},
	}
}

func (e *ear) write(room []byte, _ uint64) int {
	if len(room) < 1 || e.told {
		return 0
	}
	room[0], e.told = e.level, true
	return 1
}

func (e *ear) take(_ uint64, payload []byte) {
	version := binary.LittleEndian.Uint16(payload)
	if e.heard && int16(version-e.version) <= 0 {
		return // A newer table overtook it.
	}
	e.version, e.heard, e.count = version, true, 0
	for row := payload[headSize:]; len(row) > 0; row = row[talkerSize:] {
		e.talkers[e.count] = talker{netcode.ClientID(binary.LittleEndian.Uint32(row)), row[4]}
		e.count++
	}
}

// mixer is the feature on a server: the table of all talkers and its version.
type mixer struct {
	server  *netcode.Server
	version uint16
}

// voice is the feature with one session: how loud the player is, and which table the client has.
type voice struct {
	level       uint8
	sent, acked uint16
	packet      uint64 // The newest packet with a table.
	newest      uint64 // The newest packet of the player with a level.
}

func newMixer(s *netcode.Server) *mixer { return &mixer{server: s} }

func (m *mixer) hooks() extend.ServerHooks {
	return extend.ServerHooks{
		State:  m,
		Opened: func(extend.Session) any { return &voice{} },
		Closed: func(c extend.Session) { m.set(c, 0) },
		Section: &extend.ServerSection{
			Check: func(_ extend.Session, payload []byte) error {
				if len(payload) != 1 {
					return errSection
				}
				return nil
			},
			Take:  m.take,
			Due:   func(c extend.Session, _ bool) bool { return of(c).sent != m.version },
			Write: m.write,
			Acked: func(c extend.Session, packet uint64) {
				if v := of(c); packet == v.packet {
					v.acked = v.sent
				}
			},
			Lost: func(c extend.Session, packet uint64) {
				if v := of(c); packet == v.packet {
					v.sent = v.acked // Send the table again.
				}
			},
		},
	}
}

func of(c extend.Session) *voice {
	v, _ := extend.ExtensionOf[*voice](c)
	return v
}

// take takes in the level of a player, unless a newer packet overtook this one.
func (m *mixer) take(c extend.Session, packet uint64, payload []byte) {
	if v := of(c); packet >= v.newest {
		v.newest = packet
		m.set(c, payload[0])
	}
}

func (m *mixer) set(c extend.Session, level uint8) {
	if v := of(c); v.level != level {
		v.level = level
		m.version++
	}
}

// write writes the table for one client. It reads the levels of all sessions and changes that of none.
func (m *mixer) write(c extend.Session, room []byte, packet uint64) int {
	v := of(c)
	if v.sent == m.version || len(room) < headSize+maxTalkers*talkerSize {
		return 0
	}
	binary.LittleEndian.PutUint16(room, m.version)
	n := headSize
	for player := range m.server.Clients {
		if level := of(extend.OfServer(m.server).Session(player)).level; level > 0 && n < headSize+maxTalkers*talkerSize {
			binary.LittleEndian.PutUint32(room[n:], uint32(player))
			room[n+4] = level
			n += talkerSize
		}
	}
	v.sent, v.packet = m.version, packet
	return n
}

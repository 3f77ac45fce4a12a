package adversary

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Accept sets the Accept that clients get; its nonce is that of their Hello. A client ends the attempt with peer.ReasonMalformed if a value is
// out of range.
func (s *Server) Accept(accept peer.Accept) {
	s.accept = accept
	s.told["Accept"]++
}

// Welcome sets the Welcome that clients get. A client ends the attempt with peer.ReasonMalformed if a value is out of range.
func (s *Server) Welcome(welcome peer.Welcome) {
	s.welcome, s.tick = welcome, welcome.Tick
	s.told["Welcome"]++
}

// Refuse lets each Hello be refused. The client's error has the reason and the detail.
func (s *Server) Refuse(reason peer.Reason, detail string) {
	s.refusal = &peer.Error{Reason: reason, Detail: detail}
}

// ChallengeForever answers each Hello with another cookie, so that no client ever joins. It gives up after its HandshakeTimeout.
func (s *Server) ChallengeForever() { s.endless = true }

// Snapshot sends one packet with any payload of a snapshot. A client closes with peer.ReasonMalformed if it is not legal.
func (s *Server) Snapshot(payload []byte) { s.say("Snapshot", wire.MessageSnapshot, 0, payload) }

// SnapshotNoise sends so many packets whose snapshots are random bytes behind a right header of the newest tick.
func (s *Server) SnapshotNoise(packets int) {
	for range packets {
		noise := binary.LittleEndian.AppendUint16(nil, s.tick.Low())
		for range 1 + s.random.IntN(300) {
			noise = append(noise, byte(s.random.Uint32()))
		}
		s.say("SnapshotNoise", wire.MessageSnapshot, 0, noise)
	}
}

// Bend is a habit: each snapshot is changed before its packet is sealed; nil ends it. FlipBits and Cut are such changes.
func (s *Server) Bend(bend func(payload []byte) []byte) { s.bend = bend }

// FlipBits returns a change for Bend that turns so many random bits of a snapshot over.
func (s *Server) FlipBits(bits int) func(payload []byte) []byte {
	return func(payload []byte) []byte {
		for range bits {
			payload[s.random.IntN(len(payload))] ^= 1 << s.random.IntN(8)
		}
		return payload
	}
}

// Cut returns a change for Bend that cuts a snapshot at a random place.
func (s *Server) Cut() func(payload []byte) []byte {
	return func(payload []byte) []byte { return payload[:1+s.random.IntN(len(payload))] }
}

// SpawnForever is a habit: so many more entities come in each tick, with all components. A client ends the session with
// peer.ReasonTooManyEntities when it is sent one beyond its Config.MaxEntities.
func (s *Server) SpawnForever(each int) { s.spawns = each }

// Flicker is a habit: all entities go in each tick, and others come at their indexes.
func (s *Server) Flicker() { s.flicker = true }

// FarTick sends a sign of life with a tick that is so far from the server's own, -32768 to 32767.
func (s *Server) FarTick(away int16) {
	s.say("FarTick", wire.MessageKeepAlive, 0, binary.LittleEndian.AppendUint16(nil, s.tick.Low()+uint16(away)))
}

// JumpTick lets the server go on so many ticks later: all state before is out of the client's window.
func (s *Server) JumpTick(by tick.Tick) {
	s.tick += by
	s.told["JumpTick"]++
}

// Feedback tells the client of an input of a tick so far from the server's own that came so early, in 1/256 tick. A protocol without inputs
// makes it malformed.
func (s *Server) Feedback(away, early int16) {
	body := binary.LittleEndian.AppendUint16(nil, s.tick.Low()+uint16(away))
	s.say("Feedback", wire.MessageFeedback, 0, binary.LittleEndian.AppendUint16(body, uint16(early)))
}

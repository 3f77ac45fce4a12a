package adversary

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Accept sets the Accept that clients receive; its nonce is replaced by the one of their Hello. If a value is out of range, a
// client ends the attempt with errs.ReasonMalformed.
func (s *Server) Accept(accept peer.Accept) {
	s.accept = accept
	s.told["Accept"]++
}

// Welcome sets the Welcome that clients receive. If a value is out of range, a client ends the attempt with errs.ReasonMalformed.
func (s *Server) Welcome(welcome peer.Welcome) {
	s.welcome, s.tick = welcome, welcome.Tick
	s.told["Welcome"]++
}

// Refuse refuses each Hello. The client's error has the reason and the detail.
func (s *Server) Refuse(reason errs.Reason, detail string) {
	s.refusal = &errs.CloseError{Reason: reason, Detail: detail}
}

// ChallengeForever answers each Hello with a new cookie, so that no client ever joins. A client gives up after its
// HandshakeTimeout.
func (s *Server) ChallengeForever() { s.endless = true }

// Snapshot sends one packet with a given snapshot payload. If it is invalid a client closes with errs.ReasonMalformed.
func (s *Server) Snapshot(payload []byte) { s.say("Snapshot", wire.MessageSnapshot, 0, payload) }

// SnapshotNoise sends packets whose snapshots are random bytes after a valid header of the newest tick.
func (s *Server) SnapshotNoise(packets int) {
	for range packets {
		noise := binary.LittleEndian.AppendUint16(nil, s.tick.Low())
		for range 1 + s.random.IntN(300) {
			noise = append(noise, byte(s.random.Uint32()))
		}
		s.say("SnapshotNoise", wire.MessageSnapshot, 0, noise)
	}
}

// Bend is a habit: a function changes each snapshot before its packet is sealed; nil ends the habit. FlipBits and Cut return such
// functions.
func (s *Server) Bend(bend func(payload []byte) []byte) { s.bend = bend }

// FlipBits returns a function for Bend that flips random bits of a snapshot.
func (s *Server) FlipBits(bits int) func(payload []byte) []byte {
	return func(payload []byte) []byte {
		for range bits {
			payload[s.random.IntN(len(payload))] ^= 1 << s.random.IntN(8)
		}
		return payload
	}
}

// Cut returns a function for Bend that cuts a snapshot at a random position.
func (s *Server) Cut() func(payload []byte) []byte {
	return func(payload []byte) []byte { return payload[:1+s.random.IntN(len(payload))] }
}

// SpawnForever is a habit: more entities spawn in each tick, with all components. A client closes with errs.ReasonTooManyEntities
// when it receives more than its Config.MaxEntities.
func (s *Server) SpawnForever(each int) { s.spawns = each }

// Flicker is a habit: in each tick all entities despawn and new ones spawn at their indexes.
func (s *Server) Flicker() { s.flicker = true }

// FarTick sends a keep-alive with a tick away from the server's own by -32768 to 32767.
func (s *Server) FarTick(away int16) {
	s.say("FarTick", wire.MessageKeepAlive, 0, binary.LittleEndian.AppendUint16(nil, s.tick.Low()+uint16(away)))
}

// JumpTick advances the server's tick by a number of ticks, so that all older state is out of the client's window.
func (s *Server) JumpTick(by tick.Tick) {
	s.tick += by
	s.told["JumpTick"]++
}

// Feedback sends feedback about the client's input of a tick away from the server's own. early is in 1/256 tick. In a protocol
// without inputs the message is malformed.
func (s *Server) Feedback(away, early int16) {
	body := binary.LittleEndian.AppendUint16(nil, s.tick.Low()+uint16(away))
	s.say("Feedback", wire.MessageFeedback, 0, binary.LittleEndian.AppendUint16(body, uint16(early)))
}

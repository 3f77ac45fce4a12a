package adversary

import (
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Lie is a lie by name.
type Lie[T any] struct {
	// Name is the name of the method, under which Told counts the lie.
	Name string
	// Tell tells the lie once: call it in each frame as long as the lie should last. Habits start with the first call.
	Tell func(T)
}

// endLies returns the lies that both ends can tell.
func endLies[T interface{ end() *End }]() []Lie[T] {
	var lies []Lie[T]
	add := func(name string, tell func(e *End)) {
		lies = append(lies, Lie[T]{name, func(of T) { tell(of.end()) }})
	}
	add("AckAhead", func(e *End) { e.AckAhead(100) })
	add("AckNothing", (*End).AckNothing)
	add("AckOld", func(e *End) {
		if e.alter == nil {
			e.AckOld()
		}
	})
	add("AckAll", (*End).AckAll)
	add("Silence", (*End).Silence)
	add("Trickle", func(e *End) { e.Trickle(time.Second) })
	add("JumpAhead", func(e *End) { e.JumpAhead(20000) })
	add("FallBack", func(e *End) { e.FallBack(uint16(e.random.IntN(1 << 16))) })
	add("Repeat", func(e *End) { e.Repeat(10) })
	add("Damage", func(e *End) { e.Damage(10) })
	add("Credit", func(e *End) { e.Credit(e.random.Uint32()) })
	add("Resyncs", func(e *End) { e.Resyncs(4) })
	add("Overspend", func(e *End) { e.Overspend(16 << 10) })
	add("FarNumber", (*End).FarNumber)
	add("Pieces", func(e *End) { e.Pieces(1) })
	add("ForTick", func(e *End) { e.ForTick(int16(e.random.Uint32())) })
	add("About", func(e *End) {
		e.About(wire.NetworkID{Index: e.random.Uint32N(1 << 20), Generation: 1 + e.random.Uint32N(1000)})
	})
	add("Messages", func(e *End) { e.Messages(2) })
	add("Named", func(e *End) { // Protocols without components written by clients lack these messages.
		_ = e.Named("netcode.right", 4)
		_ = e.Named("netcode.wish", 4)
	})
	add("Noise", func(e *End) { e.Noise(1) })
	add("Flood", func(e *End) { e.Flood(64) })
	add("Bytes", func(e *End) { e.Bytes(64) })
	add("CloseAndGoOn", func(e *End) { e.CloseAndGoOn(4) })
	return lies
}

// ClientLies returns all lies of a Client that need no type of the game. Inputs and InputsFar need one.
func ClientLies() []Lie[*Client] {
	return append(endLies[*Client](), []Lie[*Client]{
		{"HaltAt", func(c *Client) { c.HaltAt(Playing) }},
		{"JoinAgain", func(c *Client) { c.JoinAgain(10) }},
		{"HelloAgain", func(c *Client) { c.HelloAgain(10) }},
		{"Write", func(c *Client) {
			c.Write(wire.NetworkID{Index: 1 + c.random.Uint32N(60), Generation: 1}, wire.NetworkID{Index: c.random.Uint32N(1 << 16), Generation: 7})
		}},
	}...)
}

// ServerLies returns all lies of a Server to a client that joins or has joined.
func ServerLies() []Lie[*Server] {
	return append(endLies[*Server](), []Lie[*Server]{
		{"Accept", func(s *Server) { s.Accept(peer.Accept{Epoch: 77, Rate: 0, Window: 65535, PacketSize: 1}) }},
		{"Welcome", func(s *Server) { s.Welcome(peer.Welcome{Client: 0, Tick: -1}) }},
		{"Refuse", func(s *Server) { s.Refuse(errs.ReasonFull, "no") }},
		{"ChallengeForever", (*Server).ChallengeForever},
		{"SnapshotNoise", func(s *Server) { s.SnapshotNoise(1) }},
		{"Bend", func(s *Server) { s.Bend(s.FlipBits(3)) }},
		{"SpawnForever", func(s *Server) { s.SpawnForever(50) }},
		{"Flicker", (*Server).Flicker},
		{"FarTick", func(s *Server) { s.FarTick(int16(s.random.Uint32())) }},
		{"JumpTick", func(s *Server) { s.JumpTick(1000) }},
		{"Feedback", func(s *Server) { s.Feedback(int16(s.random.Uint32()), int16(s.random.Uint32())) }},
	}...)
}

// StrangerLies returns all lies of a Stranger. Some use the address of a victim.
func StrangerLies(victim transport.Addr) []Lie[*Stranger] {
	return []Lie[*Stranger]{
		{"Hellos", func(s *Stranger) { s.Hellos(100) }},
		{"ForgedCookies", func(s *Stranger) { s.ForgedCookies(100) }},
		{"ForgedJoins", func(s *Stranger) { s.ForgedJoins(100) }},
		{"Noise", func(s *Stranger) { s.Noise(100) }},
		{"Tiny", func(s *Stranger) { s.Tiny(victim, 100) }},
		{"ForgedCloses", func(s *Stranger) { s.ForgedCloses(victim, 100) }},
	}
}

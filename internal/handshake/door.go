package handshake

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/proof"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Config has the settings of a Door. The fields are those of netcode.Config.
type Config struct {
	admission.Limits
	Clients      int                // The most clients at a time.
	Accept       peer.Accept        // Rate, Window and PacketSize of the server.
	Timeout      time.Duration      // HandshakeTimeout.
	Keep         time.Duration      // The time for which a player may return.
	KeepClosed   bool               // A player that closed in order may return too.
	RefuseSecond bool               // A connected player is not taken over.
	ResetKey     [32]byte           // Zero: random.
	Random       io.Reader          // The source of secrets.
	Known        []Protocol         // Protocols that the server speaks, its own first.
	Canon        *canon.Description // The description of the server's own protocol.
	Plain        *canon.Description // That of its plain variant; nil: the server takes no plain clients.
}

// Session is a session, as a Door sees it.
type Session struct {
	Phase    Phase          // Nobody: there is no session.
	Client   wire.ClientID  // The client of the session.
	Address  transport.Addr // The address of the client.
	Nonce    uint64         // The nonce of the attempt.
	Epoch    uint32         // The epoch of the session's checksums.
	Before   uint32         // The epoch of the address's session before; 0: none.
	Resumed  uint32         // The number of the newest accepted Resume.
	Protocol uint64         // The hash of the session's protocol.
	User     string         // The user that the transport proved at its Join; empty: none.
	Returned bool           // The player had a session before, with the same id.
}

// Phase is the phase of a session.
type Phase uint8

// The phases.
const (
	Nobody    Phase = iota // There is no session.
	Connected              // The game knows the client.
	Leaving                // The client closed; its messages are still handled.
	Ended                  // The session is over and only repeats its close.
)

// Sessions is the server behind a Door.
type Sessions interface {
	At(address transport.Addr) Session                 // Returns the session of an address.
	Of(client wire.ClientID) Session                   // Returns the session of a remote client.
	Local(client wire.ClientID) Phase                  // Returns the phase of a client of this process; Nobody for any other.
	Taken() int                                        // Returns the number of places in use.
	Shut() bool                                        // Reports whether new clients are refused.
	Proved(address transport.Addr) (user string)       // Returns the user that the transport proves at an address; empty: none.
	Asks() bool                                        // Reports whether the game decides about each client.
	Ask(d *admission.Decision, payload []byte)         // Asks the game.
	Open(s Session, seed peer.SkipSeed)                // Begins a session.
	Replace(address transport.Addr)                    // Ends the session of an address: its client has forgotten it.
	End(client wire.ClientID, reason *errs.CloseError) // Ends a session and tells its client, before another one takes its place.
	// Silent returns the session of a proved user, "" for none, that is silent for longest, and longer than d, of those at addresses for which a function is true.
	Silent(d time.Duration, user string, at func(transport.Addr) bool) Session
	Resumed(client wire.ClientID, number uint32)    // Accepts a Resume of a session.
	Move(client wire.ClientID, to transport.Addr)   // Moves a session to another address.
	Left(client wire.ClientID)                      // Handles a client that has left for good.
	Refused(from transport.Addr, difference string) // Handles the refusal of a client with another version or protocol.
}

// Door is the server's side of the handshake. It stores nothing for a client before its Join (docs/adr/0025): it answers
// Hello and Join from their contents. Until the address is proved, no answer is longer than its question.
type Door struct {
	Players admission.Players // Clients with an identity.
	LastID  wire.ClientID     // The newest client id.

	config    Config
	sessions  Sessions
	frame     *tick.Frame
	out       Outbox
	report    *report.Reporter
	cookies   *proof.Cookies
	tokens    *proof.Tokens
	places    *admission.Places
	past      peer.PastSessions // Ends of sessions, for late Joins and Resumes.
	decisions admission.Decisions
	secretAt  time.Duration // The time of the cookies' newest secret.
	refused   []string      // The differences that OnError got.
	refusedAt time.Duration // The time of the last logged refusal for another protocol; 0: never.
}

// NewDoor makes a door. The error is from Config.Random.
func NewDoor(config Config, sessions Sessions, frame *tick.Frame, out Outbox, r *report.Reporter) (Door, error) {
	var secret [32]byte
	var places [16]byte
	for _, b := range [][]byte{secret[:], places[:]} {
		if err := random(config.Random, b); err != nil {
			return Door{}, err
		}
	}
	key := config.ResetKey
	if key == [32]byte{} {
		key = sha256.Sum256(append(secret[:], "reset"...))
	}
	return Door{
		config: config, sessions: sessions, frame: frame, out: out, report: r,
		cookies: proof.NewCookies(secret), tokens: proof.NewTokens(key), places: admission.NewPlaces(places, config.Limits),
		past: peer.NewPastSessions(), decisions: admission.NewDecisions(), Players: admission.NewPlayers(),
	}, nil
}

// Receive answers a datagram of the handshake.
func (d *Door) Receive(kind peer.Kind, from transport.Addr, packet []byte) {
	switch kind {
	case peer.KindHello:
		d.receiveHello(from, packet)
	case peer.KindJoin:
		d.receiveJoin(from, packet)
	case peer.KindResume:
		d.receiveResume(from, packet)
	default:
		d.out.Stats.BadHandshakes++
	}
}

// receiveHello answers a Hello with a Challenge or, if it has a valid cookie, with an Accept.
func (d *Door) receiveHello(from transport.Addr, packet []byte) {
	hello, err := peer.ParseHello(packet)
	if err != nil {
		d.out.Stats.BadHandshakes++
		return
	}
	d.out.Stats.Hellos++
	epochs, proved := d.cookies.Check(hello.Cookie, from, hello.Nonce, d.sessions.At(from).cookieEpoch(hello.Nonce), d.frame.Now)
	switch {
	case !proved:
		d.challenge(from, hello.Nonce)
	case !d.mayWork(from, hello.Nonce, hosts.Proven):
	default:
		if reason := d.admissible(from, hello); reason != nil {
			d.refuse(from, hello.Nonce, reason)
			return
		}
		d.accept(from, hello.Nonce, epochOf(epochs, hello.Protocol))
	}
}

// receiveJoin opens the session of a client whose Join proves that it received Accept. For an existing session it changes
// nothing: Welcome is sent with each tick until the first packet of the client arrives.
func (d *Door) receiveJoin(from transport.Addr, packet []byte) {
	join, err := peer.ParseJoin(packet)
	if err != nil {
		d.out.Stats.BadHandshakes++
		return
	}
	s := d.sessions.At(from)
	again := s.Phase != Nobody && s.Nonce == join.Nonce
	if again && s.Phase != Ended && s.Address == from {
		d.out.Stats.Joins++
		return
	}
	before := s.cookieEpoch(join.Nonce)
	if again {
		before = s.Before
	}
	epochs, proved := d.cookies.Check(join.Cookie, from, join.Nonce, before, d.frame.Now)
	if !proved {
		d.challenge(from, join.Nonce)
		return
	}
	epoch, protocol, sealed := d.sealOf(packet, epochs)
	if !sealed {
		d.out.Stats.BadHandshakes++
		return
	}
	d.out.Stats.Joins++
	if !d.mayWork(from, join.Nonce, hosts.Proven) {
		return
	}
	reason := d.past.Find(join.Nonce, d.frame.Now)
	if reason != nil {
		d.out.Stats.JoinsRepeated++
	} else {
		reason = d.fits(from)
	}
	if reason != nil {
		d.refuse(from, join.Nonce, reason)
		return
	}
	d.admit(Session{Address: from, Nonce: join.Nonce, Epoch: epoch, Before: before, Protocol: protocol, User: d.sessions.Proved(from)}, join.Payload)
}

// sealOf returns the epoch and the protocol of a Join's checksum: the server's own protocol, or an older build's.
func (d *Door) sealOf(join []byte, epochs proof.Epochs) (epoch uint32, protocol uint64, sealed bool) {
	for _, of := range d.config.Known {
		epoch = epochOf(epochs, of.Hash)
		if fromClient, _ := Checksums(epoch, of.Hash); peer.JoinSealed(join, fromClient) {
			return epoch, of.Hash, true
		}
	}
	return 0, 0, false
}

// cookieEpoch returns the epoch for which a cookie must have been made: the epoch of the address's session when the
// cookie was requested. A delayed Hello thus cannot replace a later session, and the Hello that opened a session may be
// repeated.
func (s Session) cookieEpoch(nonce uint64) uint32 {
	switch {
	case s.Phase == Nobody:
		return 0
	case s.Nonce == nonce && s.Phase == Connected:
		return s.Before
	}
	return s.Epoch
}

// epochOf returns the epoch of the session that a cookie opens: its first epoch with which no checksum starts from zero.
func epochOf(epochs proof.Epochs, protocol uint64) uint32 {
	epoch := uint32(1)
	for i := len(epochs) - 1; i >= 0; i-- {
		if in, out := Checksums(epochs[i], protocol); epochs[i] != 0 && in != 0 && out != 0 {
			epoch = epochs[i]
		}
	}
	return epoch
}

// admissible returns the reason to refuse a client, nil without a reason.
func (d *Door) admissible(from transport.Addr, hello peer.Hello) *errs.CloseError {
	if hello.Version != peer.Version {
		d.noteRefused(from, hello)
		return &errs.CloseError{Reason: errs.ReasonWrongVersion, Detail: fmt.Sprintf("the server speaks version %d", peer.Version)}
	}
	if !slices.ContainsFunc(d.config.Known, func(p Protocol) bool { return p.Hash == hello.Protocol }) {
		d.noteRefused(from, hello)
		return &errs.CloseError{Reason: errs.ReasonWrongProtocol, Detail: d.meant(hello.Digest).FirstDifference(hello.Digest)}
	}
	return d.fits(from)
}

// meant returns the description that a client of another protocol is compared with: the one with its first entry, if there is one.
func (d *Door) meant(theirs peer.Digest) *canon.Description {
	if plain := d.config.Plain; plain != nil && theirs.Len() > 0 && theirs.At(0) == plain.Digest.At(0) {
		return plain
	}
	return d.config.Canon
}

// refusalsTold bounds the protocol differences that OnError gets, since clients choose them.
const refusalsTold = 16

// noteRefused reports a client that was refused for another version or protocol. OnError gets each difference once. The
// log gets a line once a second, since an old client may retry for ever.
func (d *Door) noteRefused(from transport.Addr, hello peer.Hello) {
	d.out.Stats.RefusedProtocol++
	difference := fmt.Sprintf("the client speaks version %d, the server %d", hello.Version, peer.Version)
	logs := (d.refusedAt == 0 || d.frame.Now-d.refusedAt >= time.Second) && d.report.Enabled(report.Warn)
	if !logs && len(d.refused) == refusalsTold {
		return
	}
	if hello.Version == peer.Version {
		difference = d.meant(hello.Digest).Difference(hello.Digest)
	}
	if len(d.refused) < refusalsTold && !slices.Contains(d.refused, difference) {
		d.refused = append(d.refused, difference)
		d.sessions.Refused(from, difference)
	}
	if logs {
		d.refusedAt = max(d.frame.Now, 1)
		d.report.Log(report.Warn, "client refused: another version or protocol", "address", from,
			"difference", difference, "version", hello.Version, "ours", peer.Version,
			"protocol", fmt.Sprintf("%016x", hello.Protocol), "our protocol", fmt.Sprintf("%016x", d.config.Canon.Hash), "refused", d.out.Stats.RefusedProtocol)
	}
}

// challenge sends the cookie that a Hello must return.
func (d *Door) challenge(to transport.Addr, nonce uint64) {
	if d.mayWork(to, nonce, hosts.Unproven) {
		d.sendCookie(to, nonce, d.sessions.At(to).cookieEpoch(nonce))
	}
}

// sendCookie sends a Challenge with the cookie for an address, a nonce and an epoch.
func (d *Door) sendCookie(to transport.Addr, nonce uint64, epoch uint32) {
	d.out.Stats.Challenges++
	cookie := d.cookies.Make(to, nonce, epoch, d.frame.Now)
	d.out.send(to, answerRoom, func(b []byte) []byte {
		return peer.AppendChallenge(b, peer.Challenge{Nonce: nonce, Cookie: cookie})
	})
}

// accept sends a client the epoch with which it may join. The same Hello gets the same answer again.
func (d *Door) accept(to transport.Addr, nonce uint64, epoch uint32) {
	accept := d.config.Accept
	accept.Nonce, accept.Epoch = nonce, epoch
	d.out.send(to, answerRoom, func(b []byte) []byte { return peer.AppendAccept(b, accept) })
}

// Welcome tells a client that its session exists.
func (d *Door) Welcome(s Session) {
	_, check := Checksums(s.Epoch, s.Protocol)
	d.out.send(s.Address, answerRoom, func(b []byte) []byte {
		return peer.AppendWelcome(b, peer.Welcome{Client: s.Client, Tick: d.frame.Clock.Tick(), Token: d.tokens.Make(uint32(s.Client), s.Nonce)}, check)
	})
}

// refuse tells a client the reason of its refusal.
func (d *Door) refuse(to transport.Addr, nonce uint64, reason *errs.CloseError) {
	d.out.send(to, peer.HelloSize, func(b []byte) []byte {
		return peer.AppendRefuse(b, peer.Refuse{Nonce: nonce, Reason: reason.Reason, Detail: reason.Detail})
	})
}

// answerRoom is enough bytes for any handshake datagram of a server except Refuse.
const answerRoom = 48

// mayWork takes one piece of handshake work out of the budgets of an address and its network. Without budget it refuses
// the client without a detail, for the cost of one table lookup; the client may retry.
func (d *Door) mayWork(from transport.Addr, nonce uint64, work hosts.Work) bool {
	switch d.places.Work(from.IP.Addr(), work, d.frame.Now) {
	case admission.Address:
		d.out.Stats.BusyAddress++
	case admission.Network:
		d.out.Stats.BusyNetwork++
	default:
		return true
	}
	d.refuse(from, nonce, &errs.CloseError{Reason: errs.ReasonBusy})
	return false
}

// A session follows its client to a new address (docs/adr/0041). A client that receives nothing sends Resume, which names
// its session. The server lets the new address prove itself by a cookie, and stores nothing before that. For an unknown
// session it answers with a Reset, from the datagram alone.

// receiveResume answers a Resume.
func (d *Door) receiveResume(from transport.Addr, packet []byte) {
	r, err := peer.ParseResume(packet)
	if err != nil {
		d.out.Stats.BadHandshakes++
		return
	}
	d.out.Stats.Resumes++
	s := d.sessions.Of(r.Client)
	if s.Phase == Nobody || s.Nonce != r.Nonce {
		d.reset(from, &r)
		return
	}
	fromClient, _ := Checksums(s.Epoch, s.Protocol)
	switch {
	case s.Phase != Connected || !peer.ResumeSealed(packet, fromClient):
		d.out.Stats.BadHandshakes++
	case r.Number <= s.Resumed:
		d.out.Stats.ResumesOld++
	case from == s.Address:
		d.sessions.Resumed(s.Client, r.Number)
	default:
		d.mayMove(s, from, &r)
	}
}

// mayMove moves a session to a proved address, or sends an unproved address a cookie. A session whose user the transport proved moves
// only to where it proves the same one.
func (d *Door) mayMove(s Session, to transport.Addr, r *peer.Resume) {
	if d.sessions.Proved(to) != s.User {
		d.out.Stats.ResumesForeign++
		d.reset(to, r)
		return
	}
	_, proved := d.cookies.Check(r.Cookie, to, r.Path, s.Epoch, d.frame.Now)
	switch {
	case !proved && d.mayWork(to, r.Path, hosts.Unproven):
		d.sendCookie(to, r.Path, s.Epoch)
	case !proved || !d.mayWork(to, r.Path, hosts.Proven):
	default:
		d.places.Free(s.Address.IP.Addr()) // A session's own place never blocks it.
		if reason, scope := d.crowded(to.IP.Addr()); reason != nil {
			d.countRefused(scope)
			d.places.Take(s.Address.IP.Addr())
			d.refuse(to, r.Path, &errs.CloseError{Reason: reason.Reason})
			return
		}
		d.places.Take(to.IP.Addr())
		d.sessions.Move(s.Client, to)
		d.sessions.Resumed(s.Client, r.Number)
	}
}

// reset answers a Resume of a session that is over or unknown. A session that still repeats its close to the same address
// needs no Reset.
func (d *Door) reset(to transport.Addr, r *peer.Resume) {
	if s := d.sessions.At(to); s.Phase == Ended && s.Nonce == r.Nonce {
		return
	}
	if !d.mayWork(to, r.Path, hosts.Unproven) {
		return
	}
	reason := errs.ReasonReset
	if past := d.past.Find(r.Nonce, d.frame.Now); past != nil {
		reason = past.Reason
	}
	d.out.Stats.Resets++
	d.out.send(to, answerRoom, func(b []byte) []byte {
		return peer.AppendReset(b, peer.Reset{Client: r.Client, Nonce: r.Nonce, Path: r.Path, Reason: reason, Token: d.tokens.Make(uint32(r.Client), r.Nonce)})
	})
}

// secretFor is the time for which a secret of the cookies is used.
const secretFor = time.Minute

// Expire ends overdue decisions and the time of players that are away. It also changes the secret of the cookies, so that
// a leaked secret is useless soon; sent cookies stay valid for their few seconds. The error is from Config.Random.
func (d *Door) Expire() error {
	if len(d.decisions.Waiting) > 0 {
		late := d.undecided()
		d.out.Stats.ApprovalsLate += d.decisions.Expire(d.frame.Now, late)
	}
	for p := d.Players.Due(d.frame.Now); p != nil; p = d.Players.Due(d.frame.Now) {
		d.endPlayer(p)
	}
	if d.frame.Now-d.secretAt < secretFor {
		return nil
	}
	d.secretAt = d.frame.Now
	var secret [32]byte
	err := random(d.config.Random, secret[:])
	if err == nil {
		d.cookies.Rotate(secret)
	}
	return err
}

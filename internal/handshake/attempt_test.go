package handshake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	nonce = 0x1122334455667788
	hash  = 0x99
)

// server are the datagrams of a server that plays along.
var (
	challenge = func() []byte { return peer.AppendChallenge(nil, peer.Challenge{Nonce: nonce, Cookie: peer.Cookie{1}}) }
	accept    = func() []byte {
		return peer.AppendAccept(nil, peer.Accept{Nonce: nonce, Epoch: 7, Rate: 30, Window: 64, PacketSize: 1200})
	}
	refuse = func(reason errs.Reason) []byte {
		return peer.AppendRefuse(nil, peer.Refuse{Nonce: nonce, Reason: reason, Detail: "no"})
	}
	welcome = func() []byte {
		_, fromServer := Checksums(7, hash)
		return peer.AppendWelcome(nil, peer.Welcome{Client: 3, Tick: 100}, fromServer)
	}
)

// speaks returns n protocols: the first has the hash of the tests.
func speaks(n uint64) (all []Protocol) {
	for i := range n {
		all = append(all, Protocol{Hash: hash + i, Digest: peer.NewDigest([]uint32{1 + uint32(i)})})
	}
	return all
}

func newAttempt() *Attempt {
	a := New(transport.MustParseAddr("198.51.100.9:1"), nonce, peer.SkipSeed{}, []byte("ticket"), speaks(1))
	a.Begin(time.Second)
	return &a
}

// take passes a datagram to an attempt.
func take(a *Attempt, packet []byte, now time.Duration) Answer {
	return a.Take(peer.KindOf(packet), packet, now)
}

func TestAnAttemptGoesFromHelloToWelcome(t *testing.T) {
	a := newAttempt()
	send := func(now time.Duration, want peer.Kind) []byte {
		require.True(t, a.Due(now))
		packet, kind := a.Append(nil, now)
		require.Equal(t, want, kind)
		require.Equal(t, want, peer.KindOf(packet))
		require.False(t, a.Due(now), "it waits for an answer")
		return packet
	}
	hello, err := peer.ParseHello(send(time.Second, peer.KindHello))
	require.NoError(t, err)
	require.True(t, hello.Cookie.IsZero())
	require.Equal(t, Challenged, take(a, challenge(), time.Second+60*time.Millisecond).Effect)
	hello, err = peer.ParseHello(send(time.Second+60*time.Millisecond, peer.KindHello))
	require.NoError(t, err)
	require.Equal(t, peer.Cookie{1}, hello.Cookie)
	require.Equal(t, Foreign, take(a, welcome(), 2*time.Second).Effect, "a Welcome before a Join is nobody's")
	require.Equal(t, Noted, take(a, accept(), 2*time.Second).Effect)
	packet := send(2*time.Second, peer.KindJoin)
	fromClient, _ := Checksums(7, hash)
	require.True(t, peer.JoinSealed(packet, fromClient), "only who saw Accept can write it")
	join, err := peer.ParseJoin(packet)
	require.NoError(t, err)
	require.Equal(t, "ticket", string(join.Payload))
	require.Equal(t, 2*time.Second, a.JoinedAt())
	send(2*time.Second+JoinEvery, peer.KindJoin)
	require.Equal(t, 2*time.Second, a.JoinedAt(), "the round trip is that of the first Join")
	answer := take(a, welcome(), 3*time.Second)
	require.Equal(t, Welcomed, answer.Effect)
	require.Equal(t, wire.ClientID(3), answer.Welcome.Client)
}

func TestEffectsOnAnAttempt(t *testing.T) {
	joined := func(a *Attempt) {
		take(a, challenge(), time.Second)
		take(a, accept(), time.Second)
		a.Append(nil, time.Second)
	}
	other := func(packet []byte) []byte { packet[1] ^= 1; return packet } // Another nonce, and a wrong checksum.
	for name, row := range map[string]struct {
		before func(a *Attempt)
		packet []byte
		want   Effect
		ends   errs.Reason // From GivenUp.
	}{
		"another attempt's Challenge": {nil, peer.AppendChallenge(nil, peer.Challenge{Nonce: 1, Cookie: peer.Cookie{1}}), Foreign, errs.ReasonHandshakeTimeout},
		"a damaged Challenge":         {nil, other(challenge()), Foreign, errs.ReasonHandshakeTimeout},
		"another attempt's Accept":    {nil, peer.AppendAccept(nil, peer.Accept{Nonce: 1, Epoch: 7, Rate: 30, Window: 64, PacketSize: 1200}), Foreign, errs.ReasonHandshakeTimeout},
		"an Accept of no server":      {nil, peer.AppendAccept(nil, peer.Accept{Nonce: nonce, Epoch: 7, Rate: 0, Window: 64, PacketSize: 1200}), Malformed, errs.ReasonHandshakeTimeout},
		"another's Accept, of none":   {nil, peer.AppendAccept(nil, peer.Accept{Nonce: 1, Epoch: 7, Rate: 0, Window: 64, PacketSize: 1200}), Foreign, errs.ReasonHandshakeTimeout},
		"a refusal":                   {nil, refuse(errs.ReasonFull), Refused, errs.ReasonHandshakeTimeout},
		"another attempt's refusal":   {nil, peer.AppendRefuse(nil, peer.Refuse{Nonce: 1, Reason: errs.ReasonFull}), Foreign, errs.ReasonHandshakeTimeout},
		"busy passes":                 {nil, refuse(errs.ReasonBusy), Noted, errs.ReasonBusy},
		"pending passes":              {joined, refuse(errs.ReasonPending), Noted, errs.ReasonPending},
		"a Welcome of another epoch": {joined, func() []byte {
			_, fromServer := Checksums(8, hash)
			return peer.AppendWelcome(nil, peer.Welcome{Client: 3, Tick: 100}, fromServer)
		}(), Foreign, errs.ReasonHandshakeTimeout},
		"a Welcome of no server": {joined, func() []byte {
			_, fromServer := Checksums(7, hash)
			return peer.AppendWelcome(nil, peer.Welcome{Client: 0, Tick: 100}, fromServer)
		}(), Malformed, errs.ReasonHandshakeTimeout},
		"a Reset": {joined, peer.AppendReset(nil, peer.Reset{Client: 3, Nonce: nonce}), Foreign, errs.ReasonHandshakeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt()
			if row.before != nil {
				row.before(a)
			}
			require.Equal(t, row.want, take(a, row.packet, time.Second).Effect)
			require.Equal(t, row.ends, a.GivenUp(5*time.Second).Reason)
		})
	}
}

func TestANewCookieStartsAgain(t *testing.T) {
	a := newAttempt()
	take(a, challenge(), time.Second)
	take(a, accept(), time.Second)
	a.Append(nil, time.Second)
	require.Equal(t, Challenged, take(a, challenge(), 2*time.Second).Effect)
	_, kind := a.Append(nil, 2*time.Second)
	require.Equal(t, peer.KindJoin, kind, "the same cookie again changes nothing")
	take(a, peer.AppendChallenge(nil, peer.Challenge{Nonce: nonce, Cookie: peer.Cookie{2}}), 3*time.Second)
	require.True(t, a.Due(3*time.Second))
	_, kind = a.Append(nil, 3*time.Second)
	require.Equal(t, peer.KindHello, kind)
	require.Equal(t, Foreign, take(a, welcome(), 3*time.Second).Effect)
}

// A second Hello may be answered with another cookie. The later Accept belongs to the first cookie, and has its epoch.
func TestTheAnswerToAnEarlierHelloChangesNoCookie(t *testing.T) {
	a := newAttempt()
	take(a, challenge(), time.Second)
	a.Append(nil, time.Second)
	take(a, peer.AppendChallenge(nil, peer.Challenge{Nonce: nonce, Cookie: peer.Cookie{2}}), time.Second+HelloEvery)
	take(a, accept(), time.Second+HelloEvery)
	packet, _ := a.Append(nil, time.Second+HelloEvery)
	join, err := peer.ParseJoin(packet)
	require.NoError(t, err)
	require.Equal(t, peer.Cookie{1}, join.Cookie)
}

func TestTheTimeOfAnAttemptRunsInFrames(t *testing.T) {
	a := New(transport.MustParseAddr("198.51.100.9:1"), nonce, peer.SkipSeed{}, nil, speaks(1))
	a.Begin(time.Hour)
	require.False(t, a.Over(time.Hour+4*time.Second, 5*time.Second))
	a.Begin(2 * time.Hour)
	require.True(t, a.Over(time.Hour+5*time.Second, 5*time.Second), "only the first frame counts")
	a.Shift(3 * time.Second)
	require.False(t, a.Over(time.Hour+5*time.Second, 5*time.Second))
}

// A server of an older build refuses the client's own protocol. The client offers its older protocols, each under another
// nonce. It reports the first refusal if the server speaks none.
func TestAnAttemptOffersOlderProtocols(t *testing.T) {
	a := New(transport.MustParseAddr("198.51.100.9:1"), nonce, peer.SkipSeed{}, nil, speaks(3))
	a.Begin(time.Second)
	refuse := func(of uint64, detail string) []byte {
		return peer.AppendRefuse(nil, peer.Refuse{Nonce: of, Reason: errs.ReasonWrongProtocol, Detail: detail})
	}
	for i := range uint64(3) {
		packet, kind := a.Append(nil, time.Second)
		require.Equal(t, peer.KindHello, kind)
		hello, err := peer.ParseHello(packet)
		require.NoError(t, err)
		require.Equal(t, hash+i, hello.Protocol)
		require.Equal(t, nonce+i, hello.Nonce)
		require.EqualValues(t, 1+i, hello.Digest.At(0))
		require.True(t, hello.Cookie.IsZero(), "a cookie is bound to its nonce")
		require.Equal(t, Challenged, take(&a, peer.AppendChallenge(nil, peer.Challenge{Nonce: nonce + i, Cookie: peer.Cookie{1}}), time.Second).Effect)
		answer := take(&a, refuse(nonce+i, "refusal "+string('0'+rune(i))), time.Second)
		if i == 2 {
			require.Equal(t, Refused, answer.Effect)
			require.Equal(t, "refusal 0", answer.Refuse.Detail, "of the client's own protocol")
			break
		}
		require.Equal(t, Noted, answer.Effect)
		require.True(t, a.Due(time.Second), "it asks at once")
		require.Equal(t, Foreign, take(&a, refuse(nonce+i, "again"), time.Second).Effect, "a refusal that comes twice counts once")
	}
}

// The session has the checksum of the accepted protocol.
func TestASessionHasTheProtocolThatWasAccepted(t *testing.T) {
	a := New(transport.MustParseAddr("198.51.100.9:1"), nonce, peer.SkipSeed{}, nil, speaks(2))
	a.Begin(time.Second)
	take(&a, peer.AppendRefuse(nil, peer.Refuse{Nonce: nonce, Reason: errs.ReasonWrongProtocol}), time.Second)
	take(&a, peer.AppendChallenge(nil, peer.Challenge{Nonce: nonce + 1, Cookie: peer.Cookie{1}}), time.Second)
	take(&a, peer.AppendAccept(nil, peer.Accept{Nonce: nonce + 1, Epoch: 7, Rate: 30, Window: 64, PacketSize: 1200}), time.Second)
	packet, kind := a.Append(nil, time.Second)
	require.Equal(t, peer.KindJoin, kind)
	fromClient, _ := Checksums(7, hash+1)
	require.True(t, peer.JoinSealed(packet, fromClient))
	require.EqualValues(t, hash+1, a.Protocol().Hash)
}

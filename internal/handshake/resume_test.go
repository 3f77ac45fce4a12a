package handshake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
)

const path = 0x42

func newResume() *Resume {
	r := NewResume(3, nonce, peer.Token{9})
	return &r
}

// ask begins a silence and sends a Resume.
func ask(t *testing.T, r *Resume, now, silence time.Duration) peer.Resume {
	require.True(t, r.Due(now, silence, 150*time.Millisecond))
	if !r.Asks {
		r.Ask(path)
	}
	fromClient, _ := Checksums(7, hash)
	packet := r.Append(nil, fromClient, now, silence)
	require.True(t, peer.ResumeSealed(packet, fromClient))
	sent, err := peer.ParseResume(packet)
	require.NoError(t, err)
	return sent
}

func TestResumesAreNumberedAndSlowDown(t *testing.T) {
	r := newResume()
	require.False(t, r.Due(0, 149*time.Millisecond, 150*time.Millisecond))
	require.EqualValues(t, 1, ask(t, r, time.Second, 200*time.Millisecond).Number)
	require.False(t, r.Due(time.Second+resumeEvery-1, 300*time.Millisecond, 150*time.Millisecond))
	require.EqualValues(t, 2, ask(t, r, time.Second+resumeEvery, resumeQuick).Number)
	require.False(t, r.Due(time.Second+2*resumeEvery, resumeQuick, 150*time.Millisecond))
	require.False(t, r.Heard())
	require.EqualValues(t, 3, ask(t, r, 2*time.Minute, time.Second).Number, "an older one of an earlier silence moves nothing")
}

func TestAResumeFindsItsNewAddress(t *testing.T) {
	r := newResume()
	moved := peer.AppendChallenge(nil, peer.Challenge{Nonce: path, Cookie: peer.Cookie{5}})
	require.Equal(t, Foreign, r.Take(peer.KindChallenge, moved, 0).Effect, "nothing was asked")
	ask(t, r, time.Second, time.Second)
	require.Equal(t, Foreign, r.Take(peer.KindChallenge, challenge(), 0).Effect, "an answer to the Hello")
	require.Equal(t, Challenged, r.Take(peer.KindChallenge, moved, time.Second).Effect)
	require.Equal(t, peer.Cookie{5}, ask(t, r, time.Second, time.Second).Cookie, "at once")
	require.True(t, r.Heard())
	require.False(t, r.Heard(), "it is told once")
}

func TestResets(t *testing.T) {
	good := peer.Reset{Client: 3, Nonce: nonce, Path: path, Reason: errs.ReasonReset, Token: peer.Token{9}}
	for name, row := range map[string]struct {
		change   func(reset *peer.Reset)
		silence  time.Duration
		effect   Effect
		believed bool
	}{
		"the server's own":         {func(*peer.Reset) {}, 200 * time.Millisecond, Reset, true},
		"without the token":        {func(r *peer.Reset) { r.Token = peer.Token{} }, unprovenAfter - 1, Reset, false},
		"without it, after a time": {func(r *peer.Reset) { r.Token = peer.Token{} }, unprovenAfter, Reset, true},
		"of another silence":       {func(r *peer.Reset) { r.Path = 1 }, time.Second, Foreign, true},
		"of another session":       {func(r *peer.Reset) { r.Nonce = 1 }, time.Second, Foreign, true},
		"of another client":        {func(r *peer.Reset) { r.Client = 4 }, time.Second, Foreign, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, reset := newResume(), good
			row.change(&reset)
			packet := peer.AppendReset(nil, reset)
			require.Equal(t, Foreign, r.Take(peer.KindReset, packet, 0).Effect, "the server is heard")
			ask(t, r, time.Second, row.silence)
			answer := r.Take(peer.KindReset, packet, time.Second)
			require.Equal(t, row.effect, answer.Effect)
			if row.effect == Reset {
				require.Equal(t, row.believed, r.Believes(&answer.Reset, row.silence))
			}
		})
	}
}

func TestTheReasonOfALongSilence(t *testing.T) {
	r := newResume()
	require.Equal(t, errs.ReasonTimeout, r.GivenUp().Reason)
	ask(t, r, time.Second, time.Second)
	crowded := peer.AppendRefuse(nil, peer.Refuse{Nonce: path, Reason: errs.ReasonCrowded})
	require.Equal(t, Noted, r.Take(peer.KindRefuse, crowded, time.Second).Effect)
	require.Equal(t, errs.ReasonCrowded, r.GivenUp().Reason)
	r.Heard()
	require.Equal(t, errs.ReasonTimeout, r.GivenUp().Reason)
}

package peer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
)

func testHello(types int) Hello {
	hashes := make([]uint32, types)
	for i := range hashes {
		hashes[i] = uint32(i+1) * 0x9e3779b9
	}
	return Hello{Version: Version, Nonce: 0x0102030405060708, Protocol: 99, Cookie: Cookie{1, 2, 3}, Digest: NewDigest(hashes)}
}

func testAccept() Accept {
	return Accept{Nonce: 7, Epoch: 8, Rate: 30, Window: 64, PacketSize: 1200}
}

func parseWith[T any](parse func([]byte) (T, error)) func([]byte) error {
	return func(b []byte) error {
		_, err := parse(b)
		return err
	}
}

func TestHelloRoundTrip(t *testing.T) {
	for _, types := range []int{0, 1, 5, MaxDigest - 1, MaxDigest, MaxDigest + 1, 5000, 1 << 17} {
		want := testHello(types)
		b := AppendHello([]byte("before"), want)
		require.Len(t, b, 6+HelloSize)
		got, err := ParseHello(b[6:])
		require.NoError(t, err)
		require.Equal(t, min(types, 65535), got.Digest.Types())
		require.Equal(t, min(types, MaxDigest), got.Digest.Len())
		_, differ := got.Digest.FirstDifference(want.Digest)
		require.False(t, differ)
		want.Digest, got.Digest = Digest{}, Digest{}
		require.Equal(t, want, got)
	}
}

func TestDigestFirstDifference(t *testing.T) {
	for _, c := range []struct {
		a, b  []uint32
		index int
		found bool
	}{
		{nil, nil, 0, false},
		{[]uint32{1, 2}, []uint32{1, 2}, 2, false},
		{[]uint32{1, 2, 3}, []uint32{1, 9, 3}, 1, true},
		{[]uint32{1, 2}, []uint32{1, 2, 3}, 2, true},
		{nil, []uint32{1}, 0, true},
	} {
		index, found := NewDigest(c.a).FirstDifference(NewDigest(c.b))
		require.Equal(t, c.index, index)
		require.Equal(t, c.found, found)
	}
}

func TestHelloOfAnotherVersion(t *testing.T) {
	h := testHello(3)
	h.Version = Version + 1
	b := AppendHello(nil, h)
	b = b[:len(b)-wire.ChecksumSize]
	b[len(b)-1] = 0xAA // what follows the cookie is that version's business
	got, err := ParseHello(seal(handshakeCheck(), b, 0))
	require.NoError(t, err)
	require.Equal(t, h.Nonce, got.Nonce)
	require.Equal(t, h.Cookie, got.Cookie)
	require.Zero(t, got.Digest.Types())
}

func TestHelloPaddingIsZero(t *testing.T) {
	b := AppendHello(nil, testHello(3))
	for _, at := range []int{helloFixed + 12, HelloSize - wire.ChecksumSize - 1} {
		bad := append([]byte(nil), b[:HelloSize-wire.ChecksumSize]...)
		bad[at] = 1
		_, err := ParseHello(seal(handshakeCheck(), bad, 0))
		require.ErrorIs(t, err, ErrMalformed)
	}
}

func TestChallengeRoundTrip(t *testing.T) {
	want := Challenge{Nonce: 5, Cookie: Cookie{9}}
	b := AppendChallenge(nil, want)
	got, err := ParseChallenge(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = ParseChallenge(AppendChallenge(nil, Challenge{Nonce: 5}))
	require.ErrorIs(t, err, ErrMalformed, "the zero cookie means none")
}

func TestAcceptRoundTrip(t *testing.T) {
	want := testAccept()
	got, err := ParseAccept(AppendAccept(nil, want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	for name, spoil := range map[string]func(*Accept){
		"epoch":        func(a *Accept) { a.Epoch = 0 },
		"rate":         func(a *Accept) { a.Rate = 0 },
		"window":       func(a *Accept) { a.Window = 0 },
		"small packet": func(a *Accept) { a.PacketSize = MinSessionPacket - 1 },
		"large packet": func(a *Accept) { a.PacketSize = MaxSessionPacket + 1 },
	} {
		bad := want
		spoil(&bad)
		_, err = ParseAccept(AppendAccept(nil, bad))
		require.ErrorIs(t, err, ErrMalformed, name)
	}
}

func TestRefuseRoundTrip(t *testing.T) {
	want := Refuse{Nonce: 5, Reason: errs.ReasonWrongProtocol, Detail: "Position.X: f32 here, f64 there"}
	got, err := ParseRefuse(AppendRefuse(nil, want))
	require.NoError(t, err)
	require.Equal(t, want, got)

	longest := AppendRefuse(nil, Refuse{Nonce: 5, Reason: errs.ReasonFull, Detail: strings.Repeat("x", 2000)})
	got, err = ParseRefuse(longest)
	require.NoError(t, err)
	require.Len(t, got.Detail, MaxRefuseDetail)

	body := append(longest[:len(longest)-wire.ChecksumSize], 'x')
	_, err = ParseRefuse(seal(handshakeCheck(), body, 0))
	require.ErrorIs(t, err, ErrMalformed, "one byte too long")
	_, err = ParseRefuse(AppendRefuse(nil, Refuse{Nonce: 5}))
	require.ErrorIs(t, err, ErrMalformed, "no reason")
	body = []byte{0x84, 1, 2, 3, 4, 5, 6, 7, 8, byte(errs.ReasonFull), 'a', '\n'}
	_, err = ParseRefuse(seal(handshakeCheck(), body, 0))
	require.ErrorIs(t, err, ErrMalformed, "forges a log line")
}

// TestNoAnswerIsLargerThanTheQuestion keeps the server from being an amplifier.
func TestNoAnswerIsLargerThanTheQuestion(t *testing.T) {
	require.Less(t, challengeSize, HelloSize)
	require.Less(t, acceptSize, HelloSize)
	require.Less(t, refuseFixed+MaxRefuseDetail+wire.ChecksumSize, HelloSize)
	for _, answer := range []int{challengeSize, resetSize, refuseFixed + wire.ChecksumSize} {
		require.Less(t, answer, resumeSize)
	}
	require.LessOrEqual(t, HelloSize, DefaultPacketSize)
}

func TestHandshakeCutAtEachByte(t *testing.T) {
	check := handshakeCheck()
	cutEverywhere(t, check, AppendHello(nil, testHello(40)), HelloSize, parseWith(ParseHello))
	cutEverywhere(t, check, AppendChallenge(nil, Challenge{Cookie: Cookie{1}}), challengeSize, parseWith(ParseChallenge))
	cutEverywhere(t, check, AppendAccept(nil, testAccept()), acceptSize, parseWith(ParseAccept))
	cutEverywhere(t, check, AppendRefuse(nil, Refuse{Reason: errs.ReasonFull, Detail: "detail"}), refuseFixed, parseWith(ParseRefuse))
	cutEverywhere(t, check, AppendReset(nil, Reset{Reason: errs.ReasonReset}), resetSize, parseWith(ParseReset))
}

// TestKinds gives every parser every other kind's datagram, resized to its own
// length, and every first byte to KindOf.
func TestKinds(t *testing.T) {
	datagrams := map[Kind][]byte{
		KindHello:     AppendHello(nil, testHello(2)),
		KindChallenge: AppendChallenge(nil, Challenge{Cookie: Cookie{1}}),
		KindAccept:    AppendAccept(nil, testAccept()),
		KindRefuse:    AppendRefuse(nil, Refuse{Reason: errs.ReasonFull}),
		KindReset:     AppendReset(nil, Reset{Reason: errs.ReasonReset}),
	}
	parsers := map[Kind]func([]byte) error{
		KindHello:     parseWith(ParseHello),
		KindChallenge: parseWith(ParseChallenge),
		KindAccept:    parseWith(ParseAccept),
		KindRefuse:    parseWith(ParseRefuse),
		KindReset:     parseWith(ParseReset),
	}
	for kind, datagram := range datagrams {
		require.Equal(t, kind, KindOf(datagram))
		for other, parse := range parsers {
			if other == kind {
				require.NoError(t, parse(datagram))
				continue
			}
			body := make([]byte, len(datagrams[other])-wire.ChecksumSize)
			copy(body, datagram)
			require.ErrorIs(t, parse(seal(handshakeCheck(), body, 0)), ErrMalformed)
		}
		for bit := range 8 * len(datagram) {
			datagram[bit/8] ^= 1 << (bit % 8)
			require.ErrorIs(t, parsers[kind](datagram), ErrChecksum, "bit %d flipped", bit)
			datagram[bit/8] ^= 1 << (bit % 8)
		}
	}
	require.Equal(t, KindUnknown, KindOf(nil))
	for first := range 256 {
		got := KindOf([]byte{byte(first)})
		switch {
		case first < 128:
			require.Equal(t, KindPacket, got)
		case first > 128 && first <= 136:
			require.Equal(t, Kind(first-128), got)
		default:
			require.Equal(t, KindUnknown, got)
		}
	}
}

// TestSessionPacketIsNoHandshake: the checksum of a session with epoch and hash
// zero would be the handshake's, so no session may have epoch 0 (Accept refuses
// it); any other fails both ways.
func TestSessionPacketIsNoHandshake(t *testing.T) {
	c := newTestConn(1, 64)
	_, err := c.Read(AppendAccept(nil, testAccept()), 0, nil)
	require.ErrorIs(t, err, ErrChecksum)
	_, err = openDatagram(finish(t, c, true, 1, 0), KindPacket)
	require.ErrorIs(t, err, ErrChecksum)
}

func TestHandshakeParsersDoNotAllocate(t *testing.T) {
	hello := AppendHello(nil, testHello(300))
	accept := AppendAccept(nil, testAccept())
	challenge := AppendChallenge(nil, Challenge{Cookie: Cookie{1}})
	buf := make([]byte, 0, HelloSize)
	alloctest.Zero(t, 100, func() {
		h, err := ParseHello(hello)
		if err != nil {
			t.Fatal(err)
		}
		buf = AppendHello(buf[:0], h)
		_, _ = ParseAccept(accept)
		_, _ = ParseChallenge(challenge)
	})
}

// fuzzDatagram fuzzes a parser with what is put in (which may have any checksum)
// and with the same under a right one; what parses must encode to the same bytes.
func fuzzDatagram(f *testing.F, seeds [][]byte, again func(t *testing.T, datagram []byte) []byte) {
	for _, seed := range seeds {
		f.Add(seed)
		f.Add(seed[:len(seed)-wire.ChecksumSize])
	}
	f.Fuzz(func(t *testing.T, datagram []byte) {
		for _, b := range [][]byte{datagram, seal(handshakeCheck(), append([]byte(nil), datagram...), 0)} {
			if encoded := again(t, b); encoded != nil {
				require.Equal(t, b, encoded)
			}
		}
	})
}

func FuzzHello(f *testing.F) {
	other := testHello(1)
	other.Version = 9
	seeds := [][]byte{AppendHello(nil, testHello(0)), AppendHello(nil, testHello(40)), AppendHello(nil, testHello(2000)),
		AppendHello(nil, other)}
	fuzzDatagram(f, seeds, func(_ *testing.T, datagram []byte) []byte {
		h, err := ParseHello(datagram)
		for i := range h.Digest.Len() {
			h.Digest.At(i)
		}
		if err != nil || h.Version != Version {
			return nil
		}
		return AppendHello(nil, h)
	})
}

func FuzzChallenge(f *testing.F) {
	seeds := [][]byte{AppendChallenge(nil, Challenge{Nonce: 1, Cookie: Cookie{1}}), AppendChallenge(nil, Challenge{})}
	fuzzDatagram(f, seeds, func(_ *testing.T, datagram []byte) []byte {
		c, err := ParseChallenge(datagram)
		if err != nil {
			return nil
		}
		return AppendChallenge(nil, c)
	})
}

func FuzzAccept(f *testing.F) {
	seeds := [][]byte{AppendAccept(nil, testAccept()), AppendAccept(nil, Accept{})}
	fuzzDatagram(f, seeds, func(_ *testing.T, datagram []byte) []byte {
		a, err := ParseAccept(datagram)
		if err != nil {
			return nil
		}
		return AppendAccept(nil, a)
	})
}

// FuzzJoin reads hostile Joins, each as it is and sealed for a session. The payload is a part of the datagram and never larger than it may be.
func FuzzJoin(f *testing.F) {
	check := wire.NewChecksum(7, 9)
	for _, payload := range [][]byte{nil, []byte("anna"), make([]byte, MaxPayloadOfJoin), make([]byte, MaxPayloadOfJoin+1)} {
		f.Add(AppendJoin(nil, Join{Nonce: 1, Cookie: Cookie{1}, Payload: payload}, check))
	}
	f.Add(AppendJoin(nil, Join{}, check))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		for _, b := range [][]byte{datagram, seal(check, append([]byte(nil), datagram...), 0)} {
			j, err := ParseJoin(b)
			if err != nil {
				continue
			}
			require.LessOrEqual(t, len(j.Payload), MaxPayloadOfJoin)
			if JoinSealed(b, check) {
				require.Equal(t, b, AppendJoin(nil, j, check))
			}
		}
	})
}

// FuzzWelcome reads hostile Welcomes, each as it is and sealed for a session.
func FuzzWelcome(f *testing.F) {
	check := wire.NewChecksum(7, 9)
	f.Add(AppendWelcome(nil, Welcome{Client: 3, Tick: 100, Token: Token{1}}, check))
	f.Add(AppendWelcome(nil, Welcome{}, check))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		for _, b := range [][]byte{datagram, seal(check, append([]byte(nil), datagram...), 0)} {
			if w, err := ParseWelcome(b, check); err == nil {
				require.Equal(t, b, AppendWelcome(nil, w, check))
			}
		}
	})
}

// A Join has any payload up to the limit, and is a Join at no other length.
func TestJoinLengths(t *testing.T) {
	check := wire.NewChecksum(7, 9)
	for n := range MaxPayloadOfJoin + 2 {
		b := AppendJoin(nil, Join{Nonce: 1, Cookie: Cookie{1}, Payload: make([]byte, n)}, check)
		j, err := ParseJoin(b)
		if n > MaxPayloadOfJoin {
			require.ErrorIs(t, err, ErrMalformed)
			continue
		}
		require.NoError(t, err)
		require.Len(t, j.Payload, n)
		require.Equal(t, n, cap(j.Payload), "nobody can append over the checksum")
		require.True(t, JoinSealed(b, check))
	}
	b := AppendJoin(nil, Join{Nonce: 1, Cookie: Cookie{1}}, check)
	for n := range b {
		_, err := ParseJoin(b[:n])
		require.ErrorIs(t, err, ErrMalformed)
	}
}

func FuzzRefuse(f *testing.F) {
	seeds := [][]byte{AppendRefuse(nil, Refuse{Reason: errs.ReasonFull}),
		AppendRefuse(nil, Refuse{Nonce: 1, Reason: errs.ReasonWrongProtocol, Detail: "Position.X differs"})}
	fuzzDatagram(f, seeds, func(_ *testing.T, datagram []byte) []byte {
		r, err := ParseRefuse(datagram)
		if err != nil {
			return nil
		}
		return AppendRefuse(nil, r)
	})
}

func testResume() Resume {
	return Resume{Client: 3, Nonce: 0x1122334455667788, Path: 0x2233445566778899, Number: 7, Cookie: Cookie{1, 2, 3}}
}

func TestResume(t *testing.T) {
	check := wire.NewChecksum(8, 9)
	want := testResume()
	b := AppendResume([]byte("before"), want, check)[6:]
	require.Len(t, b, resumeSize)
	require.Equal(t, KindResume, KindOf(b))
	got, err := ParseResume(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.True(t, ResumeSealed(b, check))
	for at := range b {
		require.False(t, ResumeSealed(b[:at], check))
		_, err := ParseResume(b[:at])
		require.ErrorIs(t, err, ErrMalformed, "cut at byte %d", at)
		b[at] ^= 1
		require.False(t, ResumeSealed(b, check), "byte %d changed", at)
		b[at] ^= 1
	}
	_, err = ParseResume(append(b, 0))
	require.ErrorIs(t, err, ErrMalformed)
	for name, c := range map[string]wire.Checksum{"the other direction": ^check, "another epoch": wire.NewChecksum(7, 9), "another protocol": wire.NewChecksum(8, 8)} {
		require.False(t, ResumeSealed(b, c), name)
	}
	for _, bad := range []Resume{{Nonce: 1, Number: 1}, {Client: 1, Nonce: 1}} {
		_, err := ParseResume(AppendResume(nil, bad, check))
		require.ErrorIs(t, err, ErrMalformed)
	}
}

func TestReset(t *testing.T) {
	want := Reset{Client: 3, Nonce: 4, Path: 5, Reason: 200, Token: Token{7}}
	got, err := ParseReset(AppendReset(nil, want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = ParseReset(AppendReset(nil, Reset{Path: 5}))
	require.ErrorIs(t, err, ErrMalformed, "no reason")
}

func TestResumeDoesNotAllocate(t *testing.T) {
	check := wire.NewChecksum(8, 9)
	buf := make([]byte, 0, HelloSize)
	alloctest.Zero(t, 100, func() {
		buf = AppendResume(buf[:0], testResume(), check)
		if r, err := ParseResume(buf); err != nil || !ResumeSealed(buf, check) || r.Number != 7 {
			t.Fatal(err)
		}
		buf = AppendReset(buf[:0], Reset{Path: 1, Reason: errs.ReasonReset})
		_, _ = ParseReset(buf)
	})
}

func FuzzResume(f *testing.F) {
	check := wire.NewChecksum(8, 9)
	f.Add(AppendResume(nil, testResume(), check))
	f.Add(AppendResume(nil, Resume{}, check))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		r, err := ParseResume(datagram)
		if err != nil {
			return
		}
		again := AppendResume(nil, r, check)
		require.Equal(t, datagram[:len(datagram)-wire.ChecksumSize], again[:len(again)-wire.ChecksumSize])
		require.Equal(t, string(datagram) == string(again), ResumeSealed(datagram, check))
	})
}

func FuzzReset(f *testing.F) {
	seeds := [][]byte{AppendReset(nil, Reset{Path: 1, Reason: errs.ReasonReset, Token: Token{1}}), AppendReset(nil, Reset{})}
	fuzzDatagram(f, seeds, func(_ *testing.T, datagram []byte) []byte {
		r, err := ParseReset(datagram)
		if err != nil {
			return nil
		}
		return AppendReset(nil, r)
	})
}

func TestRefusalIsOnePrintableLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"no such item":                      "no such item",
		"two\nlines":                        "two?lines",
		"\x1b[31mred":                       "?[31mred",
		"\xff":                              "?",
		strings.Repeat("a", 300):            strings.Repeat("a", 200),
		"a" + strings.Repeat("\u00e4", 150): "a" + strings.Repeat("\u00e4", 99),
	} {
		b := AppendRefusal([]byte{7}, text)
		got, err := ParseRefusal(b[1:])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, b := range []string{"\n", "\xff", strings.Repeat("a", 201)} {
		_, err := ParseRefusal([]byte(b))
		require.ErrorIs(t, err, ErrMalformed)
		require.False(t, LegalRefusal([]byte(b)))
	}
}

// FuzzRefusal reads any bytes, and any text makes a refusal that can be read.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte("sold out"))
	f.Add([]byte{0xC3, 0x28, '\r'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := ParseRefusal(b); err == nil {
			require.Equal(t, b, AppendRefusal([]byte{}, text))
		}
		text, err := ParseRefusal(AppendRefusal(nil, string(b)))
		require.NoError(t, err)
		require.True(t, utf8.ValidString(text))
	})
}

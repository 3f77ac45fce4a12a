package peer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
)

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

// A token follows from the key and from the name of the session, and from nothing else.
func TestTokens(t *testing.T) {
	a, again, other := NewTokens([32]byte{1}), NewTokens([32]byte{1}), NewTokens([32]byte{2})
	want := a.Make(3, 4)
	require.True(t, want.Equal(again.Make(3, 4)))
	require.True(t, want.Equal(a.Make(3, 4)), "twice the same")
	for _, differs := range []Token{other.Make(3, 4), a.Make(4, 4), a.Make(3, 5), {}} {
		require.False(t, want.Equal(differs))
	}
	alloctest.Zero(t, 100, func() { a.Make(3, 4) })
}

func TestResumeDoesNotAllocate(t *testing.T) {
	check := wire.NewChecksum(8, 9)
	buf := make([]byte, 0, HelloSize)
	alloctest.Zero(t, 100, func() {
		buf = AppendResume(buf[:0], testResume(), check)
		if r, err := ParseResume(buf); err != nil || !ResumeSealed(buf, check) || r.Number != 7 {
			t.Fatal(err)
		}
		buf = AppendReset(buf[:0], Reset{Path: 1, Reason: ReasonReset})
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
	seeds := [][]byte{AppendReset(nil, Reset{Path: 1, Reason: ReasonReset, Token: Token{1}}), AppendReset(nil, Reset{})}
	fuzzDatagram(f, seeds, func(_ *testing.T, datagram []byte) []byte {
		r, err := ParseReset(datagram)
		if err != nil {
			return nil
		}
		return AppendReset(nil, r)
	})
}

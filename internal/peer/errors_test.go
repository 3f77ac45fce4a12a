package peer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/errs"
)

func TestErrorIsByReason(t *testing.T) {
	var err error = &errs.CloseError{Reason: errs.ReasonFull, Detail: "64 of 64"}
	err = fmt.Errorf("connect: %w", err)
	require.ErrorIs(t, err, errs.ReasonFull)
	require.NotErrorIs(t, err, errs.ReasonKicked)
	var e *errs.CloseError
	require.True(t, errors.As(err, &e))
	require.Equal(t, "server is full: 64 of 64", e.Error())
	require.Equal(t, "kicked", (&errs.CloseError{Reason: errs.ReasonKicked}).Error())
}

func TestEveryReasonHasWords(t *testing.T) {
	seen := map[string]errs.Reason{}
	for _, r := range []errs.Reason{errs.ReasonNone, errs.ReasonClosed, errs.ReasonKicked, errs.ReasonShuttingDown, errs.ReasonTimeout,
		errs.ReasonReplaced, errs.ReasonMalformed, errs.ReasonAckOfUnsent, errs.ReasonQueueOverflow, errs.ReasonRateLimit, errs.ReasonHandlerPanic, errs.ReasonFull,
		errs.ReasonWrongProtocol, errs.ReasonWrongVersion, errs.ReasonHandshakeTimeout} {
		require.NotContains(t, r.String(), "reason 3")
		require.NotContains(t, seen, r.String())
		seen[r.String()] = r
	}
	require.Equal(t, "reason 200", errs.Reason(200).String())
}

func TestCloseReason(t *testing.T) {
	require.Equal(t, errs.ReasonMalformed, CloseReason(ErrMalformed))
	require.Equal(t, errs.ReasonAckOfUnsent, CloseReason(fmt.Errorf("x: %w", ErrAckOfUnsent)))
	for _, err := range []error{nil, ErrChecksum, ErrDuplicate, ErrOld} {
		require.Equal(t, errs.ReasonNone, CloseReason(err))
	}
}

func TestCleanDetail(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		out   string
	}{
		{"", 9, ""},
		{"Position.X: f32, not f64", 99, "Position.X: f32, not f64"},
		{"two\nlines", 99, "two?lines"},
		{"esc\x1b[31m", 99, "esc?[31m"},
		{"bad\xff\xfeutf", 99, "bad?utf"},
		{"\ufffd is legal", 99, "\ufffd is legal"},
		{"cut here", 3, "cut"},
		{"ab\u00f6", 4, "ab\u00f6"},
		{"ab\u00f6", 3, "ab"},
		{"\u00f6", 0, ""},
	} {
		require.Equal(t, c.out, cleanDetail(c.in, c.limit))
	}
}

func TestCleanDetailIsAlwaysLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")) + rapid.String().Draw(t, "more")
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		clean := cleanDetail(text, limit)
		require.LessOrEqual(t, len(clean), limit)
		require.True(t, utf8.ValidString(clean))
		require.True(t, legalDetail([]byte(clean)), "%q", clean)
		require.Equal(t, clean, cleanDetail(clean, limit))
	})
}

func TestClose(t *testing.T) {
	b := AppendClose(nil, errs.CloseError{Reason: errs.ReasonKicked, Detail: "be nice"})
	e, err := ParseClose(b)
	require.NoError(t, err)
	require.Equal(t, errs.CloseError{Reason: errs.ReasonKicked, Detail: "be nice"}, e)

	b = AppendClose(nil, errs.CloseError{Reason: errs.ReasonClosed, Detail: strings.Repeat("x", 5000)})
	require.Len(t, b, 1+MaxCloseDetail)
	_, err = ParseClose(b)
	require.NoError(t, err)

	for _, bad := range [][]byte{nil, {}, {0}, {0, 'x'}, {1, '\n'}, {1, 0xff}, append(b, 'x')} {
		_, err = ParseClose(bad)
		require.ErrorIs(t, err, ErrMalformed)
	}
	e, err = ParseClose([]byte{250})
	require.NoError(t, err, "a reason of a newer version")
	require.Equal(t, errs.Reason(250), e.Reason)
}

func FuzzClose(f *testing.F) {
	f.Add(AppendClose(nil, errs.CloseError{Reason: errs.ReasonKicked, Detail: "be nice"}))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := ParseClose(payload)
		if err != nil {
			return
		}
		require.Equal(t, payload, AppendClose(nil, e))
		require.NotEmpty(t, e.Error())
	})
}

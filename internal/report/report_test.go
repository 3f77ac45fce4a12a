package report

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogIsLimited(t *testing.T) {
	var out bytes.Buffer
	var told int
	r := Reporter{injected: true, logger: slog.New(slog.NewTextHandler(&out, nil)), OnError: []func(error){func(error) { told++ }}}
	for second := range 3 {
		r.Now = time.Duration(second) * time.Second
		for range 1000 {
			r.Error(errors.New("the same again"))
		}
	}
	require.Equal(t, 3000, told)
	require.Equal(t, 30, strings.Count(out.String(), "the same again"))
	require.Contains(t, out.String(), "990")
	require.EqualValues(t, 2970, r.Suppressed)
}

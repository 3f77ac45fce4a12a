package report

import (
	"bytes"
	"errors"
	"log"
	"log/slog"
	"os"
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

// Without a logger a fault that nobody is told of goes to package log, and a nil *slog.Logger is no logger.
func TestWithoutALoggerFaultsGoToPackageLog(t *testing.T) {
	var out bytes.Buffer
	flags := log.Flags()
	log.SetOutput(&out)
	log.SetFlags(0)
	defer func() { log.SetOutput(os.Stderr); log.SetFlags(flags) }()
	var none *slog.Logger
	for _, r := range []Reporter{New(nil), New(none)} {
		out.Reset()
		r.Log(Info, "left out")
		r.Log(Warn, "a line", "client", 3)
		r.Error(errors.New("nobody is told"))
		r.Panicked(errors.New("a fault"), "its stack")
		require.Equal(t, "WARN a line client=3\nWARN nobody is told\nERROR a fault\n\nits stack\n", out.String())
	}
}

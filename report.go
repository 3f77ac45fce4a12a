package netcode

import (
	"context"
	"log/slog"
	"time"
)

// linesPerSecond is how many lines a server or a client logs in a second; more are counted and left out.
const linesPerSecond = 10

// reporter tells the user what happened: errors that have no caller go to OnError, and everything worth a line goes
// to the injected logger, so rarely that no remote end can fill a disk with it.
type reporter struct {
	logger   *slog.Logger
	injected bool // The user wants all lines; else only what nobody else is told goes to the default logger.
	onError  []func(error)

	now     time.Duration
	since   time.Duration // Start of the second that lines are counted in.
	lines   int
	skipped uint64 // Lines left out since the last line.

	errors     uint64
	suppressed uint64
}

// newReporter reports to a logger, or, when it is nil, to the default one what would otherwise be lost.
func newReporter(logger *slog.Logger) reporter {
	if logger == nil {
		return reporter{logger: slog.Default()}
	}
	return reporter{logger: logger, injected: true}
}

// error passes an error to OnError and to the log.
func (r *reporter) error(err error) {
	r.errors++
	if r.injected || len(r.onError) == 0 {
		r.log(slog.LevelWarn, err.Error())
	}
	for _, f := range r.onError {
		f(err)
	}
}

// panicked logs a panic with its stack, whoever else is told, and passes it to OnError.
func (r *reporter) panicked(err *PanicError) {
	r.errors++
	r.log(slog.LevelError, "a handler panicked", "message", err.Name, "sender", err.Sender, "panic", err.Value, "stack", string(err.Stack))
	for _, f := range r.onError {
		f(err)
	}
}

// enabled tells if a line at that level would be wanted at all; it keeps the arguments of log from being made for
// nothing.
func (r *reporter) enabled(level slog.Level) bool {
	return (r.injected || level >= slog.LevelWarn) && r.logger.Enabled(context.Background(), level)
}

// log writes one line unless too many were written in this second.
func (r *reporter) log(level slog.Level, text string, args ...any) {
	if !r.enabled(level) {
		return
	}
	if r.now-r.since >= time.Second || r.since > r.now {
		r.since, r.lines = r.now, 0
	}
	if r.lines >= linesPerSecond {
		r.skipped++
		r.suppressed++
		return
	}
	r.lines++
	if r.skipped > 0 {
		args = append(args, "lines left out", r.skipped)
		r.skipped = 0
	}
	r.logger.Log(context.Background(), level, text, args...)
}

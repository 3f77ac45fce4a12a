package netcode

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// linesPerSecond bounds the lines that a server or a client logs in a second; more are counted and left out.
const linesPerSecond = 10

// reporter tells the user what happened: errors that have no caller go to OnError, and everything worth a line goes
// to the injected logger, so rarely that no remote end can fill a disk with it.
type reporter struct {
	logger   *slog.Logger
	injected bool // The user wants all lines; else only what nobody else is told goes to the default logger.
	onError  []func(error)
	misuses  map[misuse]bool // Looked up only.

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
	if r.injected {
		r.log(slog.LevelError, "a handler panicked", "message", err.Name, "sender", err.Sender, "panic", err.Value, "at", err.At, "stack", string(err.Stack))
	} else {
		r.log(slog.LevelError, err.Error()+"\n\n"+string(err.Stack)) // The default handler writes a text as it is, and quotes what is beside it.
	}
	for _, f := range r.onError {
		f(err)
	}
}

// tell passes an error to OnError alone: the log has a line of its own for it.
func (r *reporter) tell(err error) {
	r.errors++
	for _, f := range r.onError {
		f(err)
	}
}

// misused passes the error of a call on a type that is not registered to OnError and to the log, once for each call and type: the call
// itself has no error to return, and is made in each frame.
func (r *reporter) misused(call string, t reflect.Type, err error) {
	key := misuse{call, t}
	if r.misuses[key] {
		return
	}
	if r.misuses == nil {
		r.misuses = map[misuse]bool{}
	}
	r.misuses[key] = true
	r.error(fmt.Errorf("netcode: %s[%s]: %w", call, t, err))
}

// misuse is a call on a type that is not registered.
type misuse struct {
	call string
	of   reflect.Type
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

package report

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// linesPerSecond bounds the lines that a server or a client logs in a second; more are counted and left out.
const linesPerSecond = 10

// Reporter tells the user what happened: errors that have no caller go to OnError, and everything worth a line goes
// to the injected logger, so rarely that no remote end can fill a disk with it.
type Reporter struct {
	logger   *slog.Logger
	injected bool            // The user wants all lines; else only what nobody else is told goes to the default logger.
	OnError  []func(error)   // Told of each error.
	misuses  map[misuse]bool // Looked up only.

	Now     time.Duration // The present frame's time.
	since   time.Duration // Start of the second that lines are counted in.
	lines   int
	skipped uint64 // Lines left out since the last line.

	Errors     uint64 // Errors passed to OnError.
	Suppressed uint64 // Lines left out.
}

// New reports to a logger, or, when it is nil, to the default one what would otherwise be lost.
func New(logger *slog.Logger) Reporter {
	if logger == nil {
		return Reporter{logger: slog.Default()}
	}
	return Reporter{logger: logger, injected: true}
}

// Error passes an error to OnError and to the log.
func (r *Reporter) Error(err error) {
	r.Errors++
	if r.injected || len(r.OnError) == 0 {
		r.Log(slog.LevelWarn, err.Error())
	}
	for _, f := range r.OnError {
		f(err)
	}
}

// Panicked logs a panic with its stack, whoever else is told, and passes it to OnError. details are for the injected logger.
func (r *Reporter) Panicked(err error, stack string, details ...any) {
	r.Errors++
	if r.injected {
		r.Log(slog.LevelError, "a handler panicked", append(details, "stack", stack)...)
	} else {
		r.Log(slog.LevelError, err.Error()+"\n\n"+stack) // The default handler writes a text as it is, and quotes what is beside it.
	}
	for _, f := range r.OnError {
		f(err)
	}
}

// Tell passes an error to OnError alone: the log has a line of its own for it.
func (r *Reporter) Tell(err error) {
	r.Errors++
	for _, f := range r.OnError {
		f(err)
	}
}

// Misused passes the error of a call on a type that is not registered to OnError and to the log, once for each call and type: the call
// itself has no error to return, and is made in each frame.
func (r *Reporter) Misused(call string, t reflect.Type, err error) {
	key := misuse{call, t}
	if r.misuses[key] {
		return
	}
	if r.misuses == nil {
		r.misuses = map[misuse]bool{}
	}
	r.misuses[key] = true
	r.Error(fmt.Errorf("netcode: %s[%s]: %w", call, t, err))
}

// misuse is a call on a type that is not registered.
type misuse struct {
	call string
	of   reflect.Type
}

// Enabled tells if a line at that level would be wanted at all; it keeps the arguments of log from being made for
// nothing.
func (r *Reporter) Enabled(level slog.Level) bool {
	return (r.injected || level >= slog.LevelWarn) && r.logger.Enabled(context.Background(), level)
}

// Log writes one line unless too many were written in this second.
func (r *Reporter) Log(level slog.Level, text string, args ...any) {
	if !r.Enabled(level) {
		return
	}
	if r.Now-r.since >= time.Second || r.since > r.Now {
		r.since, r.lines = r.Now, 0
	}
	if r.lines >= linesPerSecond {
		r.skipped++
		r.Suppressed++
		return
	}
	r.lines++
	if r.skipped > 0 {
		args = append(args, "lines left out", r.skipped)
		r.skipped = 0
	}
	r.logger.Log(context.Background(), level, text, args...)
}

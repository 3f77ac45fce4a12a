package report

import (
	"fmt"
	"log"
	"reflect"
	"strings"
	"time"
)

// logger is netcode.Logger.
type logger interface {
	Info(text string, args ...any)
	Warn(text string, args ...any)
	Error(text string, args ...any)
}

// Level tells how important a line is.
type Level uint8

// The levels.
const (
	Info Level = iota
	Warn
	Error
)

// linesPerSecond bounds the lines that a server or a client logs in a second; more are counted and left out.
const linesPerSecond = 10

// Reporter tells the user what happened: errors that have no caller go to OnError, and everything worth a line goes
// to the injected logger, so rarely that no remote end can fill a disk with it.
type Reporter struct {
	logger   logger
	injected bool            // The user wants all lines; else only what nobody else is told goes to the standard logger.
	OnError  []func(error)   // Told of each error.
	misuses  map[misuse]bool // Looked up only.

	Now     time.Duration // The present frame's time.
	since   time.Duration // Start of the second that lines are counted in.
	lines   int
	skipped uint64 // Lines left out since the last line.

	Errors     uint64 // Errors passed to OnError.
	Suppressed uint64 // Lines left out.
}

// New reports to a logger, or, when that is nil, to the standard one of package log what would otherwise be lost.
func New(to logger) Reporter {
	if v := reflect.ValueOf(to); to == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return Reporter{logger: standard{}}
	}
	return Reporter{logger: to, injected: true}
}

// Error passes an error to OnError and to the log.
func (r *Reporter) Error(err error) {
	r.Errors++
	if r.injected || len(r.OnError) == 0 {
		r.Log(Warn, err.Error())
	}
	for _, f := range r.OnError {
		f(err)
	}
}

// Panicked logs a panic with its stack, whoever else is told, and passes it to OnError. details are for the injected logger.
func (r *Reporter) Panicked(err error, stack string, details ...any) {
	r.Errors++
	if r.injected {
		r.Log(Error, "a handler panicked", append(details, "stack", stack)...)
	} else {
		r.Log(Error, err.Error()+"\n\n"+stack) // A handler may quote what is beside the text.
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

// Enabled tells if a line at that level would be wanted at all; it keeps the arguments of Log from being made for
// nothing.
func (r *Reporter) Enabled(level Level) bool { return r.injected || level >= Warn }

// Log writes one line unless too many were written in this second.
func (r *Reporter) Log(level Level, text string, args ...any) {
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
	switch level {
	case Info:
		r.logger.Info(text, args...)
	case Warn:
		r.logger.Warn(text, args...)
	default:
		r.logger.Error(text, args...)
	}
}

// standard writes to the standard logger of package log, in the form of slog's default handler.
type standard struct{}

// Info implements Logger.
func (standard) Info(text string, args ...any) { printLine("INFO ", text, args) }

// Warn implements Logger.
func (standard) Warn(text string, args ...any) { printLine("WARN ", text, args) }

// Error implements Logger.
func (standard) Error(text string, args ...any) { printLine("ERROR ", text, args) }

func printLine(level, text string, args []any) {
	var line strings.Builder
	line.WriteString(level + text)
	for ; len(args) > 1; args = args[2:] {
		fmt.Fprintf(&line, " %v=%v", args[0], args[1])
	}
	log.Print(line.String())
}

package report

import (
	"fmt"
	"log"
	"reflect"
	"strings"
	"time"
)

// logger has the methods of netcode.Logger.
type logger interface {
	Info(text string, args ...any)
	Warn(text string, args ...any)
	Error(text string, args ...any)
}

// Level is the importance of a line.
type Level uint8

// Values of Level.
const (
	Info Level = iota
	Warn
	Error
)

// linesPerSecond is the maximum number of lines per second of a server or a client. Further lines are counted and dropped.
const linesPerSecond = 10

// Reporter tells the user what happened. Errors without a caller go to OnError, and important events to the logger. The rate of
// lines is limited, so that no remote end can fill a disk.
type Reporter struct {
	logger   logger
	injected bool            // The user's logger gets all lines; the standard logger only those that nobody else gets.
	OnError  []func(error)   // Called with each error.
	misuses  map[misuse]bool // For lookup only.

	Now     time.Duration // Time of the present frame.
	since   time.Duration // Start of the second in which lines are counted.
	lines   int
	skipped uint64 // Lines dropped since the last line.

	Errors     uint64 // Errors passed to OnError.
	Suppressed uint64 // Lines dropped.
}

// New returns a Reporter with a logger. If it is nil, errors that nobody else gets go to the standard logger of package log.
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

// Panicked logs a panic with its stack, always, and passes it to OnError. details are for an injected logger only.
func (r *Reporter) Panicked(err error, stack string, details ...any) {
	r.Errors++
	if r.injected {
		r.Log(Error, "a handler panicked", append(details, "stack", stack)...)
	} else {
		// Without details: a handler may put private data into them.
		r.Log(Error, err.Error()+"\n\n"+stack)
	}
	for _, f := range r.OnError {
		f(err)
	}
}

// Tell passes an error to OnError only: the caller logs it itself.
func (r *Reporter) Tell(err error) {
	r.Errors++
	for _, f := range r.OnError {
		f(err)
	}
}

// Misused reports a call on a type that is not registered, once for each call and type. Such a call has no error result and is
// often made in each frame.
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

// Enabled reports whether lines of a level are logged. Callers check it before they compute the arguments of Log.
func (r *Reporter) Enabled(level Level) bool { return r.injected || level >= Warn }

// Log writes one line, unless the limit of this second is reached.
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

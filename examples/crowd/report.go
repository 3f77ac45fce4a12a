package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// ClientLine is one client's line of the table. Rates are of the last second and as the server counts them,
// or as the client counts them where there is no server in the process.
type ClientLine struct {
	Number  int
	State   worldState
	InStep  bool
	Packets float64 // received by the client, per second
	Bytes   float64 // payload bytes of these packets, per second
	RTT     time.Duration
	Jitter  time.Duration
	Loss    float64 // 0..1
	Acks    float64 // packets of this end that the other end acknowledged, per second
}

// worldState is comparable from outside: a tick and the hash of the world at it.
type worldState struct {
	Tick     tick.Tick
	Hash     uint64
	Entities int // replicated ones
}

// String is the form that every process prints.
func (s worldState) String() string { return fmt.Sprintf("tick %d hash %016x", s.Tick, s.Hash) }

// ServerLine is the table's first line.
type ServerLine struct {
	State    worldState
	Second   float64
	P50, P99 time.Duration
	Rows     float64 // rows changed, per tick
	Clients  int     // connected
	InStep   int     // of them
}

// Lines around a table on a terminal.
const (
	noWrap = "\x1b[?7l"
	wrap   = "\x1b[?7h"
)

// Table prints the state of the run once a second. A terminal shows it in place; a pipe gets lines.
type Table struct {
	out    io.Writer
	redraw bool
	lines  int // on the terminal, to be drawn over
	text   strings.Builder
}

func newTable(out io.Writer) *Table { return &Table{out: out, redraw: isTerminal(out)} }

// isTerminal needs no dependency: a terminal is a character device that is not the null device, and drawing
// into the null device harms nobody.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Print shows one second. Either part may be missing: nil server, no clients.
func (t *Table) Print(server *ServerLine, clients []ClientLine) error {
	t.text.Reset()
	if t.redraw {
		t.text.WriteString(noWrap) // a line that is too long is cut: wrapped, it would be two
		if t.lines > 0 {
			fmt.Fprintf(&t.text, "\x1b[%dA\x1b[J", t.lines)
		}
	}
	t.lines = len(clients)
	if server != nil {
		t.lines++
		fmt.Fprintf(&t.text, "server   %v  %d/%d in step  %5.1f s  tick p50 %4d us  p99 %4d us  %6.1f rows/tick\n",
			server.State, server.InStep, server.Clients, server.Second,
			server.P50.Microseconds(), server.P99.Microseconds(), server.Rows)
	}
	for i := range clients {
		c := &clients[i]
		step := "in step"
		if !c.InStep {
			step = "behind "
		}
		fmt.Fprintf(&t.text, "client %d %v  %s  %3.0f packets/s  %5.1f kB/s  rtt %5.1f+-%4.1f ms  loss %4.1f %%  %3.0f acks/s\n",
			c.Number, c.State, step, c.Packets, c.Bytes/1000, inMilliseconds(c.RTT), inMilliseconds(c.Jitter),
			100*c.Loss, c.Acks)
	}
	if t.redraw {
		t.text.WriteString(wrap)
	}
	_, err := io.WriteString(t.out, t.text.String())
	return err
}

// Say prints a line that stays.
func (t *Table) Say(format string, args ...any) {
	t.lines = 0
	_, _ = fmt.Fprintf(t.out, format+"\n", args...) // nobody to tell when the output itself is gone
}

// complaints says the first few errors of one world and then falls silent: one value that cannot be sent would fill
// the screen.
type complaints struct {
	table *Table
	who   string
	count int
}

const mostComplaints = 5

func (c *complaints) hear(err error) {
	switch c.count++; {
	case c.count < mostComplaints:
		c.table.Say("%s: %v", c.who, err)
	case c.count == mostComplaints:
		c.table.Say("%s: %v (and no more of these)", c.who, err)
	}
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

package fleet

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/arche-netcode/netcode"
)

// Config has the settings of a Member. The zero value means the defaults. All functions but Checkpoint are called in the loop.
type Config struct {
	// Empty ends a match that has no players, also one to which none came, after this time; default 30 s, below 0 never. Players that are
	// away count. Let it be longer than netcode.Config.Keep is useful to you, and than a token lives.
	Empty time.Duration
	// Drain bounds the time from SIGTERM, or Ctrl-C, or the fleet's order, to the end; default 2 min. Without players the server ends at
	// once.
	Drain time.Duration
	// Health is the time between two calls of Lifecycle.Health; default 2 s. Beyond it without a tick the server is not healthy.
	Health time.Duration
	// Single lets the server end when its last match is over, so that the fleet starts a fresh process. Default: it is ready again.
	Single bool

	// Approve decides about a player whose ticket is good, as the function of Server.OnApprove does. Default: Accept with the
	// user of its connect token. Attach takes OnApprove for itself: do not call that.
	Approve func(a *netcode.Approval, ticket Ticket)
	// OnMatch is called for a match that was allocated, before any of its players connects.
	OnMatch func(match Match)
	// OnOver is called for a match that is over.
	OnOver func(match Match)
	// OnDrain is called when a drain begins. left is the time that players have at most: tell them.
	OnDrain func(left time.Duration)
	// Move moves a player to another server in a drain, by a connect token that names it: the guide does it with package handover. It is called once for each player, and again
	// after an error, and with another token after Member.MoveAgain. The player leaves when the other server has it. Without Move, or with a Lifecycle that is no Destinations, players
	// stay until they leave or Drain is over.
	Move func(client netcode.ClientID, token []byte) error

	// Checkpoint stores what record.Save wrote at the end of a drain, with the matches that were not over. It is called in another
	// goroutine, after the last frame with players. File makes one. Default: nothing is saved.
	Checkpoint func(matches []Match, saved []byte) error

	Logger *slog.Logger // Default: slog.Default.
}

// Defaults of Config.
const (
	defaultEmpty  = 30 * time.Second
	defaultDrain  = 2 * time.Minute
	defaultHealth = 2 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Empty == 0 {
		c.Empty = defaultEmpty
	}
	if c.Drain == 0 {
		c.Drain = defaultDrain
	}
	if c.Health == 0 {
		c.Health = defaultHealth
	}
	if c.Approve == nil {
		c.Approve = func(a *netcode.Approval, _ Ticket) { a.Accept(a.User) }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// File returns a function for Config.Checkpoint that replaces a file. systems.Load reads it at the next start.
func File(name string) func(matches []Match, saved []byte) error {
	return func(_ []Match, saved []byte) (err error) {
		f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
		if err != nil {
			return err
		}
		if err := errors.Join(writeAll(f, saved), f.Sync(), f.Close()); err != nil {
			return errors.Join(err, os.Remove(f.Name()))
		}
		return os.Rename(f.Name(), name)
	}
}

func writeAll(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

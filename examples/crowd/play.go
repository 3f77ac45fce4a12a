package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// playback is a server that plays a recording.
type playback struct {
	runner   *systems.Runner
	player   *record.Player
	socket   *udp.Conn
	stopPage func() error // Nil: nothing is played.
}

// newPlayback listens at an address, and serves the inspector at another one unless that is empty.
func newPlayback(file io.ReadSeeker, address, page string, out io.Writer) (*playback, error) {
	reader, err := record.NewReader(file)
	if err != nil {
		return nil, err
	}
	p, hz := &playback{}, reader.Header().TickRate
	server, err := netcode.NewServer(newProtocol(nil, nil, nil), netcode.Config{TickRate: hz, Clients: wire.MaxClients})
	if err != nil {
		return nil, err
	}
	server.OnError(func(err error) { fmt.Fprintln(out, err) })
	if p.player, err = record.Play(server, file); err != nil {
		return nil, err
	}
	if p.socket, err = udp.Listen(address, udp.Config{}); err != nil {
		return nil, err
	}
	if err := server.MayListen(p.socket); err != nil {
		return p, err
	}
	group := systems.NewServer(server, p.socket, systems.WallClock())
	var shown systems.Group
	if shown, p.stopPage, err = live.Show(group, page, out); err == nil {
		p.runner = systems.NewRunner(nil, shown, hz*framesPerTick)
	}
	return p, err
}

// close closes the socket and the page.
func (p *playback) close() error {
	err := p.socket.Close()
	if p.stopPage != nil {
		err = errors.Join(err, p.stopPage())
	}
	return err
}

// obey does what a line says, and returns where the recording is.
func (p *playback) obey(line string) string {
	var t tick.Tick
	var times float64
	switch {
	case line == "pause":
		p.player.Pause(true)
	case line == "go":
		p.player.Pause(false)
	case scans(line, "seek %d", &t):
		p.player.Seek(t)
	case scans(line, "speed %g", &times):
		if err := p.player.SetSpeed(times); err != nil {
			return err.Error()
		}
	default:
		return "pause, go, seek TICK, speed TIMES; Ctrl-C ends"
	}
	return fmt.Sprintf("tick %d of %d to %d", p.player.Tick(), p.player.First(), p.player.Last())
}

func scans(line, format string, to any) bool {
	_, err := fmt.Sscanf(line, format, to)
	return err == nil
}

// runPlayback is the command play: it serves a recording until ctx is done, and obeys lines from in.
func runPlayback(ctx context.Context, args []string, in io.Reader, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("play", flag.ContinueOnError)
	flags.SetOutput(complaints)
	address := flags.String("addr", "127.0.0.1:9000", "serve clients at this `address`")
	page := flags.String("inspect", "", "show the server in a browser, at this `address` of this machine, as 127.0.0.1:6060")
	length := flags.Duration("for", 0, "end after this `time`; 0: at Ctrl-C")
	if err := usage.Parse(flags, args, usage.Takes{"addr": "an address", "inspect": "an address", "for": "a time", "": "a recording"}); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return usage.Errorf("play wants a recording, as in play -addr 127.0.0.1:9000 game.recording")
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := newPlayback(file, *address, *page, out)
	if err != nil {
		if p != nil {
			err = errors.Join(err, p.close())
		}
		return err
	}
	fmt.Fprintf(out, "%s: ticks %d to %d, at %v\n", flags.Arg(0), p.player.First(), p.player.Last(), p.socket.LocalAddr())
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			p.runner.Do(func() { fmt.Fprintln(out, p.obey(lines.Text())) })
		}
	}()
	if *length > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, *length)
		defer stop()
	}
	return errors.Join(p.runner.Run(ctx), p.close())
}

// runTap is the command tap: it writes the datagrams of a capture file as text.
func runTap(args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("tap", flag.ContinueOnError)
	flags.SetOutput(complaints)
	log := flags.String("keylog", "", "the key log `file` of sessions over transport/secure, as crowd -keylog writes it")
	filters := inspect.Flags(flags)
	if err := usage.Parse(flags, args, usage.Takes{"keylog": "a key log", "client": "a number or an address", "entity": "an index or an id", "component": "a part of a name", "": "a capture file"}); err != nil {
		return err
	}
	filter, err := filters()
	switch {
	case err != nil:
		return usage.Errorf("%w", err)
	case flags.NArg() != 1:
		return usage.Errorf("tap wants a capture file, as in tap session.pcap")
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		return err
	}
	defer file.Close()
	if *log == "" {
		return inspect.Tap(out, newProtocol(nil, nil, nil), file, nil, filter)
	}
	logged, err := os.Open(*log)
	if err != nil {
		return err
	}
	defer logged.Close()
	keys, err := secure.ReadKeyLog(logged)
	if err != nil {
		return fmt.Errorf("%s: %w", *log, err)
	}
	return inspect.Tap(out, newProtocol(nil, nil, nil), file, keys, filter)
}

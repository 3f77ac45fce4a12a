// Command shards is a world of four areas, each a match of a process of its own. Bots walk through gates from one to the other and go on playing
// (package handover); what they say and score is known in all areas (fleet/nats). With -kill a process is killed now and then, and a spare one takes
// its area over.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// board is the match in which the censuses come together.
const board = "board"

// options are the flags.
type options struct {
	bots    int
	seconds int
	kill    time.Duration
	url     string
}

func main() {
	if name := os.Getenv("SHARD_NAME"); name != "" {
		if err := child(name); err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.IntVar(&o.bots, "bots", 200, "players that walk through the world")
	flag.IntVar(&o.seconds, "seconds", 30, "how long they walk")
	flag.DurationVar(&o.kill, "kill", 0, "kill the process of an area so often; 0 is never")
	flag.StringVar(&o.url, "nats", "", "the `URL` of a NATS cluster; empty embeds a server")
	flag.Parse()
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	if err := supervise(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child runs a process of the fleet until the supervisor is gone.
func child(name string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	number := -1
	if text := os.Getenv("SHARD_AREA"); text != "" {
		if _, err := fmt.Sscan(text, &number); err != nil {
			return err
		}
	}
	var key [32]byte
	if n, err := hex.Decode(key[:], []byte(os.Getenv("SHARD_KEY"))); err != nil || n != len(key) {
		return errors.New("SHARD_KEY is no key")
	}
	return serve(ctx, os.Getenv("SHARD_NATS"), name, number, key)
}

// world is the supervisor: its node, its processes, the board.
type world struct {
	node  *nats.Node
	match *nats.Match
	loop  *systems.Runner
	url   string
	key   string
	made  int

	mu       sync.Mutex
	serving  [areas]*exec.Cmd
	all      []*exec.Cmd
	census   [areas]Census
	kills    int
	takeOver time.Duration // The longest.
}

// supervise starts four processes and a spare one, and the bots. It returns an error if a bot is lost, or twice in the world, at the end.
func supervise(ctx context.Context, o options, out io.Writer) error {
	w := &world{url: o.url}
	var key [32]byte
	_, _ = rand.Read(key[:])
	w.key = hex.EncodeToString(key[:])
	if err := w.open(ctx); err != nil {
		return err
	}
	defer w.close()
	for i := range areas {
		if err := w.start(i); err != nil {
			return err
		}
	}
	if err := w.start(-1); err != nil {
		return err
	}
	count := &tally{}
	var bots []*bot
	for i := range o.bots {
		bots = append(bots, newBot(w.node, i, count))
	}
	walking, end := context.WithTimeout(ctx, time.Duration(o.seconds)*time.Second)
	defer end()
	if o.kill > 0 {
		go w.killNowAndThen(walking, o.kill)
	}
	run(walking, bots, w.loop.Step)
	for _, b := range bots {
		b.rest = true
	}
	settle, done := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer done()
	var verdict string
	run(settle, bots, func() {
		w.loop.Step()
		if verdict = w.judge(bots); verdict == "" {
			done()
		}
	})
	return w.report(out, count, verdict)
}

// open opens the node and the board.
func (w *world) open(ctx context.Context) (err error) {
	messages := nats.NewMessages()
	nats.Handle(messages, func(_ *nats.Context, m *Census) {
		if m.Area < areas {
			w.census[m.Area] = *m
		}
	}, tick.Update)
	w.node, err = nats.Start(ctx, nats.Config{
		Server: "board", URL: w.url, Embed: nats.Embed{Listen: "127.0.0.1:0"}, Messages: messages, Queue: 1 << 14,
		OnError: func(err error) { fmt.Fprintln(os.Stderr, err) },
	})
	if err != nil {
		return err
	}
	if w.url == "" {
		w.url = w.node.NATS()
	}
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{TickRate: tickRate})
	if err != nil {
		return err
	}
	w.match, err = w.node.Open(ctx, nats.MatchConfig{ID: board, Group: systems.NewServer(server, systems.Offline{}, systems.WallClock())})
	if err == nil {
		w.loop = systems.NewRunner(nil, w.match, tickRate)
	}
	return err
}

// start starts a process, with an area or as a spare one, and waits until it is ready.
func (w *world) start(number int) error {
	w.made++
	name := fmt.Sprint("shard-", w.made)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self) //nolint:noctx // It ends with its input.
	c.Env = append(os.Environ(), "SHARD_NAME="+name, "SHARD_NATS="+w.url, "SHARD_KEY="+w.key)
	if number >= 0 {
		c.Env = append(c.Env, fmt.Sprint("SHARD_AREA=", number))
	}
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil {
		return err
	}
	lines, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	w.mu.Lock()
	w.all = append(w.all, c)
	w.mu.Unlock()
	ready := make(chan error, 1)
	want := "ready"
	if number >= 0 {
		want = "serves"
	}
	go func() {
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			if rest, ok := strings.CutPrefix(scan.Text(), "serves "); ok {
				w.serves(c, rest)
			}
			if strings.HasPrefix(scan.Text(), want) && want != "" {
				want = ""
				ready <- nil
			}
		}
		if want != "" {
			ready <- errors.New(name + " ended before it was ready")
		}
	}()
	return <-ready
}

// serves notes which process has an area.
func (w *world) serves(c *exec.Cmd, text string) {
	var number int
	if _, err := fmt.Sscan(text, &number); err == nil && number < areas {
		w.mu.Lock()
		w.serving[number] = c
		w.mu.Unlock()
	}
}

// killNowAndThen kills the process of one area after the other. The spare process takes the area; a new one is started in its place.
func (w *world) killNowAndThen(ctx context.Context, every time.Duration) {
	for number := 0; ; number = (number + 1) % areas {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		w.mu.Lock()
		victim := w.serving[number]
		w.kills++
		w.mu.Unlock()
		_ = victim.Process.Kill()
		at := time.Now()
		for taken := false; !taken; time.Sleep(10 * time.Millisecond) {
			w.mu.Lock()
			taken = w.serving[number] != victim
			w.mu.Unlock()
		}
		w.mu.Lock()
		w.takeOver = max(w.takeOver, time.Since(at))
		w.mu.Unlock()
		if err := w.start(-1); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
}

// judge tells what is wrong with the world now; empty: each bot is in one area, and the directory says so too.
func (w *world) judge(bots []*bot) string {
	in := map[string][]int{}
	for i, c := range w.census {
		for _, user := range c.Users {
			in[user] = append(in[user], i)
		}
	}
	for _, b := range bots {
		if len(in[b.name]) != 1 {
			p, _ := w.node.Player(b.name)
			return fmt.Sprintf("%s has bodies in areas %v, and is in %s", b.name, in[b.name], p.Match)
		}
		if _, ok := b.body(); !ok {
			return b.name + " does not see itself"
		}
		if _, ok := w.node.Player(b.name); !ok {
			return b.name + " is not in the directory"
		}
	}
	return ""
}

// report prints what has happened.
func (w *world) report(out io.Writer, count *tally, verdict string) error {
	var moved, failed, held uint32
	var points [areas]uint32
	for i, c := range w.census {
		moved, failed, held = moved+c.Moved, failed+c.Failed, held+c.Held
		points[i] = c.Points
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.node.Stats()
	_, _ = fmt.Fprintf(out, "moves: %d at the servers that live now, %d ended without; %d switches seen by bots, %d failures told to them\n", moved, failed, count.switches, count.failed)
	_, _ = fmt.Fprintf(out, "score by area: %v; said %d, heard %d; frames held %d\n", points, count.said, count.heard, held)
	_, _ = fmt.Fprintf(out, "kills: %d, an area is back after %v at most; %d joined anew, %d to an area that went on from a checkpoint\n",
		w.kills, w.takeOver.Round(time.Millisecond), count.rejoins, count.resumed)
	_, _ = fmt.Fprintf(out, "messages at the board: %d handled, %d dropped\n", s.Handled, s.Full+s.Greedy+s.Late+s.Slow+s.Malformed)
	if verdict != "" {
		return errors.New(verdict)
	}
	_, _ = fmt.Fprintln(out, "each bot is in one area")
	return nil
}

// close ends all processes and the node.
func (w *world) close() {
	w.mu.Lock()
	all := w.all
	w.mu.Unlock()
	for _, c := range all {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	_ = w.node.Close()
}

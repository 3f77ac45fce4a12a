package supervisor

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/arche-netcode/netcode/fleet/internal/link"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/transport/secure"
)

// state is the state of a process.
type state string

const (
	starting state = "starting"
	ready    state = "ready"
	draining state = "draining"
)

// process is a server that was started. Supervisor.mu guards it.
type process struct {
	s      *Supervisor
	name   string
	port   int
	build  *build
	secret string
	key    secure.Key
	cmd    *exec.Cmd
	seat   int // -1: a candidate, or one that was replaced.

	state   state
	began   time.Time
	until   time.Time // The end of a drain.
	health  time.Time // The newest word that its ticks run.
	status  link.Report
	lock    *schema.Lock // Nil: not told.
	queue   []link.Event // Those that it has not heard.
	told    uint64       // The number of the newest event.
	news    chan struct{}
	done    chan struct{} // Closed when it has ended.
	linked  bool          // It said hello.
	expired bool          // It was killed.
	matches int           // Matches of Supervisor.matches.
}

const (
	// maxQueue bounds the events that wait for a process.
	maxQueue = 8192
	// grace is the time after Config.Drain in which a process tells its players and ends.
	grace = 10 * time.Second
)

// start starts a process of a build. The caller holds the lock.
func (s *Supervisor) start(b *build, seat int, now time.Time) error {
	port := s.freePort()
	if port == 0 {
		return fmt.Errorf("no port is free")
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	key, err := secure.NewKey()
	if err != nil {
		return err
	}
	s.serial++
	p := &process{
		s: s, name: fmt.Sprintf("game-%d", s.serial), port: port, build: b, secret: hex.EncodeToString(secret[:]), key: key, seat: seat,
		state: starting, began: now, health: now, news: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p.cmd = exec.Command(b.file, s.config.Command[1:]...)
	p.cmd.Env = append(os.Environ(), link.Variable+"="+s.urlOf(p.secret))
	p.cmd.WaitDelay = time.Second
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		_ = in.Close()
		return err
	}
	go s.copyLines(p.name, out)
	s.processes, s.bySecret[p.secret] = append(s.processes, p), p
	if seat >= 0 {
		s.seats[seat].process = p
	}
	s.counts.starts++
	s.note("%s started at port %d, build %s, process %d", p.name, port, b.hash, p.cmd.Process.Pid)
	go func() {
		err := p.cmd.Wait()
		_ = in.Close()
		s.exited(p, err)
	}()
	return nil
}

// copyLines copies lines with the name of their process, until the process has ended. Too long ones are cut.
func (s *Supervisor) copyLines(name string, from *io.PipeReader) {
	defer from.Close()
	in := bufio.NewReaderSize(from, 4<<10)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			s.out.Lock()
			_, _ = fmt.Fprintf(s.config.Out, "%s: %s", name, line)
			if line[len(line)-1] != '\n' {
				_, _ = io.WriteString(s.config.Out, "\n")
			}
			s.out.Unlock()
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// send queues an event for a process.
func (p *process) send(e link.Event) bool {
	if len(p.queue) >= maxQueue {
		return false
	}
	p.told++
	e.N = p.told
	p.queue = append(p.queue, e)
	select {
	case p.news <- struct{}{}:
	default:
	}
	return true
}

// startDrain lets a process drain: by its stream of events, and by a signal if it has none.
func (p *process) startDrain(now time.Time) {
	if p.state == draining {
		return
	}
	p.state, p.until = draining, now.Add(p.s.config.Drain+grace)
	p.send(link.Event{Kind: "drain"})
	if !p.linked {
		if p.cmd.Process.Signal(syscall.SIGTERM) != nil {
			_ = p.cmd.Process.Kill() // Windows has no SIGTERM.
		}
	}
	p.s.note("%s drains", p.name)
}

// kill ends a process that does not answer.
func (p *process) kill(why string) {
	if p.expired {
		return
	}
	p.expired = true
	p.s.counts.killed++
	p.s.note("%s is killed: %s", p.name, why)
	_ = p.cmd.Process.Kill() // It has ended already.
}

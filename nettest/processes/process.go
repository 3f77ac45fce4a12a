package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// silence is the time after which a session without a packet ends: more than a busy machine keeps a process waiting, and less than the stops.
const silence = 8 * time.Second

// patience bounds a wait for what takes a moment on an idle machine: it is no limit of speed.
const patience = 60 * time.Second

// process is a child.
type process struct {
	command *exec.Cmd
	input   io.Closer
	mutex   sync.Mutex
	newest  report
	reports int
	longest float64 // ms: Longest of all reports
}

// start starts a process in a role.
func start(role string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(self)}
	p.command.Env = append(os.Environ(), roleVariable+"="+role)
	p.command.Stderr = os.Stderr
	if p.input, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.read(output)
	return p, nil
}

// read takes in the reports.
func (p *process) read(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			p.mutex.Lock()
			p.newest = r
			p.reports++
			p.longest = max(p.longest, r.Longest)
			p.mutex.Unlock()
		}
	}
}

// last returns the newest report.
func (p *process) last() report {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.newest
}

// count returns the number of reports.
func (p *process) count() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.reports
}

// goesOn waits until the process has run frames.
func (p *process) goesOn() error {
	seen := p.count()
	_, err := await("the process goes on", patience, func() bool { return p.count() > seen+2 })
	return err
}

// signal sends a signal.
func (p *process) signal(s os.Signal) { _ = p.command.Process.Signal(s) }

// kill ends the process at once, as kill -9 does.
func (p *process) kill() {
	p.signal(os.Kill)
	_ = p.input.Close()
	_ = p.command.Wait()
}

// await waits until a condition holds, and returns how long that took.
func await(what string, limit time.Duration, done func() bool) (time.Duration, error) {
	began := time.Now()
	for !done() {
		if time.Since(began) > limit {
			return 0, fmt.Errorf("not within %v: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began), nil
}

// game is a server and honest clients, each a process.
type game struct {
	server  *process
	address string
	honest  []*process
}

// newGame starts a server and clients and waits until they are in step. The clients connect to the address that via returns for the
// server's; nil is the server itself.
func newGame(listen string, clients int, via func(server string) (string, error)) (*game, error) {
	server, err := start("server " + listen)
	if err != nil {
		return nil, err
	}
	g := &game{server: server}
	if _, err := await("the server listens", patience, func() bool { return server.count() > 0 }); err != nil {
		return nil, errors.Join(err, g.end())
	}
	g.address = server.last().Address
	to := g.address
	if via != nil {
		if to, err = via(to); err != nil {
			return nil, errors.Join(err, g.end())
		}
	}
	for range clients {
		c, err := start("client " + to)
		if err != nil {
			return nil, errors.Join(err, g.end())
		}
		g.honest = append(g.honest, c)
	}
	if _, err := g.inStep(patience); err != nil {
		return nil, errors.Join(err, g.end())
	}
	return g, nil
}

// inStep waits until each honest client has all entities and the state of now.
func (g *game) inStep(limit time.Duration) (time.Duration, error) {
	return await("all clients are in step", limit, func() bool {
		now := g.server.last().Tick
		for _, c := range g.honest {
			if r := c.last(); r.Connected == 0 || r.Entities != entities || r.Tick+30 < now || now == 0 {
				return false
			}
		}
		return true
	})
}

// over returns how many sessions of the honest clients ended.
func (g *game) over() (n int) {
	for _, c := range g.honest {
		n += c.last().Over
	}
	return n
}

// faultless returns an error if sessions of honest clients ended since there were so many, unless the machine kept a process from its frames for
// so long that packets may have been missing.
func (g *game) faultless(before int) error {
	longest := 0.
	for _, p := range append([]*process{g.server}, g.honest...) {
		p.mutex.Lock()
		longest = max(longest, p.longest)
		p.mutex.Unlock()
	}
	if ended := g.over() - before; ended > 0 && longest < silence.Seconds()*1000/4 {
		return fmt.Errorf("%d sessions of honest clients ended, and no process waited for longer than %.0f ms", ended, longest)
	}
	return nil
}

// end kills all processes.
func (g *game) end() error {
	for _, p := range append([]*process{g.server}, g.honest...) {
		p.kill()
	}
	return nil
}

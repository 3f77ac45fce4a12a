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

// silence is the session timeout. It is longer than a busy machine delays a process, and shorter than the suspensions.
const silence = 8 * time.Second

// patience is the maximum wait for something that takes a moment on an idle machine. It is no speed limit.
const patience = 60 * time.Second

// process is a child process.
type process struct {
	command *exec.Cmd
	input   io.Closer
	mutex   sync.Mutex
	newest  report
	reports int
	longest float64 // ms: maximum of Longest in all reports
}

// start starts a child process in a role.
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

// read reads the reports.
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

// goesOn waits until the process has run frames again.
func (p *process) goesOn() error {
	seen := p.count()
	_, err := await("the process goes on", patience, func() bool { return p.count() > seen+2 })
	return err
}

// signal sends a signal.
func (p *process) signal(s os.Signal) { _ = p.command.Process.Signal(s) }

// kill ends the process at once, like kill -9.
func (p *process) kill() {
	p.signal(os.Kill)
	_ = p.input.Close()
	_ = p.command.Wait()
}

// await waits until a condition holds, and returns the time that took.
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

// game is a server and honest clients, each in its own process.
type game struct {
	server  *process
	address string
	honest  []*process
}

// newGame starts a server and clients and waits until they are in step. via maps the server's address to the address to which
// clients connect; nil means the server itself.
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

// inStep waits until each honest client has all entities and the current state.
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

// over returns the number of ended sessions of the honest clients.
func (g *game) over() (n int) {
	for _, c := range g.honest {
		n += c.last().Over
	}
	return n
}

// faultless returns an error if more than before sessions of honest clients ended in total. Ended sessions are no error if the
// machine delayed a process so long that packets may have been missed.
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

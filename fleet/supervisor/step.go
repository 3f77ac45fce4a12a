package supervisor

import (
	"errors"
	"os/exec"
	"slices"
	"time"
)

// unseenMatch is the time after which a match is forgotten that its server never reported.
const unseenMatch = 30 * time.Second

// step does what is due. It returns true when the supervisor stops and all processes have ended.
func (s *Supervisor) step(now time.Time) (over bool) {
	s.pollBuild(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range slices.Clone(s.processes) {
		p.judge(now)
	}
	for id, m := range s.matches {
		if !m.seen && now.Sub(m.began) > unseenMatch {
			s.forget(id)
		}
	}
	if s.stopping {
		return len(s.processes) == 0
	}
	for i := range s.seats {
		seat := &s.seats[i]
		if seat.process != nil || now.Before(seat.retry) {
			continue
		}
		if err := s.start(s.build, i, now); err != nil {
			s.note("a server cannot start: %v", err)
			s.failed(seat, now)
		}
	}
	s.stepRollout(now)
	return false
}

// judge kills a process that is late.
func (p *process) judge(now time.Time) {
	c := &p.s.config
	switch {
	case p.state == starting && now.Sub(p.began) > c.Start:
		p.kill("it was not ready in time: does it call local.Open and fleet.Attach?")
	case p.state == draining && now.After(p.until):
		p.kill("its drain took too long")
	case p.state != starting && p.linked && now.Sub(p.health) > c.Health:
		p.kill("its ticks stand still")
	}
}

// failed makes the pause of a seat longer.
func (s *Supervisor) failed(seat *seat, now time.Time) {
	seat.pause = min(max(2*seat.pause, s.config.Restart), lastRestart)
	seat.retry = now.Add(seat.pause)
}

// exited notes the end of a process.
func (s *Supervisor) exited(p *process, err error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.poke()
	s.processes = slices.DeleteFunc(s.processes, func(other *process) bool { return other == p })
	delete(s.bySecret, p.secret)
	for id, m := range s.matches {
		if m.process == p {
			delete(s.matches, id)
		}
	}
	p.matches = 0
	close(p.done)
	lived := now.Sub(p.began)
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		s.note("%s ended in order", p.name)
	case errors.As(err, &exit):
		s.note("%s ended: %v", p.name, exit)
	default:
		s.note("%s ended: %v", p.name, err)
	}
	if err != nil {
		s.counts.crashes++
	}
	if p == s.rollout.candidate {
		s.candidateEnded(now)
	}
	if p.seat < 0 {
		return
	}
	seat := &s.seats[p.seat]
	seat.process = nil
	if lived >= lastRestart {
		seat.pause = 0
	}
	if err != nil || lived < time.Second {
		s.failed(seat, now)
	} else {
		seat.retry = now
	}
}

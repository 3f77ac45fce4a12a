package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/schema"
)

// build is the contents of the program's file.
type build struct {
	hash string // The first 12 hexadecimal digits of SHA-256; empty for a program that is not copied.
	file string // The copy that is run.
	size int64
	time time.Time
}

// rollout replaces the processes of one build by those of another, one by one.
type rollout struct {
	next      *build   // The build that is tried or rolled out; nil: none.
	candidate *process // Its newest process, which has no seat yet.
	old       *process // The process that drains for it.
	retry     time.Time
	pause     time.Duration
	polled    time.Time
	seen      os.FileInfo // The file at the last look, if it has changed.
	failed    string      // Why the newest build was rejected.
}

// readBuild reads the program's file and copies it. A program of the PATH is run as it is.
func (s *Supervisor) readBuild() (*build, error) {
	name := s.config.Command[0]
	if s.folder == "" {
		file, err := exec.LookPath(name)
		return &build{file: file}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("supervisor: the program: %w", err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("supervisor: the program: %w", err)
	}
	if info.Mode()&0o111 == 0 && filepath.Ext(name) != ".exe" {
		return nil, fmt.Errorf("supervisor: the program %s is not executable", name)
	}
	sum := sha256.Sum256(text)
	b := &build{hash: hex.EncodeToString(sum[:6]), size: info.Size(), time: info.ModTime()}
	b.file = filepath.Join(s.folder, b.hash+"-"+filepath.Base(name))
	if _, err := os.Stat(b.file); err == nil {
		return b, nil
	}
	return b, os.WriteFile(b.file, text, 0o700)
}

// pollBuild looks whether the program's file has changed, and is complete: two looks see the same.
func (s *Supervisor) pollBuild(now time.Time) {
	r := &s.rollout // Only Run uses polled and seen.
	if s.folder == "" || s.config.Poll < 0 || now.Sub(r.polled) < s.config.Poll {
		return
	}
	r.polled = now
	info, err := os.Stat(s.config.Command[0])
	if err != nil {
		r.seen = nil // It is being replaced.
		return
	}
	s.mu.Lock()
	newest := s.build
	if r.next != nil {
		newest = r.next
	}
	known := info.Size() == newest.size && info.ModTime().Equal(newest.time)
	s.mu.Unlock()
	switch {
	case known:
		r.seen = nil
		return
	case r.seen == nil || info.Size() != r.seen.Size() || !info.ModTime().Equal(r.seen.ModTime()):
		r.seen = info
		return
	}
	b, err := s.readBuild()
	s.mu.Lock()
	defer s.mu.Unlock()
	r.seen = nil
	if err != nil {
		s.note("the new build cannot be read: %v", err)
		return
	}
	if b.hash == newest.hash { // The file was touched.
		newest.size, newest.time = b.size, b.time
		return
	}
	if r.candidate != nil {
		r.candidate.startDrain(now)
		r.candidate = nil
	}
	if b.hash == s.build.hash { // The running build is back.
		s.build.size, s.build.time = b.size, b.time
		r.next, r.failed = nil, ""
		return
	}
	r.next, r.failed, r.pause, r.retry = b, "", 0, now
	s.note("a new build is there: %s", b.hash)
}

// stepRollout starts the next candidate, and seats one that is ready. The caller holds the lock.
func (s *Supervisor) stepRollout(now time.Time) {
	r := &s.rollout
	if r.next == nil || r.failed != "" {
		return
	}
	if r.old != nil {
		for _, p := range s.processes {
			if p == r.old {
				return // One after the other.
			}
		}
		r.old = nil
	}
	seat := s.olderSeat(r.next)
	switch {
	case seat < 0:
		s.counts.rollouts++
		s.note("all servers have the build %s", r.next.hash)
		r.next = nil
	case r.candidate == nil && (now.Before(r.retry) || s.freePort() == 0):
	case r.candidate == nil:
		if err := s.start(r.next, -1, now); err != nil {
			s.reject("it cannot start: " + err.Error())
			return
		}
		r.candidate = s.processes[len(s.processes)-1]
	case r.candidate != nil && r.candidate.state == ready:
		if err := s.compare(r.candidate); err != nil {
			s.reject(err.Error())
			return
		}
		s.build = r.next // Restarts have it from now on.
		s.seats[seat].pause = 0
		r.old = s.seats[seat].process
		s.seats[seat].process, r.candidate.seat = r.candidate, seat
		r.candidate = nil
		if r.old != nil {
			r.old.seat = -1
			r.old.startDrain(now)
		}
	}
}

// olderSeat returns a seat whose process has another build, or that has none; -1 if there is none.
func (s *Supervisor) olderSeat(b *build) int {
	for i := range s.seats {
		if p := s.seats[i].process; p != nil && p.build != b {
			return i
		}
	}
	if s.build != b {
		return 0 // All wait for their restart: the new build may be the cure.
	}
	return -1
}

// compare compares the protocol of a candidate with that of the processes that it replaces.
func (s *Supervisor) compare(candidate *process) error {
	for _, p := range s.processes {
		if p.build == candidate.build || p.lock == nil {
			continue
		}
		if candidate.lock == nil {
			return errors.New("it tells no protocol, and the running build does")
		}
		if changes := schema.Compare(p.lock, candidate.lock); schema.Breaking(changes) {
			return errors.New("players of the running build cannot play with it:\n" + schema.Report(changes))
		}
	}
	return nil
}

// candidateEnded notes a candidate that ended before it had a seat. The first one rejects its build, a later one is tried again.
func (s *Supervisor) candidateEnded(now time.Time) {
	r := &s.rollout
	r.candidate = nil
	if r.next != s.build {
		s.reject("its first process ended before it was ready")
		return
	}
	r.pause = min(max(2*r.pause, s.config.Restart), lastRestart)
	r.retry = now.Add(r.pause)
}

// reject ends a rollout: the running build stays. The build is tried again when the file changes.
func (s *Supervisor) reject(why string) {
	r := &s.rollout
	s.counts.rejected++
	r.failed = why
	s.note("the build %s is rejected: %s", r.next.hash, strings.TrimSpace(why))
	if r.candidate != nil {
		r.candidate.startDrain(time.Now())
		r.candidate = nil
	}
}

package view

import (
	"time"

	"github.com/mlange-42/arche/ecs"
)

const (
	tapeFrames = 480 // At 60 frames a second 8 s.
	goalBefore = 3 * time.Second
	goalAfter  = 600 * time.Millisecond
	killBefore = 1500 * time.Millisecond
	killAfter  = 100 * time.Millisecond
)

// Kind is a kind of replay.
type Kind uint8

// The kinds of replays.
const (
	None     Kind = iota
	LastGoal      // The last seconds before a goal, and the ball in it.
	LastKill      // How the own avatar was shot: Killer is in the middle.
)

// Tape is a ring of the scenes that this player saw last, and shows a part of it again. It is the picture, not the game: nothing is
// sent for it, and nothing simulated again.
type Tape struct {
	Kind   Kind       // Of the replay that is shown.
	Killer ecs.Entity // Of LastKill.

	ring  [tapeFrames]taped
	count int           // Of all scenes ever.
	shown int           // The scene that is shown, by that count.
	to    time.Duration // Where the replay ends,
	lag   time.Duration // and how far it is behind now.
	goal  time.Duration // When the newest goal was that is not shown yet; 0: none.
	dead  bool
}

type taped struct {
	at    time.Duration
	scene Scene
}

// Goal asks for a replay of the goal of this moment, once the ball is in it.
func (t *Tape) Goal(now time.Duration) { t.goal = now }

// Record takes the scene of a frame, and begins and ends replays.
func (t *Tape) Record(now time.Duration, s *Scene) {
	next := &t.ring[t.count%tapeFrames]
	next.at = now
	next.scene.keep(s)
	t.count++
	died := s.Own >= 0 && s.Avatars[s.Own].Dead > 0
	switch {
	case died && !t.dead && s.Find(s.Avatars[s.Own].Killer) >= 0:
		t.Killer = s.Avatars[s.Own].Killer
		t.play(LastKill, now, now-killBefore, now+killAfter)
	case t.Kind == LastKill && !died, t.Kind != None && now-t.lag > t.to:
		t.Kind = None
	}
	if t.dead = died; t.goal > 0 && now > t.goal+goalAfter && t.Kind != LastKill {
		t.play(LastGoal, now, t.goal-goalBefore, t.goal+goalAfter)
		t.goal = 0
	}
}

func (t *Tape) play(kind Kind, now, from, to time.Duration) {
	oldest := max(t.count-tapeFrames, 0)
	from = max(from, t.ring[oldest%tapeFrames].at)
	t.Kind, t.shown, t.to, t.lag = kind, oldest, to, now-from
}

// Replay returns the scene that a replay shows now; nil: there is none.
func (t *Tape) Replay(now time.Duration) *Scene {
	if t.Kind == None {
		return nil
	}
	t.shown = max(t.shown, t.count-tapeFrames)
	for t.shown+1 < t.count && t.ring[(t.shown+1)%tapeFrames].at <= now-t.lag {
		t.shown++
	}
	return &t.ring[t.shown%tapeFrames].scene
}

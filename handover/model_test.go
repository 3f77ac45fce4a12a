package handover_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/internal/steps"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/tick"
)

// model is a dumb observer of all servers and clients.
type model struct {
	rig   *rig
	of    map[uint32]*seen
	moved map[handover.Outcome]int
	kills int

	switches, fails int
	longest         time.Duration // the longest time of a picture without news
	seams           map[int]int   // inputs from one server to the next: by the number of ticks that were left out
	jumps           map[int32]int // of the own hero, at a switch
	errors          map[string]int
	messages        []message // by number
	untold          int       // messages of servers that died: nobody is left to tell
	lost            int
}

// seen has the facts that the model knows of a player.
type seen struct {
	home    *node // the server on which it was active last
	life    int
	gold    uint32
	last    uint32 // the last input that a server used
	from    *node  // that server
	present tick.Time
	newest  netcode.Tick
	newsAt  time.Duration
	shown   *handover.Session
	x       int32
	hasX    bool
}

func newModel(r *rig) *model {
	return &model{rig: r, of: map[uint32]*seen{}, moved: map[handover.Outcome]int{}, seams: map[int]int{}, jumps: map[int32]int{}, errors: map[string]int{}}
}

func (m *model) player(number uint32) *seen {
	s := m.of[number]
	if s == nil {
		s = &seen{}
		m.of[number] = s
	}
	return s
}

// loggedIn notes a hero that the game made for a player who came by itself. It must have none.
func (m *model) loggedIn(n *node, number uint32) {
	s := m.player(number)
	require.Zero(m.rig.t, m.copies(number), "player %d logs in and is there already", number)
	if s.home != nil {
		require.NotEqual(m.rig.t, s.life, s.home.life, "player %d was lost, and no server died", number)
		m.lost++
	}
	s.home, s.life, s.gold, s.last, s.from = n, n.life, 100+number, 0, nil
}

// arrived notes a hero that has come.
func (m *model) arrived(n *node, h *hero) {
	require.Equal(m.rig.t, 100+h.Player, h.Gold)
}

// used returns the function that is told the inputs that move active heroes.
func (m *model) used(n *node) func(number, frame uint32) {
	return func(number, frame uint32) {
		s := m.player(number)
		if s.from != nil && s.from != n {
			m.seams[int(frame)-int(s.last)]++
		}
		s.last, s.from = frame, n
	}
}

func (m *model) ended(n *node, client netcode.ClientID, outcome handover.Outcome, err error) {
	m.moved[outcome]++
	for _, s := range m.of {
		if outcome == handover.Stayed && s.from != nil {
			s.from = nil // The inputs of a player that was held count no more.
		}
	}
	if outcome == handover.Stayed {
		m.errors["stayed: "+err.Error()]++
	}
}

func (m *model) told(who string, err error) { m.errors[err.Error()]++ }

// message is a reliable message.
type message struct {
	server        *node
	life          int // of the server
	handled, told bool
	toServer      bool
	at            int
	to            string
}

// send sends a message.
func (m *model) send(end netcode.Endpoint, to netcode.Recipient, server *node) {
	if netcode.Send(end, to, &chat{Number: uint32(len(m.messages))}) == nil {
		m.messages = append(m.messages, message{server: server, life: server.life, toServer: netcode.ServerOf(end) == nil, at: m.rig.frames, to: fmt.Sprint(to)})
	}
}

func (m *model) handled(number uint32) {
	require.False(m.rig.t, m.messages[number].handled, "message %d was handled twice", number)
	m.messages[number].handled = true
}

// undelivered notes that a game was told of a message.
func (m *model) undelivered(end netcode.Endpoint, u *handover.Undelivered) {
	c, ok := extend.ReadPosted[chat](end, &u.Message)
	require.True(m.rig.t, ok)
	m.messages[c.Number].told = true
}

// checkMessages checks all messages, when no connection has any left.
func (m *model) checkMessages() (handled, told int) {
	for number, one := range m.messages {
		switch {
		case one.handled:
			handled++
		case one.told:
			told++
		case one.life != one.server.life:
			m.untold++
		default:
			require.Fail(m.rig.t, fmt.Sprintf("message %d was not handled, and nobody was told: %+v", number, one))
		}
	}
	return handled, told
}

func (m *model) switched(p *player, from, to *handover.Session) {
	if from != nil {
		m.switches++
	}
}

func (m *model) failed(p *player, err error) {
	m.fails++
	m.errors["failed: "+err.Error()]++
}

// copies counts the heroes of a player, held ones too.
func (m *model) copies(number uint32) int {
	active, held := m.count(number)
	return active + held
}

// count counts the heroes of a player on all servers: those that are active, and those that are held.
func (m *model) count(number uint32) (active, held int) {
	for _, n := range m.rig.nodes {
		query := generic.NewFilter2[components.Owner, hero]().Query(n.world)
		for query.Next() {
			owner, h := query.Get()
			switch {
			case h.Player != number:
			case n.mover.Held(owner.Client):
				held++
			case n.mover.Moved(owner.Client):
				held++ // It is removed in the next frame.
			default:
				active++
				s := m.player(number)
				s.home, s.life = n, n.life
			}
		}
	}
	return active, held
}

// check is called after each frame.
func (m *model) check() {
	for _, p := range m.rig.players {
		number := uint32(p.number)
		s := m.player(number)
		active, held := m.count(number)
		require.LessOrEqual(m.rig.t, active, 1, "player %d is on two servers", number)
		if active+held == 0 && s.home != nil && s.life == s.home.life {
			require.Fail(m.rig.t, fmt.Sprintf("player %d is lost", number))
		}
		m.checkPicture(p, s)
	}
}

// checkPicture checks what a player sees.
func (m *model) checkPicture(p *player, s *seen) {
	shown := p.mover.Shown()
	if shown == nil || shown.Systems.Client.State() != netcode.Connected || shown.Systems.Client.Replica().Tick() == 0 {
		s.shown = nil
		return
	}
	at, newest := p.mover.Present(), shown.Systems.Client.Replica().Tick()
	h, ok := p.hero()
	switch {
	case s.shown == nil:
	case s.shown != shown:
		require.True(m.rig.t, ok, "player %d sees no hero after the move", p.number)
		require.False(m.rig.t, at.Before(s.present), "player %d sees the past after a move", p.number)
		if s.hasX {
			m.jumps[h.X-s.x]++
		}
	default:
		require.False(m.rig.t, at.Before(s.present), "player %d sees the past", p.number)
		if !steps.OfClient(shown.Systems.Client).ConnectedTo(m.rig.at(shown.Server).server) { // Its server has died: there is no news.
			s.shown = nil
			return
		}
		if newest == s.newest {
			m.longest = max(m.longest, m.rig.now-s.newsAt)
		}
	}
	if s.shown != shown || newest != s.newest {
		s.newsAt = m.rig.now
	}
	s.shown, s.present, s.newest, s.x, s.hasX = shown, at, newest, h.X, ok
}

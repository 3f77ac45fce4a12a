package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Options are those of a match.
type Options struct {
	Bots       int                 // Avatars that the server plays itself.
	Length     time.Duration       // Of a match; 0: two and a half minutes.
	GoalPoints int                 // 0: 3. A kill is a point.
	Limit      int                 // Points that end a match; 0: 30.
	Stall      func(time.Duration) // Stands still for a Trouble; nil: nobody may ask for it.
}

// Fact is something that the server alone decides.
type Fact uint8

// The facts, with the player whom they are about.
const (
	Touch Fact = iota // A player pushed the ball.
	Hit               // A bolt of a player met somebody.
	Death             // A player died.
	Turn              // The clock was set.
)

// Match is the server of the game.
type Match struct {
	Server *netcode.Server
	Rules  *Rules
	// Note, if not nil, gets what no client can predict but that of the player who did it. Tests explain mispredictions by it.
	Note func(what Fact, t netcode.Tick, of netcode.ClientID)

	options  Options
	world    *ecs.World
	state    ecs.Entity // Clock and Score.
	avatars  map[netcode.ClientID]ecs.Entity
	watching map[netcode.ClientID]bool
	bots     map[ecs.Entity]*Brain
	talked   map[netcode.ClientID]tick.Tick // Until then the lines of a player count as said.
	clocks   generic.Map1[Clock]
	scores   generic.Map1[Score]
	cards    generic.Map6[components.Replicated, components.Owner, Avatar, Body, Pace, Health]
	looks    generic.Map3[Facing, Rail, components.Teleport]
	balls    generic.Map5[components.Replicated, Ball, Body, Pace, components.Teleport]
	things   generic.Map3[components.Replicated, Pickup, Body]
}

// Serve makes a match of a server and its world. The caller gives Rules.Systems to predict.Simulate, for the server or the host.
func Serve(group *systems.ServerSystems, w *ecs.World, o Options) *Match {
	o.Length, o.GoalPoints, o.Limit = cmp.Or(o.Length, 150*time.Second), cmp.Or(o.GoalPoints, 3), cmp.Or(o.Limit, 30)
	m := &Match{
		Server: group.Server, Rules: NewRules(w), options: o, world: w,
		avatars: map[netcode.ClientID]ecs.Entity{}, watching: map[netcode.ClientID]bool{}, bots: map[ecs.Entity]*Brain{}, talked: map[netcode.ClientID]tick.Tick{},
		clocks: generic.NewMap1[Clock](w), scores: generic.NewMap1[Score](w),
		cards: generic.NewMap6[components.Replicated, components.Owner, Avatar, Body, Pace, Health](w), looks: generic.NewMap3[Facing, Rail, components.Teleport](w),
		balls: generic.NewMap5[components.Replicated, Ball, Body, Pace, components.Teleport](w), things: generic.NewMap3[components.Replicated, Pickup, Body](w),
	}
	m.Rules.match = m
	rewind.Limit(m.Server, time.Second)
	states := generic.NewMap4[components.Replicated, components.Predicted, Clock, Score](w)
	m.state = states.NewWith(&components.Replicated{}, &components.Predicted{}, &Clock{Length: uint16(o.Length.Seconds() * TickRate)}, &Score{})
	m.balls.NewWith(&components.Replicated{}, &Ball{}, &Body{Width / 2, Height / 2}, &Pace{}, &components.Teleport{})
	m.furnish(0)
	for i := range o.Bots {
		name := []string{"Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Vint"}[i%8]
		bot := m.newAvatar(0, name)
		m.Rules.avatars.Get(bot).Bot = true
		m.bots[bot] = NewBrain(uint64(i))
	}
	m.Server.OnApprove(approve)
	m.Server.OnConnect(m.connect)
	m.Server.OnLeave(m.leave)
	loading.OnLoaded(m.Server, m.enter)
	loading.Begin(m.Server, 0, time.Hour, func([]netcode.ClientID) {})
	netcode.On(m.Server, m.say)
	netcode.On(m.Server, m.ready)
	netcode.On(m.Server, m.trouble)
	return m
}

func (m *Match) clock() *Clock { return m.clocks.Get(m.state) }

func (m *Match) score() *Score { return m.scores.Get(m.state) }

// Payload is the connect payload of a player. secret is its identity, of at least 16 bytes: who knows it is that player. A spectator has
// no avatar.
func Payload(secret, name string, spectator bool) []byte {
	short := wire.NewText[[16]byte](clean(name)) // The whole payload is at most wire.MaxIdentity bytes.
	return fmt.Appendf(nil, "%s\n%s\n%t", secret, short.String(), spectator)
}

// approve gives each player the identity of its secret: after a crash it is the same player.
func approve(a *netcode.Approval) {
	secret, _, ok := bytes.Cut(a.Payload, []byte("\n"))
	if !ok || len(secret) < 16 || len(secret) > 32 || len(a.Payload) > wire.MaxIdentity {
		a.Refuse("this is no player of Brawl")
		return
	}
	a.Accept(string(a.Payload))
}

// card reads name and role of an identity. Both are hostile.
func card(identity string) (name string, spectator bool) {
	parts := strings.SplitN(identity, "\n", 3)
	if len(parts) == 3 {
		name, spectator = parts[1], strings.HasPrefix(parts[2], "t")
	}
	name = clean(name)
	if name == "" {
		name = "nobody"
	}
	return name, spectator
}

// clean leaves what can be printed.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text))
}

// connect notes a player; its avatar comes once it has loaded the level.
func (m *Match) connect(client netcode.ClientID) {
	name, spectator := card(m.Server.Identity(client))
	m.watching[client] = spectator
	if !m.Server.Returned(client) {
		m.tell(News{Kind: Joined, Who: wire.NewText[[16]byte](name)})
	}
}

// enter gives a player that has loaded its avatar, unless it has one: it returned, or this is the next level.
func (m *Match) enter(client netcode.ClientID) {
	if e, has := m.avatars[client]; m.watching[client] || has && m.world.Alive(e) {
		return
	}
	name, _ := card(m.Server.Identity(client))
	m.avatars[client] = m.newAvatar(client, name)
}

// newAvatar makes an avatar in the smaller team.
func (m *Match) newAvatar(owner netcode.ClientID, name string) ecs.Entity {
	var sizes [2]uint8
	for query := m.Rules.cards.Query(m.world); query.Next(); {
		sizes[query.Get().Team%2]++
	}
	team := uint8(Red)
	if sizes[Blue] < sizes[Red] {
		team = Blue
	}
	seats := m.Rules.Levels[int(m.clock().Level)%len(m.Rules.Levels)].seats[team]
	at := seats[int(sizes[team])%len(seats)]
	e := m.cards.NewWith(&components.Replicated{}, &components.Owner{Client: owner}, &Avatar{Name: wire.NewText[[16]byte](name), Team: team, Seat: sizes[team]},
		&at, &Pace{}, &Health{Points: 100})
	m.looks.Assign(e, &Facing{X: 1}, &Rail{}, &components.Teleport{})
	return e
}

// leave forgets a player for good; netcode removes its avatar.
func (m *Match) leave(client netcode.ClientID) {
	if e, ok := m.avatars[client]; ok && m.world.Alive(e) {
		name := m.Rules.avatars.Get(e).Name
		m.tell(News{Kind: Left, Who: name})
		m.world.RemoveEntity(e)
	}
	delete(m.avatars, client)
	delete(m.watching, client)
	delete(m.talked, client)
	if len(m.avatars) == 0 { // Nobody is there: the arena waits.
		m.clock().Phase = Lobby
		m.set(0)
	}
}

// load begins a level: all load it, and the countdown begins when they have.
func (m *Match) load(level uint8) {
	m.furnish(level)
	loading.Begin(m.Server, uint32(level), 20*time.Second, func([]netcode.ClientID) {
		if m.clock().Phase == Loading {
			m.set(noticeTicks)
		}
	})
}

// furnish puts the pick-ups of a level in place of the last one's.
func (m *Match) furnish(level uint8) {
	m.world.Batch().RemoveEntities(generic.NewFilter1[Pickup]().Filter(m.world))
	l := m.Rules.Levels[int(level)%len(m.Rules.Levels)]
	for i := range l.pickups {
		m.things.NewWith(&components.Replicated{}, &Pickup{Kind: l.kinds[i]}, &l.pickups[i])
	}
}

// ready is a message of a player.
func (m *Match) ready(ctx *netcode.Context, r *Ready) {
	if e, ok := m.avatars[ctx.Sender]; ok && m.world.Alive(e) {
		m.Rules.avatars.Get(e).Ready = r.Is
	}
}

// endLobby ends the lobby when all players that are there are ready. It is asked in each step: who is not ready may leave.
func (m *Match) endLobby() {
	ready := false
	for client := range m.Server.Clients {
		if e, plays := m.avatars[client]; plays && m.world.Alive(e) {
			if ready = m.Rules.avatars.Get(e).Ready; !ready {
				return
			}
		}
	}
	if c := m.clock(); ready && c.Phase == Lobby && c.Ticks == 0 {
		m.set(noticeTicks)
	}
}

// say is a line of chat: at most five in five seconds.
func (m *Match) say(ctx *netcode.Context, s *Say) {
	const lines, each = 5, TickRate
	now := m.Server.Tick()
	until := max(m.talked[ctx.Sender], now) + each
	text := clean(s.Text.String())
	if until > now+lines*each || text == "" {
		return
	}
	m.talked[ctx.Sender] = until
	name, _ := card(m.Server.Identity(ctx.Sender))
	news := News{Kind: Chat, Who: wire.NewText[[16]byte](name), Text: wire.NewText[[128]byte](text)}
	if e, ok := m.avatars[ctx.Sender]; ok && m.world.Alive(e) {
		news.Team = m.Rules.avatars.Get(e).Team
	}
	m.tell(news)
}

// trouble has the faults that a player asked for.
func (m *Match) trouble(_ *netcode.Context, t *Trouble) {
	if m.options.Stall != nil {
		m.options.Stall(time.Duration(t.Milliseconds) * time.Millisecond)
	}
}

func (m *Match) tell(n News) { _ = netcode.Send(m.Server, netcode.ToAll(), &n) } // Who has left misses nothing.

// mark tells a shooter of a hit.
func (m *Match) mark(shooter netcode.ClientID, points int) {
	if shooter != 0 && points > 0 {
		_ = netcode.Send(m.Server, netcode.To(shooter), &Mark{uint8(points)}) // It may be away.
	}
}

// killed counts a kill.
func (m *Match) killed(by, victim ecs.Entity) {
	killer := m.Rules.avatars.Get(by)
	m.tell(News{Kind: Killed, Team: killer.Team, Who: killer.Name, Whom: m.Rules.avatars.Get(victim).Name})
	if m.Rules.clock.Phase == Play {
		m.add(killer.Team, 1)
	}
}

// scored counts a goal.
func (m *Match) scored(team uint8) {
	m.tell(News{Kind: Goal, Team: team})
	m.add(team, m.options.GoalPoints)
}

// add gives a team points. The match ends at the limit.
func (m *Match) add(team uint8, points int) {
	s := m.score()
	to := &s.Red
	if team == Blue {
		to = &s.Blue
	}
	*to = uint8(min(int(*to)+points, 255))
	if c := m.clock(); int(*to) >= m.options.Limit && c.Phase == Play && c.Ticks > noticeTicks {
		m.set(noticeTicks)
	}
}

// touched notes who touched the ball.
func (m *Match) touched(by, ball ecs.Entity) {
	if m.world.Alive(by) {
		m.Rules.ballTeams.Get(ball).Team = m.Rules.avatars.Get(by).Team
		m.note(Touch, by)
	}
}

// note tells a fact about an avatar.
func (m *Match) note(what Fact, of ecs.Entity) {
	if m.Note != nil {
		m.Note(what, m.Server.Tick(), m.Rules.owners.Get(of).Client)
	}
}

// set sets the ticks until the next phase.
func (m *Match) set(ticks uint16) {
	m.clock().Ticks = ticks
	if m.Note != nil {
		m.Note(Turn, m.Server.Tick(), 0)
	}
}

// Clock returns the clock of the match.
func (m *Match) Clock() Clock { return *m.clock() }

// Score returns the points of both teams.
func (m *Match) Score() Score { return *m.score() }

// Playing returns the number of players that have an avatar.
func (m *Match) Playing() int { return len(m.avatars) }

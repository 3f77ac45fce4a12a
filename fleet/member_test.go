package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/internal/steps"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

type place struct{ X int32 }

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	return p
}

// proofs is a prover: what a client that joins proves is set before it joins, and its address keeps it.
type proofs struct {
	next map[string][]byte // By user; the newest one is given out.
	user string
	of   map[transport.Addr]string
}

func (p *proofs) Proved(of transport.Addr) (user string, data []byte, ok bool) {
	if p.of[of] == "" {
		p.of[of] = p.user
	}
	user = p.of[of]
	return user, p.next[user], user != ""
}

// hall is a server in a fleet, on a virtual network.
type hall struct {
	t *testing.T
	*nettest.Net
	*fleet.Member
	proofs *proofs
}

// noneButTold is a Lifecycle that allocates matches: by Member.Tell.
type noneButTold struct{ fleet.Lifecycle }

func (noneButTold) Destination(context.Context, string, fleet.Match) ([]byte, error) {
	return nil, errors.New("the test answers")
}

func newHall(t *testing.T, config fleet.Config, server netcode.Config) *hall {
	h := &hall{t: t, proofs: &proofs{next: map[string][]byte{}, of: map[transport.Addr]string{}}}
	h.Net = nettest.New(t, nettest.Config{Protocol: protocol(), Server: server, Setup: func(s *systems.ServerSystems, w *netecs.World) {
		steps.OfServer(s.Server).SetProver(h.proofs)
		h.Member = fleet.Attach(systems.NewRunner(w, s, 60), s.Server, noneButTold{fleet.None()}, config)
		build := generic.NewMap2[components.Replicated, place](w)
		build.New()
	}})
	return h
}

// join lets a user connect with a ticket, and does not wait.
func (h *hall) join(user, match string) *nettest.Client {
	data, err := fleet.Ticket{Match: match, Data: []byte("red")}.Append(nil)
	require.NoError(h.t, err)
	h.proofs.user, h.proofs.next[user] = user, data
	c := h.Join()
	h.Net.Run(300 * time.Millisecond) // The proof of its address is given out.
	return c
}

func (h *hall) refused(c *nettest.Client, detail string) {
	h.t.Helper()
	h.Net.Run(3 * time.Second)
	var e *netcode.CloseError
	require.ErrorAs(h.t, c.Err(), &e)
	require.ErrorIs(h.t, e, errs.ReasonNotApproved)
	require.Contains(h.t, e.Detail, detail)
	h.Remove(c)
}

func allocated(id string) fleet.Event {
	return fleet.Event{Kind: fleet.Allocated, Match: fleet.Match{ID: id}}
}

// A ticket is good for its match alone, at a server that has this match, while it has it.
func TestATicketIsGoodForItsMatchAlone(t *testing.T) {
	var begun, over []string
	h := newHall(t, fleet.Config{
		OnMatch: func(m fleet.Match) { begun = append(begun, m.ID) }, OnOver: func(m fleet.Match) { over = append(over, m.ID) },
	}, netcode.Config{})
	h.Tell(allocated("one"))
	ann := h.join("ann", "one")
	h.Net.Run(time.Second)
	require.True(t, ann.State() == netcode.Connected)
	require.Equal(t, "one", h.MatchOf(ann.ID()))
	ticket, ok := h.TicketOf(ann.ID())
	require.True(t, ok)
	require.Equal(t, "red", string(ticket.Data))

	h.refused(h.join("bob", "two"), "the match is not at this server")
	h.proofs.user, h.proofs.next["eve"] = "eve", []byte("no ticket")
	h.refused(h.Join(), "no ticket of a fleet")

	late := h.join("carl", "three") // its token was faster than the news of the match
	h.Net.Run(time.Second)
	require.False(t, late.State() == netcode.Connected)
	h.Tell(allocated("three"))
	h.Net.Run(time.Second)
	require.True(t, late.State() == netcode.Connected)
	require.Equal(t, []string{"one", "three"}, begun)

	require.True(t, h.EndMatch("three"))
	require.False(t, h.EndMatch("three"))
	require.Equal(t, []string{"three"}, over)
	h.refused(h.join("dora", "three"), "it is over")
	require.EqualValues(t, 3, h.Member.Stats().Refused)
	status, _ := h.Told()
	require.Equal(t, []string{"ann", "carl"}, status.Users)
	require.Equal(t, 2, status.Players)
	require.Equal(t, 64, status.Places)
	require.Equal(t, []fleet.Match{{ID: "one"}}, status.Matches)
}

// A match without players is over after Config.Empty, whether somebody came or not; the same match twice is one.
func TestAMatchWithoutPlayersIsOver(t *testing.T) {
	for _, single := range []bool{false, true} {
		h := newHall(t, fleet.Config{Empty: 5 * time.Second, Single: single}, netcode.Config{})
		h.Net.Run(10 * time.Second)
		h.Tell(allocated("one"))
		h.Tell(allocated("two"))
		h.Tell(allocated("one"))
		c := h.join("ann", "one")
		h.Net.Run(4 * time.Second)
		require.Len(t, h.Matches(), 2)
		h.Net.Run(2 * time.Second)
		require.Equal(t, []fleet.Match{{ID: "one"}}, h.Matches())
		h.Net.Run(20 * time.Second)
		require.Len(t, h.Matches(), 1)
		c.Close()
		h.Net.Run(4 * time.Second)
		require.Len(t, h.Matches(), 1)
		_, before := h.Told()
		h.Net.Run(3 * time.Second)
		require.Empty(t, h.Matches())
		_, after := h.Told()
		_, ended := h.Ended()
		require.Equal(t, single, ended)
		require.Equal(t, !single, after == before+1, "ready again")
		require.EqualValues(t, 2, h.Member.Stats().Matches)
	}
}

// A player who comes from another server with its match, as by handover, may be faster than the news of the match. It counts all the same.
func TestAPlayerIsFasterThanItsMatch(t *testing.T) {
	h := newHall(t, fleet.Config{Empty: 5 * time.Second}, netcode.Config{})
	h.Server.OnApprove(func(a *netcode.Approval) { a.Accept(a.User) }) // A pass of its old server opens the door.
	c := h.join("ann", "one")
	require.True(t, c.State() == netcode.Connected)
	h.Tell(allocated("one"))
	h.Net.Run(10 * time.Second)
	require.Equal(t, []fleet.Match{{ID: "one"}}, h.Matches())
	c.Close()
	h.Net.Run(6 * time.Second)
	require.Empty(t, h.Matches())
}

// A player that is away keeps its match, and may come back while the server drains; others may not join.
func TestADrainTakesNoNewPlayers(t *testing.T) {
	drains := 0
	h := newHall(t, fleet.Config{Empty: time.Second, Drain: 30 * time.Second, OnDrain: func(left time.Duration) {
		require.Equal(t, 30*time.Second, left)
		drains++
	}}, netcode.Config{Keep: 20 * time.Second, SilenceTimeout: 2 * time.Second})
	h.Tell(allocated("one"))
	ann, bob := h.join("ann", "one"), h.join("bob", "one")
	h.Net.Run(time.Second)
	h.Kill(ann)
	h.Remove(ann)
	h.Net.Run(5 * time.Second)
	require.Equal(t, "one", h.MatchOf(ann.ID()), "away")
	h.Tell(fleet.Event{Kind: fleet.Drain})
	h.Tell(fleet.Event{Kind: fleet.Drain})
	h.Tell(allocated("two"))
	h.refused(h.join("carl", "one"), "drains")
	again := h.join("ann", "one")
	h.Net.Run(time.Second)
	require.True(t, again.State() == netcode.Connected)
	require.Equal(t, ann.ID(), again.ID())
	require.Equal(t, 1, drains)
	require.EqualValues(t, 1, h.Member.Stats().Matches, "none while it drains")
	status, _ := h.Told()
	require.True(t, status.Draining)
	again.Close()
	h.Net.Run(time.Second)
	_, ended := h.Ended()
	require.False(t, ended)
	bob.Close()
	h.Net.Run(time.Second)
	_, ended = h.Ended()
	require.True(t, ended, "nobody is here")
}

// In a drain each player is moved once. After an error it is tried again, and the end waits for those who stay no longer than Drain.
func TestADrainMovesPlayers(t *testing.T) {
	moved := map[netcode.ClientID][]string{}
	h := newHall(t, fleet.Config{Drain: 10 * time.Second, Checkpoint: func([]fleet.Match, []byte) error { return nil }}, netcode.Config{})
	h2 := newHall(t, fleet.Config{Drain: 10 * time.Second, Checkpoint: func([]fleet.Match, []byte) error { return nil },
		Move: func(client netcode.ClientID, token []byte) error {
			moved[client] = append(moved[client], string(token))
			if len(moved[client]) == 1 && string(token) == "first bob" {
				return errors.New("not now")
			}
			return nil
		}}, netcode.Config{})
	for _, h := range []*hall{h, h2} {
		h.Tell(allocated("one"))
		ann, bob := h.join("ann", "one"), h.join("bob", "one")
		h.Net.Run(time.Second)
		require.True(t, ann.State() == netcode.Connected && bob.State() == netcode.Connected)
		h.Tell(fleet.Event{Kind: fleet.Drain})
		h.Net.Run(100 * time.Millisecond)
		_, found, ok := h.Ask()
		if h != h2 {
			require.False(t, ok, "there is no Move")
			h.Net.Run(9 * time.Second)
			_, ended := h.Ended()
			require.False(t, ended)
			h.Net.Run(2 * time.Second)
			_, ended = h.Ended()
			require.True(t, ended)
			continue
		}
		require.True(t, ok)
		found([]byte("first ann"), nil)
		user, found, ok := h.Ask()
		require.True(t, ok)
		require.Equal(t, "bob", user)
		found([]byte("first bob"), nil)
		h.Net.Run(100 * time.Millisecond)
		_, found, ok = h.Ask()
		require.True(t, ok)
		found(nil, errors.New("no server has room"))
		h.Net.Run(100 * time.Millisecond)
		_, found, ok = h.Ask()
		require.True(t, ok)
		found([]byte("second bob"), nil)
		h.Net.Run(100 * time.Millisecond)
		_, _, ok = h.Ask()
		require.False(t, ok, "each once")
		require.Equal(t, map[netcode.ClientID][]string{ann.ID(): {"first ann"}, bob.ID(): {"first bob", "second bob"}}, moved)
		require.Equal(t, [2]uint64{2, 2}, [2]uint64{h.Member.Stats().Moved, h.Member.Stats().Unmoved})
		ann.Close()
		bob.Close()
		h.Net.Run(time.Second)
		saved, ended := h.Ended()
		require.True(t, ended)
		state, err := record.ReadSaved(bytes.NewReader(saved), h.Server.Protocol().Schema())
		require.NoError(t, err)
		require.Equal(t, 1, state.Len())
	}
}

// A player that was moved, and is still here after 45 s, is moved again, or at once when the game says so: its other server may have died.
func TestAMoveThatFailsLateIsRepeated(t *testing.T) {
	moves := 0
	h := newHall(t, fleet.Config{Drain: 5 * time.Minute, Move: func(netcode.ClientID, []byte) error { moves++; return nil }}, netcode.Config{})
	h.Tell(allocated("one"))
	ann := h.join("ann", "one")
	h.Tell(fleet.Event{Kind: fleet.Drain})
	for want := 1; want <= 3; want++ {
		h.Net.Run(time.Second)
		_, found, ok := h.Ask()
		require.True(t, ok, "ask %d", want)
		found([]byte("token"), nil)
		h.Net.Run(43 * time.Second)
		require.Equal(t, want, moves)
		_, _, ok = h.Ask()
		require.False(t, ok)
		if want == 2 {
			h.MoveAgain(ann.ID())
			continue
		}
		h.Net.Run(2 * time.Second)
	}
}

// More matches than MaxMatches, and malformed ones, are ignored and counted.
func TestMatchesAreBounded(t *testing.T) {
	h := newHall(t, fleet.Config{Empty: -1}, netcode.Config{})
	for i := range fleet.MaxMatches + 10 {
		h.Tell(allocated(string(rune('a'+i%26)) + time.Duration(i).String()))
		h.Step()
	}
	for _, wrong := range []fleet.Match{{}, {ID: string(make([]byte, fleet.MaxMatch+1))}, {ID: "x", Data: make([]byte, fleet.MaxMatchData+1)}} {
		h.Tell(fleet.Event{Kind: fleet.Allocated, Match: wrong})
	}
	h.Step()
	require.Len(t, h.Matches(), fleet.MaxMatches)
	require.EqualValues(t, 13, h.Member.Stats().Ignored)
}

func TestTickets(t *testing.T) {
	long := fleet.Ticket{Match: string(make([]byte, fleet.MaxMatch)), Data: make([]byte, fleet.MaxTicketData)}
	b, err := long.Append(nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), 400, "secure.MaxData")
	for _, wrong := range []fleet.Ticket{{Match: long.Match + "x"}, {Data: make([]byte, fleet.MaxTicketData+1)}} {
		_, err := wrong.Append(nil)
		require.ErrorContains(t, err, "at most")
	}
}

func FuzzTicket(f *testing.F) {
	for _, t := range []fleet.Ticket{{}, {Match: "one"}, {Match: "one", Data: []byte("red")}} {
		b, _ := t.Append(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ticket, ok := fleet.ParseTicket(b)
		if !ok {
			return
		}
		again, err := ticket.Append(nil)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

package handover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/transport"
)

var late = transport.Link{Delay: 50 * time.Millisecond}

// two makes two servers, and a player on the first one who begins to move to the second.
func two(t *testing.T, link transport.Link, change ...func(c *handover.Config)) *rig {
	r := newRig(t, 3, 2, 1, link)
	r.quiet = true
	if len(change) > 0 {
		r.config = change[0]
	}
	r.start()
	require.True(t, r.run(5*time.Second, r.joined))
	r.begin()
	return r
}

// begin begins to move the player from the first server to the second.
func (r *rig) begin() {
	client, ok := r.nodes[0].clientOf(0)
	require.True(r.t, ok)
	require.NoError(r.t, r.nodes[0].mover.Move(client, handover.Destination{Server: r.nodes[1].address.String()}))
}

// wait runs for a time.
func (r *rig) wait(d time.Duration) { r.run(d, func() bool { return false }) }

// TestAServerDiesAtEachMoment kills the new server, or the old one, in each frame of a move.
func TestAServerDiesAtEachMoment(t *testing.T) {
	var stayed, moved, lost [2]int
	for victim := range 2 {
		for frame := 15; frame < 48; frame++ { // Before, a client does not notice that a server was started anew.
			r := two(t, late)
			r.wait(time.Duration(frame) * time.Second / rate)
			home := r.model.player(0).home
			r.kill(r.nodes[victim])
			r.wait(3 * time.Second)
			active, held := r.model.count(0)
			require.Zero(t, held, "victim %d, frame %d", victim, frame)
			switch {
			case active == 0 || r.model.lost > 0: // It may have logged in again.
				require.Same(t, home, r.nodes[victim], "the player was on another server: victim %d, frame %d", victim, frame)
				lost[victim]++
			case r.model.player(0).home == r.nodes[0]:
				stayed[victim]++
				_, ok := r.players[0].hero()
				require.True(t, ok, "the player does not see its hero")
			default:
				moved[victim]++
				_, ok := r.players[0].hero()
				require.True(t, ok, "the player does not see its hero")
			}
		}
	}
	t.Log("stayed", stayed, "moved", moved, "died with its server", lost)
	require.Positive(t, stayed[1])
	require.Positive(t, lost[1], "the sweep does not reach the end of the move")
	require.Positive(t, lost[0])
	require.Positive(t, moved[0], "what was given out does not arrive")
}

// A player that is sent to the server where it is stays there.
func TestAPlayerStaysIfItIsSentToWhereItIs(t *testing.T) {
	r := two(t, late)
	r.wait(10 * time.Second)
	require.Equal(t, 1, r.model.moved[handover.Moved])
	client, ok := r.nodes[1].clientOf(0)
	require.True(t, ok)
	require.NoError(t, r.nodes[1].mover.Move(client, handover.Destination{Server: r.nodes[1].address.String()}))
	r.wait(10 * time.Second)
	require.Equal(t, 1, r.model.moved[handover.Stayed])
	active, held := r.model.count(0)
	require.Equal(t, [2]int{1, 0}, [2]int{active, held})
	_, ok = r.players[0].hero()
	require.True(t, ok, "the player does not see its hero")
	same, ok := r.nodes[1].clientOf(0)
	require.True(t, ok)
	require.Equal(t, client, same, "its session goes on")
}

func TestAPlayerStaysIfNobodyIsThere(t *testing.T) {
	r := two(t, late)
	r.wait(10 * time.Second)
	require.Equal(t, 1, r.model.moved[handover.Moved])
	client, ok := r.nodes[1].clientOf(0)
	require.True(t, ok)
	require.NoError(t, r.nodes[1].mover.Move(client, handover.Destination{Server: "127.0.0.1:4"}))
	require.ErrorIs(t, r.nodes[1].mover.Move(client, handover.Destination{Server: "127.0.0.1:4"}), handover.ErrMoving)
	r.wait(20 * time.Second)
	require.Equal(t, 1, r.model.moved[handover.Stayed])
	require.Equal(t, 1, r.model.fails)
	require.NoError(t, r.nodes[1].mover.Move(client, handover.Destination{Server: "no address"}))
	r.wait(time.Second)
	require.Equal(t, 2, r.model.moved[handover.Stayed], "an error of Open ends a move")
	require.ErrorIs(t, r.nodes[1].mover.Move(client, handover.Destination{}), handover.ErrDestination)
	require.ErrorIs(t, r.nodes[1].mover.Move(99, handover.Destination{Server: "127.0.0.1:1000"}), errs.ErrNotConnected)
}

// TestAFullServerRefuses moves a player to a server that has no place.
func TestAFullServerRefuses(t *testing.T) {
	r := two(t, late)
	r.nodes[1].server.SetOpen(false)
	r.wait(5 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Stayed: 1}, r.model.moved)
	_, ok := r.nodes[0].clientOf(0)
	require.True(t, ok)
}

func TestAClientThatDies(t *testing.T) {
	for _, asks := range []bool{true, false} {
		outcomes := map[handover.Outcome]int{}
		for frame := 2; frame < 48; frame += 2 {
			r := two(t, late, func(c *handover.Config) {
				if !asks {
					c.Ask = nil
				}
			})
			r.wait(time.Duration(frame) * time.Second / rate)
			dead := r.players[0]
			r.players = nil
			r.wait(12 * time.Second) // Both servers find it silent.
			for outcome, n := range r.model.moved {
				outcomes[outcome] += n
			}
			require.Len(t, r.model.moved, 1, "frame %d: %v", frame, r.model.moved)
			for _, n := range r.nodes {
				require.Empty(t, n.clients())
				require.False(t, n.mover.Held(1))
			}
			_ = dead
		}
		t.Log("with Ask:", asks, outcomes)
		require.Positive(t, outcomes[handover.Stayed])
		if asks {
			require.Positive(t, outcomes[handover.Moved])
			require.Zero(t, outcomes[handover.Unknown])
		} else {
			require.Positive(t, outcomes[handover.Unknown])
		}
	}
}

// TestTheServersDeliver moves what a player carries between the servers, not by its client.
func TestTheServersDeliver(t *testing.T) {
	var r *rig
	r = two(t, late, func(c *handover.Config) {
		c.Deliver = func(to string, id handover.ID, sealed []byte) {
			r.later = append(r.later, func() { require.NoError(t, r.nodes[1].mover.Deliver(id, sealed)) })
		}
	})
	r.wait(3 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Moved: 1}, r.model.moved)
	require.Equal(t, 1, r.model.switches)
}

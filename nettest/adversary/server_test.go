package adversary_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
)

// victim has the outcome for a client whose server lies.
type victim struct {
	ends    errs.Reason                  // ReasonNone: it stays connected
	counter func(s netcode.Stats) uint64 // rises with the lie; nil: the error of the client says it all
	first   bool                         // the lie is told before the client joins
}

func victims() map[string]victim {
	return map[string]victim{
		"AckAhead":         {ends: errs.ReasonAckOfUnsent, counter: func(s netcode.Stats) uint64 { return s.Packets.AcksOfUnsent }},
		"AckNothing":       {},
		"AckOld":           {},
		"AckAll":           {ends: errs.ReasonAckOfUnsent, counter: func(s netcode.Stats) uint64 { return s.Packets.AcksOfUnsent }},
		"Silence":          {ends: errs.ReasonTimeout, counter: func(s netcode.Stats) uint64 { return s.SilenceTimeouts }},
		"Trickle":          {},
		"JumpAhead":        {counter: func(s netcode.Stats) uint64 { return s.Packets.Old }},
		"FallBack":         {counter: func(s netcode.Stats) uint64 { return s.Packets.Old }},
		"Repeat":           {counter: func(s netcode.Stats) uint64 { return s.Packets.Duplicates }},
		"Damage":           {counter: func(s netcode.Stats) uint64 { return s.Packets.BadChecksum }},
		"Credit":           {},
		"Resyncs":          {}, // A client serves each, within its SendBudget: it has few entities of its own.
		"Overspend":        {ends: errs.ReasonQueueOverflow, counter: func(s netcode.Stats) uint64 { return s.QueueOverflows }},
		"FarNumber":        {ends: errs.ReasonMalformed, counter: func(s netcode.Stats) uint64 { return s.Malformed }},
		"Pieces":           {ends: errs.ReasonMalformed, counter: func(s netcode.Stats) uint64 { return s.Malformed }},
		"ForTick":          {counter: func(s netcode.Stats) uint64 { return s.Messages.Deferred }},
		"About":            {counter: func(s netcode.Stats) uint64 { return s.Messages.Deferred }},
		"Messages":         {},
		"Noise":            {ends: errs.ReasonMalformed, counter: func(s netcode.Stats) uint64 { return s.Malformed }},
		"Flood":            {},
		"Bytes":            {counter: func(s netcode.Stats) uint64 { return s.Packets.BadChecksum }},
		"CloseAndGoOn":     {ends: errs.ReasonClosed, counter: func(s netcode.Stats) uint64 { return s.Disconnected }},
		"Accept":           {ends: errs.ReasonMalformed, first: true},
		"Welcome":          {ends: errs.ReasonMalformed, first: true},
		"Refuse":           {ends: errs.ReasonFull, first: true},
		"ChallengeForever": {ends: errs.ReasonHandshakeTimeout, first: true, counter: func(s netcode.Stats) uint64 { return s.HandshakeTimeouts }},
		"SnapshotNoise":    {ends: errs.ReasonMalformed, counter: func(s netcode.Stats) uint64 { return s.Malformed }},
		"Bend":             {ends: errs.ReasonMalformed, counter: func(s netcode.Stats) uint64 { return s.Malformed }},
		"SpawnForever":     {ends: errs.ReasonTooManyEntities, counter: func(s netcode.Stats) uint64 { return s.TooManyEntities }},
		"Flicker":          {},
		"FarTick":          {},
		"JumpTick":         {},
		"Feedback":         {},
		"Named":            {},
	}
}

// deceived is a client at a lying server, beside a real server whose two clients do not matter.
func deceived(t *testing.T, seed uint64) (*nettest.Net, *adversary.Server) {
	p := busyProtocol()
	n := nettest.New(t, nettest.Config{
		Protocol: p, Seed: seed, Link: transport.Link{Delay: 20 * time.Millisecond},
		Client: netcode.Config{MaxEntities: 2000, SilenceTimeout: 4 * time.Second, KeepAlive: 500 * time.Millisecond, HandshakeTimeout: 3 * time.Second},
	})
	liar := adversary.NewServer(adversary.Config{Protocol: p, Conn: n.Listen(), Now: n.Now, Seed: seed})
	n.Each(liar.Step)
	return n, liar
}

// Each lie of a server against an honest client: it ends with a typed error or goes on, what it is sent is counted, nothing panics, and its
// memory is bounded.
func TestServersThatLie(t *testing.T) {
	known := victims()
	for _, lie := range adversary.ServerLies() {
		t.Run(lie.Name, func(t *testing.T) {
			want, ok := known[lie.Name]
			require.True(t, ok, "victims has no line for it")
			n, liar := deceived(t, 30)
			if want.first {
				lie.Tell(liar)
			}
			c := n.JoinAt(liar.Address())
			var ended *netcode.CloseError
			c.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { ended = reason })
			if !want.first {
				require.True(t, n.RunUntil(2*time.Second, func() bool { return c.State() == netcode.Connected && liar.Joined() }))
				n.Run(time.Second)
				require.Positive(t, c.Replica().Len(), "an honest start: %v %+v", ended, c.Stats())
			}
			counted := func() uint64 {
				if want.counter == nil {
					return 0
				}
				return want.counter(c.Stats())
			}
			before, memory := counted(), alloctest.Heap(t)
			for end := n.Now() + 6*time.Second; n.Now() < end && c.State() != netcode.Disconnected; n.Step() {
				if !want.first {
					lie.Tell(liar)
				}
			}
			require.NotZero(t, liar.Told(lie.Name), "nothing was injected")
			if want.ends == errs.ReasonNone {
				require.Equal(t, netcode.Connected, c.State(), "%v", ended)
			} else {
				require.NotNil(t, ended, "it stays")
				require.Equal(t, want.ends, ended.Reason, "%v", ended)
			}
			if want.counter != nil {
				require.Greater(t, counted(), before, "it is counted")
			}
			require.LessOrEqual(t, alloctest.Heap(t), memory+4<<20, "bytes on the heap of both")
			t.Logf("told %v; %v; %d entities", liar.AllTold(), ended, liar.Entities())
		})
	}
}

package held

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func post(mode wire.Delivery, number int) peer.Post {
	return peer.Post{Type: wire.FirstUserMessage, Channel: wire.NewChannel(mode, number)}
}

func TestMessagesWaitBehindOthersOfTheirChannel(t *testing.T) {
	ordered, sequenced := post(wire.ReliableOrdered, 1), post(wire.UnreliableSequenced, 1)
	for name, row := range map[string]struct {
		held, next peer.Post
		blocks     bool
	}{
		"behind an ordered one":      {ordered, ordered, true},
		"on another ordered channel": {ordered, post(wire.ReliableOrdered, 2), false},
		"unordered":                  {ordered, post(wire.Reliable, 1), false},
		"behind a sequenced one":     {sequenced, sequenced, true},
		"unreliable":                 {sequenced, post(wire.Unreliable, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			var q Queue
			require.False(t, q.Blocks(row.next.Channel), "nothing is held")
			require.True(t, q.Add(&Envelope{Post: row.held}, "m", nil, 0, Limits{1 << 10, 1 << 10}))
			require.Equal(t, row.blocks, q.Blocks(row.next.Channel))
			q.Drop(&q.Messages()[0])
			q.Sweep()
			require.False(t, q.Blocks(row.next.Channel), "nothing is held any more")
		})
	}
}

func TestASequencedMessageThatLeavesDropsOlderOnes(t *testing.T) {
	var q Queue
	for _, ch := range []int{3, 2, 3, 3} {
		require.True(t, q.Add(&Envelope{Post: post(wire.UnreliableSequenced, ch)}, "m", nil, 0, Limits{1 << 10, 1 << 10}))
	}
	require.EqualValues(t, 1, q.Leave(2))
	require.Equal(t, 2, q.Count)
	require.True(t, q.Messages()[0].Gone())
	require.Zero(t, q.Leave(3))
}

func TestLimitsOfHeldMessages(t *testing.T) {
	for name, row := range map[string]struct {
		e    Envelope
		body int
		fits int // How many, of 1000 bytes.
	}{
		"reliable":     {Envelope{Post: post(wire.Reliable, 0)}, 4, 10},
		"unreliable":   {Envelope{Post: post(wire.Unreliable, 0)}, 4, 50},
		"large bodies": {Envelope{Post: post(wire.Reliable, 0)}, 904, 1},
		"too large":    {Envelope{Post: post(wire.Reliable, 0)}, 905, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var q Queue
			n := 0
			for q.Add(&row.e, "m", make([]byte, row.body), 0, Limits{Unreliable: 1000, Reliable: 1000}) {
				n++
			}
			require.Equal(t, row.fits, n)
			require.Equal(t, row.fits, q.Count)
			require.Equal(t, row.fits*row.body, q.Bytes())
			list := q.Messages()
			for i := range list {
				q.Drop(&list[i])
			}
			q.Sweep()
			require.Equal(t, row.fits > 0, q.Add(&row.e, "m", make([]byte, row.body), 0, Limits{Unreliable: 1000, Reliable: 1000}), "the room is free again")
		})
	}
	var none *Queue
	require.Zero(t, none.Bytes())
}

// A queue keeps the messages that a list keeps, with their bodies, in their order.
func TestQueueAgainstAList(t *testing.T) {
	modes := []wire.Delivery{wire.Unreliable, wire.Reliable, wire.ReliableOrdered} // A sequenced one takes others along.
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var model []string
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch step := rapid.SampledFrom([]string{"add", "add", "drop", "leave", "sweep"}).Draw(t, "step"); step {
			case "add":
				e := Envelope{Post: post(rapid.SampledFrom(modes).Draw(t, "mode"), rapid.IntRange(0, 2).Draw(t, "channel")), AsOf: tick.Tick(rapid.IntRange(0, 1).Draw(t, "tick"))}
				body := fmt.Sprint("body ", n)
				if !q.Add(&e, "m", []byte(body), 0, Limits{1 << 20, 1 << 20}) {
					t.Fatal("there is room")
				}
				model = append(model, body)
			case "sweep":
				q.Sweep()
			default:
				if len(model) == 0 {
					continue
				}
				at, list := rapid.IntRange(0, len(model)-1).Draw(t, "at"), q.Messages()
				for i := range list {
					if m := &list[i]; string(q.Body(m)) == model[at] && !m.Gone() {
						switch step {
						case "drop":
							q.Drop(m)
						case "leave":
							q.Leave(i)
						}
						break
					}
				}
				model = append(model[:at], model[at+1:]...)
			}
			var got []string
			list := q.Messages()
			for i := range list {
				if !list[i].Gone() {
					got = append(got, string(q.Body(&list[i])))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(model) || q.Count != len(model) {
				t.Fatalf("%v, not %v", got, model)
			}
			if q.Sweep(); len(model) == 0 && (q.used != [2]int{} || q.behind != [2]uint64{}) {
				t.Fatal("counts of nothing")
			}
		}
	})
}

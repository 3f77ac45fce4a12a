package netcode

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestBudgetNeverGivesMoreThanItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(0, 1<<20).Draw(t, "rate")
		b := newBudget(rate, 0)
		now, spent := time.Duration(0), 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "passed"))
			b.refill(now)
			for !b.spent() {
				n := rapid.IntRange(1, 1200).Draw(t, "packet")
				b.take(n)
				spent += n
			}
			most := float64(rate)*(now.Seconds()+burst.Seconds()) + minBurst + 1200
			require.LessOrEqual(t, float64(spent), most)
		}
	})
}

func TestBudgetWithoutLimit(t *testing.T) {
	b := newBudget(-1, 0)
	for range 1000 {
		b.take(1 << 20)
		require.False(t, b.spent())
	}
}

func TestBudgetAtTheHighestRateDoesNotOverflow(t *testing.T) {
	b := newBudget(math.MaxInt, 0)
	b.refill(time.Hour)
	require.False(t, b.spent())
	require.Positive(t, b.level)
}

func TestOutputKeepsOrderAndContent(t *testing.T) {
	var o output
	to := netip.MustParseAddrPort("1.2.3.4:5")
	for round := range 3 {
		for i := range 100 {
			room := o.room(1200)
			require.Len(t, room, 1200)
			room[0] = byte(i + round)
			o.commit(to, 1+i)
			o.room(1200) // Never committed: no datagram.
		}
		n := 0
		o.drain(func(_ netip.AddrPort, packet []byte) {
			require.Len(t, packet, 1+n)
			require.Equal(t, byte(n+round), packet[0])
			n++
		})
		require.Equal(t, 100, n)
	}
}

func TestOutputIsBounded(t *testing.T) {
	var o output
	for o.room(MaxPacketSize) != nil {
		o.commit(netip.AddrPort{}, MaxPacketSize)
	}
	require.LessOrEqual(t, len(o.bytes), maxOutput)
}

func TestOutboxAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := outbox{limit: 4096}
		var list []string
		size := 0
		for i := range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				text := strings.Repeat(string(rune('a'+i%26)), rapid.IntRange(0, 600).Draw(t, "size"))
				fits := size+len(text)+messageOverhead <= 4096
				require.Equal(t, fits, o.push(20, tick.Update, []byte(text)))
				if fits {
					list, size = append(list, text), size+len(text)+messageOverhead
				}
			} else if len(list) > 0 {
				m, payload := o.next()
				require.Equal(t, list[0], string(payload))
				require.Equal(t, wire.MessageType(20), m.kind)
				o.sent()
				size -= len(list[0]) + messageOverhead
				list = list[1:]
			}
			require.Equal(t, len(list) == 0, o.empty())
			require.Equal(t, size, o.waiting())
			require.LessOrEqual(t, len(o.bytes), 4*4096)
		}
	})
}

func TestOutboxLeavesHalfOfAPacketToTheState(t *testing.T) {
	conn := peer.NewConn(peer.ConnConfig{})
	o := outbox{limit: 1 << 20}
	for range 100 {
		o.push(20, tick.Update, make([]byte, 100))
	}
	b := conn.Begin(make([]byte, 1200))
	o.fill(&b, true)
	require.Greater(t, b.Room(), 550)
	b = conn.Begin(make([]byte, 1200))
	o.fill(&b, false)
	require.Less(t, b.Room(), 104)
	o.clear()
	o.push(20, tick.Update, make([]byte, 1100))
	b = conn.Begin(make([]byte, 1200))
	o.fill(&b, true)
	require.False(t, b.Empty(), "a large message goes when it is the first")
}

func TestLogIsLimited(t *testing.T) {
	var out bytes.Buffer
	var told int
	r := reporter{injected: true, logger: slog.New(slog.NewTextHandler(&out, nil)), onError: []func(error){func(error) { told++ }}}
	for second := range 3 {
		r.now = time.Duration(second) * time.Second
		for range 1000 {
			r.error(errors.New("the same again"))
		}
	}
	require.Equal(t, 3000, told)
	require.Equal(t, 30, strings.Count(out.String(), "the same again"))
	require.Contains(t, out.String(), "990")
	require.EqualValues(t, 2970, r.suppressed)
}

func TestExplainBearsAnyText(t *testing.T) {
	p := NewProtocol()
	Replicate[struct{ X int8 }](p, Named("thing"))
	p.freeze()
	rapid.Check(t, func(t *rapid.T) {
		require.NotEmpty(t, p.explain(rapid.String().Draw(t, "detail")))
	})
	for _, detail := range []string{"", "-1 x", "0", "0 limits", "1 component thing{X:i16", "99 component x{", "1 component thing{X:i8}"} {
		require.NotEmpty(t, p.explain(detail), detail)
	}
}

func TestStateNames(t *testing.T) {
	for s, name := range map[State]string{Disconnected: "Disconnected", Connecting: "Connecting", Connected: "Connected", Closing: "Closing", 9: "State(9)"} {
		require.Equal(t, name, s.String())
	}
	require.Equal(t, "Step(200)", Step(200).String())
}

package systems_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// fullEnd has three packets for one address.
type fullEnd struct {
	systems.End
	reported []error
}

func (*fullEnd) Send()                   {}
func (e *fullEnd) Report(err error)      { e.reported = append(e.reported, err) }
func (*fullEnd) address() transport.Addr { return transport.MustParseAddr("1.2.3.4:5") }

func (e *fullEnd) Drain(send func(transport.Addr, []byte)) {
	for _, packet := range []string{"one", "two", "3"} {
		send(e.address(), []byte(packet))
	}
}

// plainSocket takes packets one by one.
type plainSocket struct {
	systems.Socket
	sent []string
	err  error
}

func (s *plainSocket) Send(_ transport.Addr, packet []byte) error {
	s.sent = append(s.sent, string(packet))
	return s.err
}

// allEnd can give out the packets for several addresses at once too.
type allEnd struct{ fullEnd }

func (e *allEnd) DrainAll(send func([]transport.Addr, [][]byte, []int)) {
	send([]transport.Addr{e.address(), e.address()}, [][]byte{[]byte("onetwo3"), []byte("four")}, []int{3, 4})
}

// allSocket takes all at once.
type allSocket struct{ plainSocket }

func (s *allSocket) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (int, error) {
	s.sent = append(s.sent, fmt.Sprintf("%d: %q of %v", len(to), runs, sizes))
	return 1, s.err
}

func TestSendGivesAllToASocketThatTakesAll(t *testing.T) {
	plain, all := &plainSocket{}, &allSocket{}
	(&systems.Send{End: &fullEnd{}, Socket: plain}).Update(nil)
	(&systems.Send{End: &allEnd{}, Socket: plain}).Update(nil)
	require.Equal(t, []string{"one", "two", "3", "one", "two", "3"}, plain.sent)
	(&systems.Send{End: &fullEnd{}, Socket: all}).Update(nil)
	(&systems.Send{End: &allEnd{}, Socket: all}).Update(nil)
	require.Equal(t, []string{"one", "two", "3", `2: ["onetwo3" "four"] of [3 4]`}, all.sent)
	all.err = errors.New("no route")
	end := &allEnd{}
	(&systems.Send{End: end, Socket: all}).Update(nil)
	require.Len(t, end.reported, 1)
	require.ErrorIs(t, end.reported[0], all.err)
	require.ErrorContains(t, end.reported[0], "1.2.3.4:5")
}

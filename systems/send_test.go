package systems_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/systems"
)

// fullEnd has three packets for one address.
type fullEnd struct {
	systems.End
	reported []error
}

func (*fullEnd) Send()                   {}
func (e *fullEnd) Report(err error)      { e.reported = append(e.reported, err) }
func (*fullEnd) address() netip.AddrPort { return netip.MustParseAddrPort("1.2.3.4:5") }

func (e *fullEnd) Drain(send func(netip.AddrPort, []byte)) {
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

func (s *plainSocket) Send(_ netip.AddrPort, packet []byte) error {
	s.sent = append(s.sent, string(packet))
	return s.err
}

// allEnd can give out the packets for several addresses at once too.
type allEnd struct{ fullEnd }

func (e *allEnd) DrainAll(send func([]netip.AddrPort, [][]byte, []int)) {
	send([]netip.AddrPort{e.address(), e.address()}, [][]byte{[]byte("onetwo3"), []byte("four")}, []int{3, 4})
}

// allSocket takes all at once.
type allSocket struct{ plainSocket }

func (s *allSocket) SendAll(to []netip.AddrPort, runs [][]byte, sizes []int) (int, error) {
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

package systems_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
)

// fullEnd has three packets for one address.
type fullEnd struct {
	systems.End
	reported []error
}

func (*fullEnd) Enter(netcode.Step)      {}
func (*fullEnd) Send()                   {}
func (e *fullEnd) Report(err error)      { e.reported = append(e.reported, err) }
func (*fullEnd) address() netip.AddrPort { return netip.MustParseAddrPort("1.2.3.4:5") }

func (e *fullEnd) Drain(send func(netip.AddrPort, []byte)) {
	for _, packet := range []string{"one", "two", "3"} {
		send(e.address(), []byte(packet))
	}
}

// runEnd can hand them out at once too.
type runEnd struct{ fullEnd }

func (e *runEnd) DrainRuns(send func(netip.AddrPort, []byte, int)) {
	send(e.address(), []byte("onetwo3"), 3)
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

// runSocket takes several at once.
type runSocket struct{ plainSocket }

func (s *runSocket) SendRun(_ netip.AddrPort, packets []byte, size int) error {
	s.sent = append(s.sent, fmt.Sprint("run of ", size, ": ", string(packets)))
	return s.err
}

func TestSendHandsRunsToASocketThatTakesThem(t *testing.T) {
	plain, runs := &plainSocket{}, &runSocket{}
	(&systems.Send{End: &fullEnd{}, Socket: plain}).Update(nil)
	(&systems.Send{End: &runEnd{}, Socket: plain}).Update(nil)
	require.Equal(t, []string{"one", "two", "3", "one", "two", "3"}, plain.sent)
	(&systems.Send{End: &fullEnd{}, Socket: runs}).Update(nil)
	(&systems.Send{End: &runEnd{}, Socket: runs}).Update(nil)
	require.Equal(t, []string{"one", "two", "3", "run of 3: onetwo3"}, runs.sent)
	runs.err = errors.New("no route")
	end := &runEnd{}
	(&systems.Send{End: end, Socket: runs}).Update(nil)
	require.Len(t, end.reported, 1)
	require.ErrorIs(t, end.reported[0], runs.err)
}

// allEnd can hand out what is for several addresses at once too.
type allEnd struct{ runEnd }

func (e *allEnd) DrainAll(send func([]netip.AddrPort, [][]byte, []int)) {
	send([]netip.AddrPort{e.address(), e.address()}, [][]byte{[]byte("onetwo3"), []byte("four")}, []int{3, 4})
}

// allSocket takes all at once.
type allSocket struct{ runSocket }

func (s *allSocket) SendAll(to []netip.AddrPort, runs [][]byte, sizes []int) (int, error) {
	s.sent = append(s.sent, fmt.Sprintf("%d: %q of %v", len(to), runs, sizes))
	return 1, s.err
}

func TestSendHandsAllToASocketThatTakesIt(t *testing.T) {
	runs, all := &runSocket{}, &allSocket{}
	(&systems.Send{End: &allEnd{}, Socket: runs}).Update(nil)
	require.Equal(t, []string{"run of 3: onetwo3"}, runs.sent)
	(&systems.Send{End: &runEnd{}, Socket: all}).Update(nil)
	(&systems.Send{End: &allEnd{}, Socket: all}).Update(nil)
	require.Equal(t, []string{"run of 3: onetwo3", `2: ["onetwo3" "four"] of [3 4]`}, all.sent)
	all.err = errors.New("no route")
	end := &allEnd{}
	(&systems.Send{End: end, Socket: all}).Update(nil)
	require.Len(t, end.reported, 1)
	require.ErrorIs(t, end.reported[0], all.err)
	require.ErrorContains(t, end.reported[0], "1.2.3.4:5")
}
